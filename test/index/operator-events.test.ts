import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { started } from "../worker/started.ts";
import { env } from "../../src/startup.ts";
import { expect, it } from "vitest";
import * as z from "zod";
import { digestObject } from "../../src/objects/object-names.ts";
import { aCharged, anAccount, breakLedger } from "../worker/accounts.ts";
import { attach, hooked, readHooked } from "../worker/hooked.ts";
import { call, post } from "../worker/client.ts";
import { pass, START, START_S, until } from "../worker/clock.ts";
import { untilIdle, stored, stubOf } from "../worker/objects.ts";
import { answering, type Outside } from "../worker/outside.ts";
import { never } from "../worker/receiver.ts";
import { aFailure, register } from "../worker/tasks.ts";
import { restartWith } from "./bindings.ts";
import {
  aCallbackUrl,
  idOf,
  OPERATOR_URL,
  receivers,
  sentToClients,
  OPERATOR_BINDINGS,
  operatorEvents,
} from "./operator.ts";
import { callWith, DAY, useIndex, wake, finish } from "./support.ts";
import { holdTimers } from "../worker/timers.ts";

const OPERATOR_TIMEOUT_MS = 5_000;

useIndex();

/** Creates a task whose three attempts have failed. */
async function failedTask(bindings: object = OPERATOR_BINDINGS, fields = {}): Promise<string> {
  const id = await taskBeforeLastAttempt(bindings, fields);
  pass(600_000);
  await runDurableObjectAlarm(stubOf(id));
  await untilIdle(id);
  return id;
}

/** Creates a task of whose three attempts two have been made. */
async function taskBeforeLastAttempt(
  bindings: object = OPERATOR_BINDINGS,
  fields = {},
): Promise<string> {
  const id = await register({ callback_url: aCallbackUrl(), ...fields });
  await restartWith(id, bindings);
  await finish(id);
  pass(180_000);
  await runDurableObjectAlarm(stubOf(id));
  return id;
}

/** Tells whether a task still has a notice that is to be sent to the operator. */
async function isNoticed(id: string): Promise<boolean> {
  const { record } = await stored(id);
  return z.object({ notices: z.array(z.unknown()) }).parse(record).notices.length > 0;
}

/** Runs alarms until `count` events have been sent to the operator. */
async function untilSent(outside: Outside, id: string, count: number): Promise<void> {
  for (let alarms = 0; outside.sentTo(OPERATOR_URL).length < count; alarms++) {
    if (alarms > 10) throw new Error("the operator was sent too few events");
    await wake(id);
  }
}

it("the operator event callback.failed contains the task as GET /v1/tasks/{id} shows it, and is sent once after the last attempt of the callback and of each redelivery fails", async () => {
  const outside = receivers(500);
  const id = await failedTask();
  await untilSent(outside, id, 1);
  const task = await (await call(`/v1/tasks/${id}`)).json();
  const [event] = await operatorEvents(outside);
  expect(event).toEqual({ type: "callback.failed", timestamp: START_S + 780, data: { task } });
  const order = outside.sentTo("").map(({ url }) => url === OPERATOR_URL);
  expect(order).toEqual([false, false, false, true]);
  while (((await stored(id)).alarm ?? 0) < START + DAY) await wake(id);
  expect(outside.sentTo(OPERATOR_URL)).toHaveLength(1);
  expect(await stored(id)).toMatchObject({ record: { notices: [] } });
  await call(`/v1/tasks/${id}/redeliver`, { method: "POST" });
  await untilIdle(id);
  await untilSent(outside, id, 2);
  expect(new Set(outside.sentTo(OPERATOR_URL).map(idOf)).size).toBe(2);
});

it("the operator event callback.failed is repeated with the same id until the operator accepts it", async () => {
  const outside = receivers(500, 503);
  const id = await failedTask();
  await untilSent(outside, id, 3);
  outside.on(OPERATOR_URL, answering(""));
  await untilSent(outside, id, 4);
  const sent = outside.sentTo(OPERATOR_URL);
  expect(new Set(sent.map(idOf)).size).toBe(1);
  expect(new Set(sent.map(({ body }) => JSON.stringify(JSON.parse(body)))).size).toBe(1);
  expect(await stored(id)).toMatchObject({ record: { notices: [] } });
  await operatorEvents({ ...outside, sentTo: () => sent.slice(-1) });
});

