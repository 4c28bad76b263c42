import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { serialize } from "node:v8";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { completedEvent, LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { objectFiles, storedRecord } from "../harness/stored-record.ts";
import { Workerd } from "../harness/workerd.ts";

const OPEN = "00000000-0000-4000-8000-000000000001";
const DUE = "00000000-0000-4000-8000-000000000002";
const WITHIN_MS = 30_000;
const Stored = z.looseObject({ id: z.string(), v: z.int() });

it("requests about a task that a newer release has stored get 503 and change nothing; the task goes on once the relay knows that release's schema", async () => {
  await using receiver = await Receiver.start();
  await using relay = await Workerd.start({
    vars: { ...LOCAL_VARS, CALLBACK_SCHEDULE_S: "0,2,2" },
  });
  const { client } = relay;
  const url = receiver.at("/open", { kind: "answer", status: 200 });
  const task = { id: OPEN, model: "m", callback_url: url };
  expect((await client.ask("POST", "/v1/tasks", task)).status).toBe(201);
  await client.finish(receiver.at("/due", { kind: "answer", status: 500 }), DUE);
  const isDue = async () => (await client.read(DUE)).callback?.next_attempt_at !== undefined;
  await vi.waitUntil(isDue, WITHIN_MS);

  await relay.kill9();
  setSchema(relay.storage, 3);
  const before = records(relay.storage);
  await relay.restart();
  // The second attempt falls due, but must not be made.
  const said = `"alarm.failed","task_id":"${DUE}"`;
  await vi.waitUntil(() => relay.output.includes(said), WITHIN_MS);
  for (const id of [OPEN, DUE]) {
    for (const answer of [
      await client.send("GET", `/v1/tasks/${id}`),
      await client.send("POST", "/v1/events", completedEvent(id, url)),
    ]) {
      expect([answer.status, await answer.json()]).toMatchObject([503, { code: "unavailable" }]);
      expect(answer.headers.get("Retry-After")).toMatch(/^\d+$/);
    }
  }
  expect(records(relay.storage)).toEqual(before);
  expect(receiver.posts.map(({ path }) => path)).toEqual(["/due"]);

  await relay.kill9();
  expect(alarms(relay.storage)).toBe(2);
  setSchema(relay.storage, 2);
  await relay.restart();
  await client.finish(url, OPEN);
  expect((await client.settled(OPEN)).callback).toMatchObject({ status: "delivered" });
  const [first] = (await client.read(DUE)).callback?.attempts ?? [];
  expect(first).toMatchObject({ number: 1, outcome: "rejected" });
});

/** Changes the schema version of every stored record, while the relay is not running. */
function setSchema(storage: string, v: number): void {
  for (const file of objectFiles(join(storage, "tasks"))) {
    const value = serialize({ ...Stored.parse(storedRecord(file)), v });
    using database = new DatabaseSync(file);
    database.prepare("UPDATE _cf_KV SET value = ? WHERE key = 'task'").run(value);
  }
}

function records(storage: string): unknown[] {
  return objectFiles(join(storage, "tasks")).map(storedRecord);
}

/** Returns the number of objects with an alarm. */
function alarms(storage: string): number {
  using database = new DatabaseSync(join(storage, "tasks", "metadata.sqlite"));
  return database.prepare("SELECT 1 FROM _cf_ALARM").all().length;
}
