import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { QueueObject } from "../../src/objects/queue/queue-object.ts";
import { aKey, anAccount, balanceOf } from "./accounts.ts";
import { callWith } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { stored, wake } from "./objects.ts";
import { answering, type Outside } from "./outside.ts";
import {
  aQueuedRelay,
  callOf,
  HOSTS,
  keyOf,
  members,
  OPS,
  queueState,
  type QueuedRelay,
  readTask,
  sentTo,
  stateOf,
  submitTo,
  waitFor,
  work,
} from "./queued-relay.ts";
import { ARK_PATH, BODY, type Submission } from "./submitted.ts";
import { CALLBACK_URL, cancel } from "./tasks.ts";

useClock();

const [A, B] = HOSTS;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const LIMITS = { a: { in_flight: 1 }, b: { in_flight: 1 } };

/** Ids of the jobs that the members start. */
const JOBS = { [A]: "cgt-of-a", [B]: "cgt-of-b" };

/** Replaces the network by two members whose jobs have these states. */
function jobs(a: object, b: object = { status: "running" }): Outside {
  const outside = members();
  outside.on(OPS, answering({}));
  for (const [host, state] of [
    [A, a],
    [B, b],
  ] as const) {
    const id = JOBS[host];
    outside.on(host, answering({ id }));
    outside.on(`${host}${ARK_PATH}/${id}`, answering({ id, model: "m", ...state }));
  }
  return outside;
}

function failed(code: string, message: string) {
  return { status: "failed", error: { code, message } };
}

const CRASHED = failed("InternalServiceError", "Try again.");
const DONE = { status: "succeeded", content: { video_url: "https://cdn.example.com/fox.mp4" } };

/** Submits a job to a pool with `failures`, and lets it run with member A. */
async function aRunningJob(submission: Submission = {}, pool: object = { failures: true }) {
  const relay = await aQueuedRelay({ ...LIMITS, pool });
  const id = await waitFor(relay, relay.pool, submission);
  await work(relay, id);
  expect(await readTask(relay, id)).toMatchObject({ provider: relay.names[0] });
  return { relay, id };
}

/** Lets a task poll its job, until what it shows has changed. */
async function poll(relay: QueuedRelay, id: string): Promise<void> {
  const shown = async () => JSON.stringify(await readTask(relay, id));
  const before = await shown();
  for (let tries = 0; tries < 20 && (await shown()) === before; tries++) {
    const { alarm } = await stored(id);
    await wake(id, Math.max(0, (alarm ?? 0) - Date.now()));
  }
}

/** Lets a task find that its job has failed, and the object of its call do what follows. */
async function failOver(relay: QueuedRelay, id: string): Promise<void> {
  await poll(relay, id);
  const call = await callOf(id);
  const alarm = () => runInDurableObject(call, (_, { storage }) => storage.getAlarm());
  // The task tells the object of the call beside its own work.
  await until(async () => ((await alarm()) ?? Infinity) <= Date.now() + SECOND);
  await work(relay, id);
}

it("a job of a pool with failures that has failed is submitted to the next member, and its task has one price and one callback, with the result of that member", async () => {
  const outside = jobs(CRASHED, DONE);
  const account = await anAccount(5);
  const { key } = await aKey(account);
  const price = { "Relay-Account": account, "Relay-Credits": "5" };
  const { relay, id } = await aRunningJob({ headers: price });
  const [a, b] = relay.names;
  await failOver(relay, id);
  const sent = sentTo(outside);
  expect(sent.map(({ body }) => body)).toEqual([sent[0]?.body, sent[0]?.body]);
  expect(sent[0]?.body).toContain("9007199254740993");
  expect(sent.map(({ headers }) => headers["authorization"])).toEqual(
    [a, b].map((name) => `Bearer ${keyOf(name)}`),
  );
  expect(outside.sentTo(CALLBACK_URL)).toEqual([]);
  expect([await queueState(a), await queueState(b)]).toMatchObject([{ held: 0 }, { held: 1 }]);
  const error = { code: "upstream_error", message: "Try again." };
  expect(await readTask(relay, id)).toMatchObject({
    provider: b,
    submission: {
      state: "accepted",
      attempts: [{ connection: a, job: JOBS[A], error, category: "provider" }],
    },
  });
  const shown = await (await callWith(relay.bindings, `/v1/tasks/${id}`, { key })).text();
  expect(shown).not.toContain(a);
  expect(shown).not.toContain("Try again.");
  await poll(relay, id);
  expect(await readTask(relay, id)).toMatchObject({ status: "completed", provider: b });
  expect(await balanceOf(account)).toBe(0);
  await until(() => outside.sentTo(CALLBACK_URL).length > 0);
  expect(outside.sentTo(CALLBACK_URL)).toHaveLength(1);
  await until(async () => (await queueState(b)).held === 0);
  await work(relay, id);
  expect(await stateOf(id)).toBeNull();
});

it("a job that has failed is followed by another only when its queue has confirmed that its place is free", async () => {
  const outside = jobs(CRASHED);
  const { relay, id } = await aRunningJob();
  const left = vi.spyOn(QueueObject.prototype, "leave").mockImplementation(() => {
    throw new Error("unreachable");
  });
  await failOver(relay, id);
  expect(await stateOf(id)).toMatchObject({ kind: "kept" });
  left.mockRestore();
  pass(10 * SECOND);
  await work(relay, id);
  expect(sentTo(outside)).toHaveLength(2);
  expect(await queueState(relay.names[0])).toMatchObject({ held: 0 });
});