it("a redelivery ordered while a task's operator event callback.failed is being sent aborts that request and starts at once", async () => {
  const outside = receivers(500);
  // In this test only the order of the redelivery can end the notice's request, not its time limit.
  holdTimers(OPERATOR_TIMEOUT_MS);
  outside.on(OPERATOR_URL, (_, signal) => never(signal));
  const id = await taskBeforeLastAttempt();
  pass(600_000);
  const working = runDurableObjectAlarm(stubOf(id));
  await until(() => outside.sentTo(OPERATOR_URL).length === 1);
  outside.on(OPERATOR_URL, answering(""));
  await call(`/v1/tasks/${id}/redeliver`, { method: "POST" });
  await until(() => sentToClients(outside).length === 4);
  await working;
});

it("the operator event callback.failed is neither stored nor sent when OPERATOR_CALLBACK_URL is not set", async () => {
  const outside = receivers(500);
  const id = await failedTask({});
  while (((await stored(id)).alarm ?? 0) < START + DAY) await wake(id);
  expect(await stored(id)).toMatchObject({ record: { notices: [] } });
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
});

it("the operator event callback.failed is neither stored nor sent when OPERATOR_EVENTS names only other types", async () => {
  const outside = receivers(500);
  const id = await failedTask({ ...OPERATOR_BINDINGS, OPERATOR_EVENTS: "index.full,host.failing" });
  expect(await stored(id)).toMatchObject({ record: { notices: [] } });
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
});

it("with OPERATOR_CALLBACK_FORMAT=slack, callback.failed is a Slack message with only its type, the task id, the host and PUBLIC_URL", async () => {
  const outside = receivers(500);
  const PUBLIC_URL = "https://relay.example.com";
  const id = await failedTask({
    ...OPERATOR_BINDINGS,
    OPERATOR_CALLBACK_FORMAT: "slack",
    PUBLIC_URL,
  });
  await untilSent(outside, id, 1);
  const [sent] = outside.sentTo(OPERATOR_URL);
  const task = await (await call(`/v1/tasks/${id}`)).json<{ callback: { url: string } }>();
  const { host } = new URL(task.callback.url);
  expect(JSON.parse(sent?.body ?? "")).toEqual({
    text: `*callback.failed*\ntask: ${id}\nhost: ${host}\nrelay: ${PUBLIC_URL}`,
  });
});

it("with OPERATOR_DIGEST_MINUTES, one event callback.failed names all failed tasks of a host, waits while the configuration is invalid, and is repeated with the same id", async () => {
  const outside = receivers(500, 503);
  const callback_url = aCallbackUrl();
  const { host } = new URL(callback_url);
  const bindings = { ...OPERATOR_BINDINGS, OPERATOR_DIGEST_MINUTES: "60" };
  const digest = digestObject(env, host);
  const bind = async (changes: object) => {
    const value = await started({ ...env, ...bindings, ...changes });
    return runInDurableObject(digest, (instance) => {
      Object.defineProperty(instance, "env", { value, configurable: true });
    });
  };
  await bind({ MAX_BODY_KB: "broken" });
  const ids = [
    await failedTask(bindings, { callback_url }),
    await failedTask(bindings, { callback_url }),
  ];
  for (const id of ids) while (await isNoticed(id)) await wake(id);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  pass(60 * 60_000);
  for (let n = 0; n < 11; n++) expect(await runDurableObjectAlarm(digest)).toBe(true);
  await bind({});
  await runDurableObjectAlarm(digest);
  outside.on(OPERATOR_URL, answering(""));
  await runDurableObjectAlarm(digest);
  const sent = outside.sentTo(OPERATOR_URL);
  expect(sent).toHaveLength(2);
  expect(new Set(sent.map(idOf)).size).toBe(1);
  const [event] = await operatorEvents({ ...outside, sentTo: () => sent.slice(-1) });
  expect(event).toMatchObject({ type: "callback.failed", data: { host, failed: 2, tasks: ids } });
  expect(await runDurableObjectAlarm(digest)).toBe(false);
});

