import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { Client, SECRETS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { storedCallback } from "../harness/stored-record.ts";
import { Workerd } from "../harness/workerd.ts";

const TASKS = 5;
/** An alarm that cannot be served is tried again after a minute. */
const RECOVERED_WITHIN_MS = 120_000;

const SETTINGS = { CALLBACK_SCHEDULE_S: "0,10,3", ALLOW_LOCAL_CALLBACKS: "true" };
const { RELAY_SECRET: _secret, ...WITHOUT_SECRET } = SECRETS;
const ID = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
const ROUTES = [
  ["POST", "/v1/tasks"],
  ["GET", `/v1/tasks/${ID}`],
  ["DELETE", `/v1/tasks/${ID}`],
  ["POST", `/v1/tasks/${ID}/redeliver`],
  ["POST", "/v1/events"],
  ["POST", "/v1/callbacks/test"],
  ["GET", "/v1/signing-secrets"],
  ["GET", "/.well-known/jwks.json"],
] as const;

const Health = z.object({ status: z.string(), issues: z.array(z.object({ path: z.string() })) });

describe("a relay without RELAY_SECRET", () => {
  it("names it at /healthz and answers every route with not_configured", async () => {
    await using relay = await Workerd.start({ vars: WITHOUT_SECRET });
    const client = new Client(relay);
    const health = await client.ask("GET", "/healthz");
    expect(health.status).toBe(503);
    expect(Health.parse(health.json)).toEqual({
      status: "not_configured",
      issues: [{ path: "RELAY_SECRET" }],
    });
    for (const [method, path] of ROUTES) {
      const { status, json } = await client.ask(method, path, method === "POST" ? {} : undefined);
      expect({ path, status, json }).toMatchObject({
        path,
        status: 503,
        json: { code: "not_configured", detail: expect.stringContaining("RELAY_SECRET") },
      });
    }
  });

  it("burns no attempt, and once it is set every task settles without any request", async () => {
    await using receiver = await Receiver.start();
    await using relay = await Workerd.start({ vars: { ...SECRETS, ...SETTINGS } });
    const storage = `${relay.storage}/tasks`;
    const client = new Client(relay);
    const paths = Array.from({ length: TASKS }, (_, i) => `/${i}`);
    const ids = await Promise.all(
      paths.map((path) => {
        const refused = { kind: "answer", status: 500 } as const;
        return client.finish(receiver.at(path, refused, { kind: "answer", status: 200 }));
      }),
    );
    const stored = () => ids.map((id) => storedCallback(storage, id));
    await until(() => stored().every((callback) => callback?.state.kind === "due"), 8_000);
    const before = stored();

    await relay.restart({ ...WITHOUT_SECRET, ...SETTINGS });
    const failures = () => relay.output.split('"event":"alarm.failed"').length - 1;
    await until(() => failures() === TASKS, 60_000);
    await sleep(1000);
    expect(stored()).toEqual(before);
    expect(receiver.posts).toHaveLength(TASKS);

    await relay.restart({ ...SECRETS, ...SETTINGS });
    const settled = () => stored().every((callback) => callback?.state.kind === "delivered");
    await until(settled, RECOVERED_WITHIN_MS);
    expect(receiver.posts.map(({ headers }) => headers["x-attempt"])).toEqual([
      ...Array<string>(TASKS).fill("1"),
      ...Array<string>(TASKS).fill("2"),
    ]);
    for (const callback of stored()) {
      expect(callback?.attempts).toMatchObject([{ outcome: "rejected" }, { outcome: "delivered" }]);
    }
  });
});

async function until(isTrue: () => boolean, withinMs: number): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  while (!isTrue()) {
    if (Date.now() > giveUpAt) throw new Error("it has not come to that");
    await sleep(100);
  }
}
