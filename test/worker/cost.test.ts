import { listDurableObjectIds, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { aReceiver, status } from "./receiver.ts";
import { rowsOf } from "./rows.ts";
import {
  aCompletion,
  atRest,
  call,
  CALLBACK_URL,
  NOTHING,
  pass,
  post,
  stored,
  stubOf,
  useClock,
} from "./support.ts";

useClock();

const DAY = 86_400_000;

async function finishReadAndExpire(id: string, event: object): Promise<void> {
  await post("/v1/events", event);
  await atRest(id);
  await call(`/v1/tasks/${id}`);
  pass(28 * DAY);
  await runDurableObjectAlarm(stubOf(id));
  expect(await stored(id)).toEqual(NOTHING);
}

describe("the rows written for a task that completes, calls back once, is read and expires", () => {
  it("are 5 when an event created it", async () => {
    aReceiver();
    const id = crypto.randomUUID();
    const rows = await rowsOf(id);
    await finishReadAndExpire(id, aCompletion(id, { model: "m", callback_url: CALLBACK_URL }));
    expect(rows()).toBe(5);
  });

  it("are 7 when it was registered", async () => {
    aReceiver();
    const id = crypto.randomUUID();
    const rows = await rowsOf(id);
    await post("/v1/tasks", { id, model: "m", callback_url: CALLBACK_URL });
    await finishReadAndExpire(id, aCompletion(id));
    expect(rows()).toBe(7);
  });

  it("are none for what is refused, repeated or read", async () => {
    aReceiver(status(200));
    const id = crypto.randomUUID();
    const rows = await rowsOf(id);
    await call(`/v1/tasks/${id}`);
    await post("/v1/events", aCompletion(id));
    await call(`/v1/tasks/${id}`, { method: "DELETE" });
    expect(rows()).toBe(0);
    await post("/v1/events", aCompletion(id, { model: "m", callback_url: CALLBACK_URL }));
    await atRest(id);
    expect(rows()).toBe(4);
    await post("/v1/events", aCompletion(id));
    await post("/v1/events", aCompletion(id, { output: { urls: ["https://a.example/"] } }));
    await call(`/v1/tasks/${id}`);
    expect(rows()).toBe(4);
  });
});

describe("a task without an account", () => {
  it("never touches an account's object", async () => {
    aReceiver();
    const id = crypto.randomUUID();
    await finishReadAndExpire(id, aCompletion(id, { model: "m", callback_url: CALLBACK_URL }));
    expect(await listDurableObjectIds(env.ACCOUNTS)).toEqual([]);
  });
});