it("the operator event refund.delayed is sent once when the credits of a failed task are not refunded 5 minutes after its failure", async () => {
  const outside = receivers(200);
  const account = await anAccount(5);
  const id = await aCharged(account, 5);
  await restartWith(id, OPERATOR_BINDINGS);
  const heal = await breakLedger(account);
  await post("/v1/events", aFailure(id));
  const failedAt = Date.now();
  await until(async () => ((await stored(id)).alarm ?? 0) <= failedAt + 5_000);
  while (outside.sentTo(OPERATOR_URL).length === 0) await wake(id);
  expect(await operatorEvents(outside)).toMatchObject([
    {
      type: "refund.delayed",
      data: { task: { id, status: "failed", credits: { amount: 5, state: "refunding" } } },
    },
  ]);
  // The next try of the refund is planned for more than 5 minutes after the failure.
  const nextTry = z.object({ credits: z.object({ state: z.object({ retryAt: z.int() }) }) });
  const { credits } = nextTry.parse((await stored(id)).record);
  expect(credits.state.retryAt).toBeGreaterThan(failedAt + 300_000);
  while (Date.now() < failedAt + 3_600_000) await wake(id);
  expect(sentToClients(outside)).toEqual([]);
  heal();
  for (let n = 0; n < 5 && sentToClients(outside).length === 0; n++) await wake(id);
  expect(sentToClients(outside)).toHaveLength(1);
  expect(outside.sentTo(OPERATOR_URL)).toHaveLength(1);
});

it("the operator events price.unknown and price.above_hold contain the completed task, its price, and the name of the usage number that decides the price", async () => {
  const outside = receivers(200);
  const account = await anAccount(400);
  const per = { usage: "seconds", units: 1, credits: 2 };
  for (const usage of [{ seconds: -1 }, { seconds: 101 }]) {
    const id = crypto.randomUUID();
    const body = { id, model: "m", account, price: { hold: 200, per } };
    expect((await post("/v1/tasks", body)).status).toBe(201);
    await restartWith(id, OPERATOR_BINDINGS);
    const output = { urls: ["https://cdn.example.net/v.mp4"] };
    expect((await post("/v1/events", { id, status: "completed", output, usage })).status).toBe(202);
    await untilIdle(id);
  }
  const task = { status: "completed", account };
  expect(await operatorEvents(outside)).toMatchObject([
    {
      type: "price.unknown",
      data: { task, credits: 200, usage: "seconds", reason: "not_positive" },
    },
    { type: "price.above_hold", data: { task, credits: 200, usage: "seconds", missing: 2 } },
  ]);
});

it("when a poll finds that a job has succeeded, an hour after its task failed at the deadline, the operator event task.late_result has the job's links and usage", async () => {
  const outside = receivers(200);
  outside.on("https://ark.", answering("", 500));
  const bindings = { ...env, ...OPERATOR_BINDINGS, ARK_API_KEY: "test-only-ark-key" };
  const fields = { deadline_at: START_S + 3_600 };
  const task = await hooked({ provider: "ark", bindings, fields });
  await attach(task, "cgt-1");
  const read = async () => z.looseObject({ status: z.string() }).parse(await readHooked(task));
  while ((await read()).status === "pending") await wake(task.id);
  const failed = await read();
  const failedAt = Date.now();
  const content = { video_url: "https://cdn.example.net/late.mp4" };
  const usage = { completion_tokens: 108_900, total_tokens: 108_900 };
  outside.on("https://ark.", answering({ id: "cgt-1", status: "succeeded", content, usage }));
  await untilSent(outside, task.id, 1);
  expect(Date.now() - failedAt).toBe(3_600_000);
  expect(await operatorEvents(outside)).toEqual([
    {
      type: "task.late_result",
      timestamp: Math.floor(Date.now() / 1000),
      data: { task: { ...failed, usage }, output: { urls: [content.video_url], metadata: {} } },
    },
  ]);
  expect(await read()).toEqual({ ...failed, usage });
  const polls = outside.sentTo("https://ark.").length;
  while (((await stored(task.id)).alarm ?? 0) < failedAt + 2 * DAY) await wake(task.id);
  expect(outside.sentTo("https://ark.")).toHaveLength(polls);
});

it("GET /v1/signing-secrets lists the separate signing secret of operator events only when OPERATOR_CALLBACK_URL is set", async () => {
  const secrets = await (await callWith(OPERATOR_BINDINGS, "/v1/signing-secrets")).json<object>();
  const others = await (await call("/v1/signing-secrets")).json<object>();
  expect(Object.keys(secrets)).toContain("operator");
  expect(Object.keys(others)).not.toContain("operator");
  const { operator } = Object.fromEntries(Object.entries(secrets));
  expect(JSON.stringify(others)).not.toContain(JSON.stringify(operator).slice(2, -2));
});