it("a job that has failed at each member of a pool ends its task with the last failure, and its price is returned once", async () => {
  const outside = jobs(CRASHED, failed("InternalServiceError", "The last one."));
  const account = await anAccount(5);
  const price = { "Relay-Account": account, "Relay-Credits": "5" };
  const { relay, id } = await aRunningJob({ headers: price });
  await failOver(relay, id);
  expect(await balanceOf(account)).toBe(0);
  await poll(relay, id);
  await until(async () => (await balanceOf(account)) === 5);
  const error = { message: "The last one." };
  expect(await readTask(relay, id)).toMatchObject({ status: "failed", error });
  await work(relay, id);
  expect(sentTo(outside)).toHaveLength(2);
  expect(await stateOf(id)).toBeNull();
});

it("a job that has failed for its input ends its task, and its call is forgotten", async () => {
  const unsafe = failed("OutputVideoSensitiveContentDetected", "The output may be unsafe.");
  const outside = jobs(unsafe);
  const { relay, id } = await aRunningJob();
  expect(await stateOf(id)).toMatchObject({ kind: "kept" });
  await failOver(relay, id);
  expect(await readTask(relay, id)).toMatchObject({ status: "failed" });
  expect(sentTo(outside)).toHaveLength(1);
  expect(await stateOf(id)).toBeNull();
});

it("a job of a pool without failures ends its task when it fails, and its call is forgotten as soon as it was accepted", async () => {
  const outside = jobs(CRASHED);
  const { relay, id } = await aRunningJob({}, {});
  expect(await stateOf(id)).toBeNull();
  await poll(relay, id);
  expect(await readTask(relay, id)).toMatchObject({ status: "failed" });
  expect(sentTo(outside)).toHaveLength(1);
});

it("a job whose client has waited for the answer ends its task when it fails, because the client knows this job by its id", async () => {
  const outside = jobs(CRASHED);
  const relay = await aQueuedRelay({ ...LIMITS, pool: { failures: true } });
  const { id, response } = await submitTo(relay, relay.pool, { body: BODY });
  expect(await response.json()).toMatchObject({ id: JOBS[A] });
  await poll(relay, id);
  expect(await readTask(relay, id)).toMatchObject({ status: "failed" });
  expect(sentTo(outside)).toHaveLength(1);
});

it("a call whose object was not told that its job has failed asks its task by itself, also after a crash, and is submitted once", async () => {
  const outside = jobs(CRASHED);
  const { relay, id } = await aRunningJob();
  const call = await callOf(id);
  await evictDurableObject(call);
  await poll(relay, id);
  await until(async () => (await stateOf(id))?.kind === "kept");
  await evictDurableObject(call);
  for (let i = 0; i < 6; i++) {
    await wake(id, MINUTE);
    await work(relay, id);
  }
  expect(sentTo(outside)).toHaveLength(2);
  expect(await readTask(relay, id)).toMatchObject({ provider: relay.names[1] });
});

it("the second job of a task is canceled like the first, and no third call is sent", async () => {
  const outside = jobs(CRASHED, { status: "queued" });
  const { relay, id } = await aRunningJob();
  await failOver(relay, id);
  outside.on(`${B}${ARK_PATH}/${JOBS[B]}`, ({ method }) =>
    Response.json(method === "DELETE" ? {} : { id: JOBS[B], model: "m", status: "queued" }),
  );
  expect((await cancel(id)).status).toBe(200);
  await until(async () => (await readTask(relay, id)).status === "failed");
  expect(await readTask(relay, id)).toMatchObject({ error: { code: "canceled" } });
  await work(relay, id);
  expect(sentTo(outside)).toHaveLength(2);
  expect(await stateOf(id)).toBeNull();
});

it("a task whose job has failed while the other member is full waits for a place there, and fails as the job did when its time to wait is over", async () => {
  const outside = jobs(CRASHED);
  const { relay, id } = await aRunningJob();
  const [a, b] = relay.names;
  await waitFor(relay, b);
  await failOver(relay, id);
  expect([await queueState(a), await queueState(b)]).toMatchObject([
    { held: 0, waiting: 0 },
    { held: 1, waiting: 1 },
  ]);
  expect(await readTask(relay, id)).toMatchObject({ submission: { state: "queued", position: 1 } });
  await wake(id, 60 * MINUTE);
  const error = { code: "upstream_error", message: "Try again." };
  expect(await readTask(relay, id)).toMatchObject({ status: "failed", error, provider: a });
  await until(async () => (await queueState(b)).waiting === 0);
  expect(sentTo(outside)).toHaveLength(1);
  expect((await stored(id)).record).toMatchObject({ submission: { state: { kind: "accepted" } } });
});

it("a job that has failed because the account at the upstream has no money is submitted to the next member, and the member gets no jobs of the pool for a while", async () => {
  const outside = jobs(failed("AccountOverdueError", "Your account has an overdue balance."));
  const { relay, id } = await aRunningJob();
  const [a, b] = relay.names;
  await failOver(relay, id);
  expect(await readTask(relay, id)).toMatchObject({ provider: b });
  expect(sentTo(outside)).toHaveLength(2);
  const state = await queueState(a);
  expect(state).toMatchObject({ held: 0 });
  expect(state.outUntil).toBeGreaterThan(Date.now());
});
