import pMap from "p-map";
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { completedEvent, LOCAL_VARS, type Task } from "../harness/client.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { limit, type Shortage, startLimitable } from "./shortage.ts";

const EARLIER_TASKS = 20;
const MAX_ATTEMPTS = 3;
const PARALLEL = { concurrency: 8 };
const SETTLED_WITHIN_MS = 120_000;
const ACCEPTS: Behaviour = { kind: "answer", status: 200 };
const FAILS: Behaviour = { kind: "answer", status: 500 };

/** Status of an answer; "none" when the connection was refused or closed. */
type Answer = number | "none" | "503 without Retry-After";

// Only Linux can change the limits of a running process.
describe.skipIf(process.platform !== "linux")("a relay under many connections", () => {
  it("500 events sent at once are each answered with 202, or with 503 and Retry-After; after those with 503 are repeated, each callback arrives once", async () => {
    const { answers, unsettled } = await burst(500, null);
    expect(answers.filter((answer) => answer !== 202 && answer !== 503)).toEqual([]);
    expect(unsettled).toEqual([]);
  });

  // The runtime ends when it cannot accept a connection, so that some requests get no answer.
  it("150 events that clients post at once may crash a relay with too few file handles; once every event without a 202 is posted again, each callback arrives once", async () => {
    const { answers, unsettled } = await burst(150, { what: "open_files", left: 60 });
    const expected = new Set<Answer>([202, 503, "none"]);
    expect(answers.filter((answer) => !expected.has(answer))).toEqual([]);
    expect(unsettled).toEqual([]);
    expect(answers.some((answer) => answer !== 202)).toBe(true);
  });
});

/**
 * Sends one event per connection, then repeats the events that were not accepted, with a new process if the
 * old one was limited.
 */
async function burst(connections: number, shortage: Shortage | null) {
  await using receiver = await Receiver.start();
  await using relay = await startLimitable({
    ...LOCAL_VARS,
    CALLBACK_SCHEDULE_S: "0,2,2",
    // The timeout is so long that no late answer on a slow machine leads to another attempt.
    CALLBACK_TIMEOUT_S: "24",
  });
  const { client } = relay;
  const send = async (id: string, ...behaviours: readonly Behaviour[]): Promise<Answer> => {
    const event = completedEvent(id, receiver.at(`/${id}`, ...behaviours));
    try {
      const response = await client.send("POST", "/v1/events", event);
      await response.arrayBuffer();
      const { status, headers } = response;
      const isComplete = status !== 503 || Number(headers.get("Retry-After")) > 0;
      return isComplete ? status : "503 without Retry-After";
    } catch {
      return "none";
    }
  };
  const [earlier, ids] = [someIds(EARLIER_TASKS), someIds(connections)];
  await pMap(earlier, (id) => send(id, FAILS, ACCEPTS), PARALLEL);
  if (shortage !== null) limit(relay, shortage);
  const answers = await Promise.all(ids.map((id) => send(id, ACCEPTS)));
  if (shortage !== null) await relay.restart();
  const missing = ids.filter((_, i) => answers[i] !== 202);
  await pMap(missing, (id) => send(id, ACCEPTS), PARALLEL);
  const readUnsettled = async (id: string) => {
    const task = await client.settled(id, SETTLED_WITHIN_MS);
    return isDeliveredOnce(task, receiver.postsAt(`/${id}`).length) ? [] : [task];
  };
  const unsettled = await pMap([...earlier, ...ids], readUnsettled, PARALLEL);
  return { answers, unsettled: unsettled.flat() };
}

function isDeliveredOnce({ callback }: Task, posts: number): boolean {
  const attempts = callback?.attempts ?? [];
  const delivered = attempts.filter(({ outcome }) => outcome === "delivered");
  const isWithin = attempts.length <= MAX_ATTEMPTS && posts <= attempts.length;
  return callback?.status === "delivered" && delivered.length === 1 && isWithin;
}

function someIds(length: number): string[] {
  return Array.from({ length }, () => randomUUID());
}
