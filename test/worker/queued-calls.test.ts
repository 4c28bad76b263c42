import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import { CallObject } from "../../src/objects/call/call-object.ts";
import type { StoredCall } from "../../src/objects/call/call-plan.ts";
import { QueueObject } from "../../src/objects/queue/queue-object.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { aKey, anAccount, balanceOf } from "./accounts.ts";
import { callWith, invalid, ORIGIN, refusal } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { stored, wake } from "./objects.ts";
import { namespaceWith } from "./lost-calls.ts";
import { answering } from "./outside.ts";
import {
  aQueuedRelay,
  callOf,
  configured,
  endJob,
  HOSTS,
  keyOf,
  members,
  OPS,
  queueState,
  readTask,
  sentTo,
  stateOf,
  submitTo,
  waitFor,
  wakeQueue,
  work,
  workWithPlace,
} from "./queued-relay.ts";
import { ARK_PATH, BODY } from "./submitted.ts";
import { CALLBACK_URL, cancel } from "./tasks.ts";
import { holdTimers } from "./timers.ts";

useClock();

const [A, B] = HOSTS;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const ASYNC = { Prefer: "respond-async" };

/** Body of an error of Ark. */
function fault(code: string, message = code) {
  return { error: { code, message } };
}

/** Id of a submission that gets the place of another one. */
const OTHER = "other";

/**
 * Lets the next registration of a task take half a minute.
 * @param connection queue that gives the place of the task to another submission meanwhile. Null when it keeps the place.
 */
function registerLate(connection: string | null): void {
  // oxlint-disable-next-line unbound-method -- it is called with its `this`
  const register = TaskObject.prototype.apply;
  vi.spyOn(TaskObject.prototype, "apply").mockImplementationOnce(async function (
    this: TaskObject,
    event,
    caller,
  ) {
    pass(30 * SECOND);
    if (connection !== null && event.type === "register") {
      const queue = env.QUEUES.getByName(connection);
      await queue.leave(event.submission?.id ?? "");
      const order = { submissionId: OTHER, taskId: OTHER, account: null, via: connection };
      await queue.ask({ ...order, attempt: 1, since: Date.now(), mayWait: false });
    }
    return await register.call(this, event, caller);
  });
}

/** A call of Ark that is answered by the result. */
const IMAGE = {
  path: "/images/generations",
  body: JSON.stringify({ model: "doubao-seedream-4-0-250828", prompt: "a fox" }),
};
/** A call as its object stores it. */
const A_CALL: Omit<StoredCall, "taskId" | "submissionId"> = {
  connection: "ark",
  model: "m",
  path: ARK_PATH,
  sentPath: ARK_PATH,
  headers: [],
  keyHeader: null,
  jobId: null,
  isHookExpected: false,
  storesFiles: false,
  secrets: { hasCustomerKey: false, isOfAccount: false, hookToken: null },
};
const BUSY = answering(fault("InflightBatchsizeExceeded"), 429);
const OVERDUE = answering(fault("AccountOverdueError"), 403);

describe("calls that wait for a place", () => {
  it("without PUBLIC_URL, one that Cloudflare has brought is sent with a hook URL of the address to which it came", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } }, { PUBLIC_URL: "" });
    const [a] = relay.names;
    const id = await waitFor(relay, a, { cf: { colo: "FRA" } });
    await workWithPlace(relay, id);
    expect(sentTo(outside).map(({ body }) => body)).toEqual([
      expect.stringContaining(`"${ORIGIN}/hooks/${a}/${id}/`),
    ]);
    await endJob(relay, id);
  });

  it("ten at a connection with two places are sent one after the other, each once, and never more than two run", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 2 } });
    const [a] = relay.names;
    const ids: string[] = [];
    for (let i = 0; i < 10; i++) ids.push(await waitFor(relay, a));
    for (const [ended, id] of ids.entries()) {
      expect(await queueState(a)).toMatchObject({ held: Math.min(2, 10 - ended) });
      for (const each of ids.slice(ended, ended + 2)) await workWithPlace(relay, each);
      for (const each of ids) await work(relay, each);
      expect(sentTo(outside)).toHaveLength(Math.min(ended + 2, 10));
      await endJob(relay, id);
      await until(async () => (await queueState(a)).held === Math.min(2, 9 - ended));
    }
    expect(await queueState(a)).toMatchObject({ held: 0, waiting: 0 });
    for (const id of ids) expect(await readTask(relay, id)).toMatchObject({ status: "completed" });
  });

  it("the next place goes to the account that has fewest, though another has waited longer", async () => {
    members();
    const relay = await aQueuedRelay({ a: { in_flight: 2 } });
    const [a] = relay.names;
    const [x, y] = [await anAccount(), await anAccount()];
    const first = await waitFor(relay, a, { headers: { "Relay-Account": x } });
    for (let i = 0; i < 6; i++) await waitFor(relay, a, { headers: { "Relay-Account": x } });
    const late = await waitFor(relay, a, { headers: { "Relay-Account": y } });
    expect(await readTask(relay, late)).toMatchObject({ submission: { position: 1 } });
    await work(relay, first);
    await endJob(relay, first);
    await workWithPlace(relay, late);
    expect(await readTask(relay, late)).toMatchObject({ submission: { state: "accepted" } });
  });

  it("one whose time to wait passes is never sent, its task fails with queue_timeout, and its price is returned", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    await waitFor(relay, a);
    const account = await anAccount(5);
    const startBy = String(Math.floor(Date.now() / SECOND) + 30);
    const price = { "Relay-Account": account, "Relay-Credits": "5", "Relay-Start-By": startBy };
    const late = await waitFor(relay, a, { headers: price });
    expect(await balanceOf(account)).toBe(0);
    await wake(late, 31 * SECOND);
    await until(async () => (await balanceOf(account)) === 5);
    expect(await readTask(relay, late)).toMatchObject({ error: { code: "queue_timeout" } });
    await until(async () => (await queueState(a)).waiting === 0);
    pass(10 * MINUTE);
    await work(relay, late);
    expect(await stateOf(late)).toBeNull();
    expect(outside.sentTo(A)).toEqual([]);
  });

  it.each(["1", "abc"])("a Relay-Start-By of %s is refused with 400", async (startBy) => {
    members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const headers = { ...ASYNC, "Relay-Start-By": startBy };
    const { response } = await submitTo(relay, relay.names[0], { headers });
    expect(await refusal(response)).toEqual(invalid("/Relay-Start-By"));
    await until(async () => (await queueState(relay.names[0])).held === 0);
  });

  it("a canceled one leaves the queue at once, and those behind it move up", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    await waitFor(relay, a);
    const ids = [];
    for (let i = 0; i < 4; i++) ids.push(await waitFor(relay, a));
    const [, , third = "", fourth = ""] = ids;
    expect(await readTask(relay, fourth)).toMatchObject({ submission: { position: 4 } });
    expect((await cancel(third)).status).toBe(200);
    await until(async () => (await queueState(a)).waiting === 3);
    expect(await readTask(relay, fourth)).toMatchObject({ submission: { position: 3 } });
    expect(outside.sentTo(A)).toEqual([]);
  });

  it("one that is canceled while it gets its place is not sent, and the place becomes free", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    const id = await waitFor(relay, a);
    await Promise.all([cancel(id), work(relay, id)]);
    const isSent = outside.sentTo(A).length > 0;
    expect(await readTask(relay, id)).toMatchObject({ status: isSent ? "pending" : "failed" });
    await until(async () => (await queueState(a)).held === (isSent ? 1 : 0));
  });

  it("one more than the queue permits is refused with queue_full, nothing of it stays, and its repetition is as well", async () => {
    members();
    const relay = await aQueuedRelay({ a: { in_flight: 1, queue: 1 } });
    const [a] = relay.names;
    await waitFor(relay, a);
    const waiting = await waitFor(relay, a);
    const { id, response } = await submitTo(relay, a, { headers: ASYNC });
    expect(response.headers.get("Retry-After")).toBe("5");
    expect(await refusal(response)).toEqual({ status: 429, code: "queue_full" });
    expect((await stored(id)).record).toBeUndefined();
    const repeated = await submitTo(relay, a, { headers: { ...ASYNC, "Relay-Task-Id": waiting } });
    expect(repeated.response.status).toBe(202);
    expect(repeated.response.headers.get("Idempotent-Replayed")).toBe("true");
    await until(async () => (await queueState(a)).waiting === 1);
  });

  it("that were let start before a limit was lowered go on, and no other starts until enough have ended", async () => {
    const outside = members();
    const before = await aQueuedRelay({ a: { in_flight: 5 } });
    const [a] = before.names;
    const running = [];
    for (let i = 0; i < 5; i++) running.push(await waitFor(before, a));
    for (const id of running) await work(before, id);
    const relay = await configured(before, { a: { in_flight: 1 } });
    const next = await waitFor(relay, a);
    for (const id of running.slice(1)) await endJob(relay, id);
    await until(async () => (await queueState(a)).held === 1);
    expect(await readTask(relay, next)).toMatchObject({ submission: { position: 1 } });
    await endJob(relay, running[0] ?? "");
    await workWithPlace(relay, next);
    expect(outside.sentTo(A)).toHaveLength(6);
  });

  it("one whose task is registered late waits again when the queue has given its place to another", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    registerLate(a);
    const { id, response } = await submitTo(relay, a, { headers: ASYNC });
    expect(response.status).toBe(202);
    await work(relay, id);
    expect(sentTo(outside)).toEqual([]);
    expect(await readTask(relay, id)).toMatchObject({ submission: { position: 1 } });
    await env.QUEUES.getByName(a).leave(OTHER);
    await workWithPlace(relay, id);
    expect(sentTo(outside)).toHaveLength(1);
  });

  it("one that has lost its place waits again at all members of its pool, and takes no place that it was granted before", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 }, b: { in_flight: 1 } });
    const [a, b] = relay.names;
    registerLate(a);
    const { id } = await submitTo(relay, relay.pool, { headers: ASYNC });
    const before = await waitFor(relay, b);
    await work(relay, id);
    expect(await queueState(a)).toMatchObject({ waiting: 1 });
    expect(await queueState(b)).toMatchObject({ waiting: 1 });
    const call = await callOf(id);
    expect(await call.grant({ connection: a, attempt: 1 })).toBe("gone");
    await work(relay, before);
    await endJob(relay, before);
    await workWithPlace(relay, id);
    expect(sentTo(outside)).toHaveLength(2);
    expect(await queueState(a)).toMatchObject({ waiting: 0 });
    expect(await readTask(relay, id)).toMatchObject({
      provider: b,
      submission: { state: "accepted" },
    });
  });

  it("one that nobody told of its registration asks for a place again, and once more within seconds if it is interrupted", async () => {
    members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    await waitFor(relay, a);
    const begun = vi.spyOn(CallObject.prototype, "begin").mockResolvedValue(true);
    const { id } = await submitTo(relay, a, { headers: ASYNC });
    await until(() => begun.mock.calls.length > 0);
    pass(MINUTE);
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ask = async (put: () => Promise<unknown>) => {
      asked.resolve();
      await answered.promise;
      return await put();
    };
    const QUEUES = namespaceWith(env.QUEUES, { ask });
    const working = work({ ...relay, bindings: { ...relay.bindings, QUEUES } }, id);
    await asked.promise;
    const plan = z.looseObject({ ask: z.object({ retryAt: z.number() }) });
    expect(plan.parse(await stateOf(id)).ask.retryAt).toBeLessThanOrEqual(Date.now() + 10 * SECOND);
    answered.resolve();
    await working;
    expect(await queueState(a)).toMatchObject({ held: 1, waiting: 1 });
  });

  it("one whose task was never registered gives its place back", async () => {
    members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const account = await anAccount();
    const headers = { ...ASYNC, "Relay-Account": account, "Relay-Credits": "5" };
    const { response } = await submitTo(relay, relay.names[0], { headers });
    expect(await refusal(response)).toMatchObject({ code: "insufficient_credits" });
    await until(async () => (await queueState(relay.names[0])).held === 0);
  });

  it("one is kept while its queues take long to answer, and then for as long as its registration may take", async () => {
    const queues = { connections: [crypto.randomUUID(), crypto.randomUUID()], account: null };
    const call = { ...A_CALL, taskId: crypto.randomUUID(), submissionId: crypto.randomUUID() };
    const object = env.CALLS.getByName(call.submissionId);
    const asked = vi.spyOn(QueueObject.prototype, "ask").mockImplementation(() => {
      pass(4 * SECOND);
      return { kind: "waiting", position: 1 };
    });
    const keys = () =>
      runInDurableObject(object, (_, { storage }) => [...storage.kv.list()].map(([key]) => key));
    await object.storeCall({ ...call, queues }, new Response("{}").body);
    expect(asked).toHaveBeenCalledTimes(2);
    const alarmAt = await runInDurableObject(object, (_, { storage }) => storage.getAlarm());
    expect(alarmAt).toBe(Date.now() + 30 * SECOND);
    pass(29 * SECOND);
    await runDurableObjectAlarm(object);
    expect(await keys()).toContain("call");
    pass(SECOND);
    await runDurableObjectAlarm(object);
    expect(await keys()).toEqual([]);
  });

  it("one that its object has forgotten, because the registration took too long, fails its task at once, and its price is returned", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    const account = await anAccount(5);
    const begun = vi.spyOn(CallObject.prototype, "begin");
    begun.mockImplementationOnce(async function (this: CallObject) {
      await this.drop();
      return this.begin();
    });
    const headers = { ...ASYNC, "Relay-Account": account, "Relay-Credits": "5" };
    const { id, response } = await submitTo(relay, a, { headers });
    expect(response.status).toBe(202);
    await until(async () => (await readTask(relay, id)).status === "failed");
    expect(await readTask(relay, id)).toMatchObject({
      error: { code: "upstream_error" },
      submission: { state: "unsent" },
    });
    await until(async () => (await balanceOf(account)) === 5);
    await until(async () => (await queueState(a)).held === 0);
    expect(outside.sentTo(A)).toEqual([]);
  });

  it("one that could not reach a queue before its registration asks again seconds after it", async () => {
    members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    const ask = vi.spyOn(QueueObject.prototype, "ask");
    ask.mockImplementationOnce(() => {
      throw new Error("unreachable");
    });
    const id = await waitFor(relay, a);
    expect(await queueState(a)).toMatchObject({ held: 0, waiting: 0 });
    pass(5 * SECOND);
    await work(relay, id);
    expect(await readTask(relay, id)).toMatchObject({ submission: { state: "accepted" } });
  });

  it("one in a pool that gets a place at once leaves the queues that it has asked before", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 }, b: { in_flight: 1 } });
    const [a, b] = relay.names;
    await waitFor(relay, a);
    const id = await waitFor(relay, relay.pool);
    expect([await queueState(a), await queueState(b)]).toMatchObject([
      { held: 1, waiting: 0 },
      { held: 1, waiting: 0 },
    ]);
    await work(relay, id);
    expect(outside.sentTo(B)[0]?.headers["authorization"]).toBe(`Bearer ${keyOf(b)}`);
  });

  it("one in a pool waits for all members, and leaves the others when one of them has a place", async () => {
    members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 }, b: { in_flight: 1 } });
    const [a, b] = relay.names;
    const first = await waitFor(relay, b);
    await waitFor(relay, a);
    const id = await waitFor(relay, relay.pool);
    expect([await queueState(a), await queueState(b)]).toMatchObject([
      { waiting: 1 },
      { waiting: 1 },
    ]);
    await work(relay, first);
    await endJob(relay, first);
    await until(async () => (await stateOf(id))?.stay?.place === b);
    await until(async () => (await queueState(a)).waiting === 0);
    expect(await queueState(b)).toMatchObject({ held: 1, waiting: 0 });
  });

  it("one in a pool of which a member is removed waits at the other, and is sent there", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 }, b: { in_flight: 1 } });
    const [a, b] = relay.names;
    const first = await waitFor(relay, a);
    const second = await waitFor(relay, b);
    const id = await waitFor(relay, relay.pool);
    for (const each of [first, second]) await work(relay, each);
    const reduced = await configured(relay, { a: { in_flight: 1 }, b: null });
    await endJob(relay, second);
    await until(async () => (await queueState(b)).waiting === 0);
    pass(10 * MINUTE);
    await work(reduced, id);
    expect(await queueState(b)).toMatchObject({ held: 0, waiting: 0 });
    expect(await queueState(a)).toMatchObject({ held: 1, waiting: 1 });
    await endJob(reduced, first);
    await workWithPlace(reduced, id);
    expect(outside.sentTo(A)).toHaveLength(2);
    expect(await readTask(reduced, id)).toMatchObject({ status: "pending", provider: a });
  });

  it("one takes a single place, of its present attempt, and confirms it again", async () => {
    members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 }, b: { in_flight: 1 } });
    const [a, b] = relay.names;
    await waitFor(relay, a);
    await waitFor(relay, b);
    const call = await callOf(await waitFor(relay, relay.pool));
    expect(await call.grant({ connection: b, attempt: 2 })).toBe("gone");
    expect(await call.grant({ connection: b, attempt: 1 })).toBe("taken");
    expect(await call.grant({ connection: b, attempt: 1 })).toBe("taken");
    expect(await call.grant({ connection: a, attempt: 1 })).toBe("gone");
  });

  it("one that a queue has lost asks for its place again", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    const first = await waitFor(relay, a);
    const id = await waitFor(relay, a);
    const { name = "" } = (await callOf(id)).id;
    await env.QUEUES.getByName(a).leave(name);
    expect(await queueState(a)).toMatchObject({ waiting: 0 });
    pass(10 * MINUTE);
    await work(relay, id);
    expect(await queueState(a)).toMatchObject({ waiting: 1 });
    await work(relay, first);
    await endJob(relay, first);
    await workWithPlace(relay, id);
    expect(outside.sentTo(A)).toHaveLength(2);
  });
});

describe("a refused call that waits", () => {
  it.each([
    ["a number of queued tasks", "The request has exceeded the quota.", "queued"],
    ["a used-up free trial", "Your account has exhausted its free trial quota.", "refused"],
    ["a used-up plan", "Your quota is used up. It will reset at 2026-12-01.", "refused"],
  ])("is sent again or not by what QuotaExceeded of Ark means: %s", async (_, message, state) => {
    const outside = members();
    outside.on(A, answering(fault("QuotaExceeded", message), 429));
    const relay = await aQueuedRelay({ a: { in_flight: 2 } });
    const [a] = relay.names;
    const id = await waitFor(relay, a);
    await work(relay, id);
    expect(await readTask(relay, id)).toMatchObject({ submission: { state } });
    expect(outside.sentTo(A)).toHaveLength(1);
    if (state === "refused") return;
    outside.on(A, answering({ id: "cgt-1" }));
    const other = await waitFor(relay, a);
    await wakeQueue(a, 16 * SECOND);
    await workWithPlace(relay, id);
    expect(await readTask(relay, id)).toMatchObject({
      submission: { state: "accepted", attempts: [{ connection: a, refusal: "busy" }] },
    });
    await workWithPlace(relay, other);
    expect(await queueState(a)).toMatchObject({ held: 2 });
  });

  it("with Kling's 1303 goes to the other member of its pool, and with 1102 too, of which the operator is told", async () => {
    const KLING = "/v1/videos/text2video";
    const body = JSON.stringify({ model_name: "kling-v2", prompt: "a fox" });
    for (const [code, refused] of [
      [1303, "busy"],
      [1102, "funds"],
    ] as const) {
      const outside = members();
      outside.on(A, answering({ code, message: "refused", request_id: "r" }, 429));
      const accepted = { task_id: "k-1", task_status: "submitted", created_at: 1, updated_at: 1 };
      outside.on(B, answering({ code: 0, message: "ok", request_id: "r", data: accepted }));
      const kling = { provider: "kling", in_flight: 3 };
      const variables = { OPERATOR_CALLBACK_URL: `${OPS}/events` };
      const relay = await aQueuedRelay({ a: kling, b: kling }, variables);
      const id = await waitFor(relay, relay.pool, { path: KLING, body });
      await work(relay, id);
      const [a, b] = relay.names;
      expect(outside.sentTo(B)[0]?.headers["authorization"]).toBe(`Bearer ${keyOf(b)}`);
      expect(await readTask(relay, id)).toMatchObject({
        provider: b,
        submission: { state: "accepted", attempts: [{ connection: a, refusal: refused }] },
      });
      const next = await waitFor(relay, relay.pool, { path: KLING, body });
      await work(relay, next);
      expect([outside.sentTo(A).length, outside.sentTo(B).length]).toEqual([1, 2]);
      const isTold = refused === "funds";
      await until(() => outside.sentTo(OPS).length === (isTold ? 1 : 0));
      const told = outside.sentTo(OPS).map((sent) => JSON.parse(sent.body));
      expect(told).toMatchObject(
        isTold ? [{ type: "provider.funds", data: { connection: a } }] : [],
      );
    }
  });

  it.each([
    ["status 500", () => Response.json(fault("InternalServiceError"), { status: 500 })],
    ["no answer", () => Promise.reject(new Error("timed out"))],
  ] as const)(
    "an outcome that is unknown (%s) is followed by no call to another member, and holds its place until the task fails",
    async (_, site) => {
      const outside = members();
      outside.on(A, site);
      const relay = await aQueuedRelay({ a: { in_flight: 1 }, b: { in_flight: 1 } });
      const [a] = relay.names;
      const id = await waitFor(relay, relay.pool);
      await work(relay, id);
      expect(await readTask(relay, id)).toMatchObject({ submission: { state: "unknown" } });
      expect(outside.sentTo(B)).toEqual([]);
      expect(await queueState(a)).toMatchObject({ held: 1 });
      expect(await stateOf(id)).toBeNull();
      await wake(id, 61 * MINUTE);
      expect(await readTask(relay, id)).toMatchObject({ error: { code: "submit_unknown" } });
      await until(async () => (await queueState(a)).held === 0);
      expect(outside.sentTo(B)).toEqual([]);
    },
  );

  it("fails when no member of its pool has money, with the class of the last refusal", async () => {
    const outside = members();
    outside.on(A, OVERDUE);
    outside.on(B, OVERDUE);
    const relay = await aQueuedRelay();
    const id = await waitFor(relay, relay.pool);
    await work(relay, id);
    expect(await readTask(relay, id)).toMatchObject({
      status: "failed",
      error: { code: "upstream_funds" },
      submission: { state: "refused", attempts: [{ refusal: "funds" }, { refusal: "funds" }] },
    });
    expect(await stateOf(id)).toBeNull();
    expect(sentTo(outside)).toHaveLength(2);
  });
});

describe("calls whose callers wait", () => {
  it("the third at a connection with two places gets 429 connection_busy, and a 429 of the upstream keeps its own body", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 2 } });
    const [a] = relay.names;
    const first = await submitTo(relay, a);
    expect(first.response.status).toBe(200);
    expect((await submitTo(relay, a)).response.status).toBe(200);
    const { id, response } = await submitTo(relay, a);
    expect(response.headers.get("Retry-After")).toBe("5");
    expect(await refusal(response)).toEqual({ status: 429, code: "connection_busy" });
    expect((await stored(id)).record).toBeUndefined();
    const repeated = await submitTo(relay, a, { headers: { "Relay-Task-Id": first.id } });
    expect(repeated.response.status).toBe(200);
    expect(repeated.response.headers.get("Idempotent-Replayed")).toBe("true");
    await endJob(relay, first.id);
    await until(async () => (await queueState(a)).held === 1);
    outside.on(A, BUSY);
    const passed = await submitTo(relay, a);
    expect(passed.response.status).toBe(429);
    expect(await passed.response.json()).toEqual(fault("InflightBatchsizeExceeded"));
    await until(async () => (await queueState(a)).held === 1);
    expect((await stored(passed.id)).record).toBeUndefined();
  });

  it("and repeat an earlier one give back the place that was free for them", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 2 } });
    const [a] = relay.names;
    const { id } = await submitTo(relay, a);
    const repeated = await submitTo(relay, a, { headers: { "Relay-Task-Id": id } });
    expect(repeated.response.headers.get("Idempotent-Replayed")).toBe("true");
    expect(sentTo(outside)).toHaveLength(1);
    await until(async () => (await queueState(a)).held === 1);
  });

  it.each([
    ["are sent where the queue has kept their place", false, 200, 1],
    ["get 429 where the queue has given it to another, and leave nothing", true, 429, 0],
  ])("and whose task is registered late %s", async (_, isTaken, status, calls) => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    registerLate(isTaken ? a : null);
    const { id, response } = await submitTo(relay, a);
    expect(response.status).toBe(status);
    expect(sentTo(outside)).toHaveLength(calls);
    await until(async () => (await stored(id)).record === undefined || !isTaken);
    expect(await queueState(a)).toMatchObject({ held: 1, waiting: 0 });
  });

  it("and repeat one whose price is still being charged get 503 and not 429, because there is a task", async () => {
    members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 } });
    const [a] = relay.names;
    vi.spyOn(AccountObject.prototype, "charge").mockImplementation(() => {
      throw new Error("unreachable");
    });
    const task = { "Relay-Task-Id": crypto.randomUUID() };
    const headers = { ...task, "Relay-Account": await anAccount(), "Relay-Credits": "5" };
    const first = await submitTo(relay, a, { headers });
    await until(async () => (await queueState(a)).held === 0);
    expect((await submitTo(relay, a)).response.status).toBe(200);
    const again = await submitTo(relay, a, { headers });
    for (const { response } of [first, again]) {
      expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
    }
  });

  it("go to the member that has a place, with its key and at its server", async () => {
    const outside = members();
    const relay = await aQueuedRelay({ a: { in_flight: 1 }, b: { in_flight: 1 } });
    for (const [i, name] of relay.names.entries()) {
      const { id, response } = await submitTo(relay, relay.pool);
      expect(response.status).toBe(200);
      const [sent] = outside.sentTo(HOSTS[i] ?? "");
      expect(sent?.headers["authorization"]).toBe(`Bearer ${keyOf(name)}`);
      expect(await readTask(relay, id)).toMatchObject({ provider: name });
    }
    const { response } = await submitTo(relay, relay.pool);
    expect(await refusal(response)).toEqual({ status: 429, code: "connection_busy" });
  });

  it("are sent to the next member after a refusal, with the same body and the key of that member", async () => {
    const outside = members();
    outside.on(A, BUSY);
    const relay = await aQueuedRelay();
    const [a, b] = relay.names;
    const { id, response } = await submitTo(relay, relay.pool);
    expect(response.status).toBe(200);
    const [[first], [second]] = [outside.sentTo(A), outside.sentTo(B)];
    expect(first?.body).toBe(second?.body);
    expect(second?.headers["authorization"]).toBe(`Bearer ${keyOf(b)}`);
    expect(await readTask(relay, id)).toMatchObject({
      provider: b,
      submission: { state: "accepted", attempts: [{ connection: a, refusal: "busy" }] },
    });
    expect([await queueState(a), await queueState(b)]).toMatchObject([{ held: 0 }, { held: 1 }]);
  });

  it("get the last refusal when every member refuses, and nothing of them stays", async () => {
    const outside = members();
    outside.on(A, OVERDUE);
    outside.on(B, BUSY);
    const relay = await aQueuedRelay();
    const { id, response } = await submitTo(relay, relay.pool);
    expect(response.status).toBe(429);
    expect(await response.json()).toEqual(fault("InflightBatchsizeExceeded"));
    expect(sentTo(outside)).toHaveLength(2);
    await until(async () => (await stored(id)).record === undefined);
    expect(await queueState(relay.names[0])).toMatchObject({ held: 0, waiting: 0 });
    const again = await submitTo(relay, relay.pool);
    expect(await refusal(again.response)).toEqual({ status: 429, code: "connection_busy" });
    expect(again.response.headers.get("Retry-After")).toBe("15");
  });

  it.each<[string, () => void]>([
    [
      "cannot be told of the refusal",
      () => {
        vi.spyOn(TaskObject.prototype, "refuseCall").mockImplementation(() => {
          throw new Error("unreachable");
        });
      },
    ],
    [
      "does not begin the next attempt",
      () => {
        vi.spyOn(TaskObject.prototype, "startCall").mockResolvedValue({ kind: "gone" });
      },
    ],
  ])("get the refusal, and are sent to no other member, when the task %s", async (_, prepare) => {
    const outside = members();
    outside.on(A, BUSY);
    const relay = await aQueuedRelay({ a: { in_flight: 1 }, b: { in_flight: 1 } });
    const [, b] = relay.names;
    prepare();
    const { response } = await submitTo(relay, relay.pool);
    expect(response.status).toBe(429);
    expect(outside.sentTo(B)).toEqual([]);
    await until(async () => (await queueState(b)).held === 0);
  });

  it("are sent to no other member after an outcome that is unknown", async () => {
    const outside = members();
    outside.on(A, () => Response.json(fault("InternalServiceError"), { status: 500 }));
    const relay = await aQueuedRelay();
    const { response } = await submitTo(relay, relay.pool);
    expect(await refusal(response)).toMatchObject({ code: "submit_unknown" });
    expect(outside.sentTo(B)).toEqual([]);
    expect(await queueState(relay.names[0])).toMatchObject({ held: 1 });
  });

  it("and are answered by the result are sent to the next member after a short refusal, whose answer is passed on", async () => {
    const outside = members();
    outside.on(A, BUSY);
    const picture = { data: [{ url: "https://cdn.example.net/fox.png" }] };
    outside.on(B, answering(picture));
    const relay = await aQueuedRelay();
    const [a, b] = relay.names;
    const { id, response } = await submitTo(relay, relay.pool, IMAGE);
    expect(await response.json()).toEqual(picture);
    expect(outside.sentTo(B)[0]?.headers["authorization"]).toBe(`Bearer ${keyOf(b)}`);
    expect(outside.sentTo(B)[0]?.body).toBe(outside.sentTo(A)[0]?.body);
    expect(await readTask(relay, id)).toMatchObject({
      status: "completed",
      submission: { attempts: [{ connection: a, refusal: "busy" }] },
    });
    await until(async () => (await queueState(b)).held === 0);
    expect(await queueState(a)).toMatchObject({ held: 0 });
  });

  it("and are answered by the result get the last refusal, and their price is returned", async () => {
    const outside = members();
    for (const host of HOSTS) outside.on(host, BUSY);
    const relay = await aQueuedRelay();
    const account = await anAccount(5);
    const headers = { "Relay-Account": account, "Relay-Credits": "5" };
    const { id, response } = await submitTo(relay, relay.pool, { ...IMAGE, headers });
    expect(response.status).toBe(429);
    expect(sentTo(outside)).toHaveLength(2);
    await until(async () => (await balanceOf(account)) === 5);
    await until(async () => (await stored(id)).record === undefined);
  });

  it("and are answered by the result are sent to no other member after SUBMIT_TIMEOUT_S: a refusal then fails the task, and frees the place", async () => {
    const passTime = holdTimers(90 * SECOND);
    const gate = Promise.withResolvers<void>();
    const outside = members();
    outside.on(A, async (...sent) => {
      await gate.promise;
      return BUSY(...sent);
    });
    const relay = await aQueuedRelay();
    const [a] = relay.names;
    const account = await anAccount(5);
    const id = crypto.randomUUID();
    const priced = { "Relay-Account": account, "Relay-Credits": "5", "Relay-Task-Id": id };
    const submitted = submitTo(relay, relay.pool, { ...IMAGE, headers: priced });
    await until(() => outside.sentTo(A).length > 0);
    passTime();
    const { response } = await submitted;
    expect(await refusal(response)).toMatchObject({ code: "submit_unknown" });
    gate.resolve();
    await until(async () => (await readTask(relay, id)).status === "failed");
    expect(await readTask(relay, id)).toMatchObject({
      provider: a,
      error: { code: "upstream_error" },
      submission: { state: "unknown", refusal: "busy" },
    });
    await until(async () => (await balanceOf(account)) === 5);
    await until(async () => (await queueState(a)).held === 0);
    expect((await queueState(a)).coolUntil).toBe(Date.now() + 15 * SECOND);
    expect(outside.sentTo(B)).toEqual([]);
  });

  it("with a form that is passed on unread are sent to one member", async () => {
    const outside = members();
    outside.on(A, answering({ error: { message: "slow down" } }, 429));
    const gateway = { provider: "openai-videos" };
    const relay = await aQueuedRelay({ a: gateway, b: gateway });
    const form = new FormData();
    form.append("model", "sora-2");
    const multipart = new Response(form);
    const { response } = await submitTo(relay, relay.pool, {
      path: "/v1/videos",
      headers: { "Content-Type": multipart.headers.get("Content-Type") ?? "" },
      body: multipart.body,
    });
    expect(response.status).toBe(429);
    expect(await response.json()).toEqual({ error: { message: "slow down" } });
    expect(outside.sentTo(B)).toEqual([]);
  });

  it("at a connection without a limit, which is in no pool, ask no queue", async () => {
    members();
    const relay = await aQueuedRelay();
    const [a] = relay.names;
    const { id, response } = await submitTo(relay, a);
    expect(response.status).toBe(200);
    expect(await queueState(a)).toMatchObject({ held: 0 });
    expect(JSON.stringify((await stored(id)).record)).not.toContain("stay");
  });
});

it("an account that submits to a pool sees no name, key or server of a member: in answers, headers, its task and the callback", async () => {
  const outside = members();
  outside.on(A, OVERDUE);
  const offers = [{ models: ["*"] }];
  const account = await anAccount();
  const { key } = await aKey(account);
  const plain = await aQueuedRelay();
  const OFFERS = JSON.stringify(offers.map((offer) => ({ ...offer, connection: plain.pool })));
  const relay = await configured(plain, {}, { OFFERS });
  const shown: string[] = [];
  const note = async (response: Response) => {
    shown.push(await response.clone().text(), JSON.stringify([...response.headers]));
    return response;
  };
  const echo = { keys: relay.names.map(keyOf) };
  outside.on(B, () => Response.json({ id: `cgt-${crypto.randomUUID()}`, ...echo }));
  const ids = [];
  for (const prefer of [{}, ASYNC]) {
    const headers = {
      "Idempotency-Key": crypto.randomUUID(),
      "Relay-Callback-Url": CALLBACK_URL,
      ...prefer,
    };
    const path = `/v1/submit/${relay.pool}${ARK_PATH}`;
    const order = { key, headers: { "Content-Type": "application/json", ...headers }, body: BODY };
    const response = await note(await callWith(relay.bindings, path, order));
    const id = response.headers.get("Relay-Task-Id") ?? "";
    if (response.status === 202) await work(relay, id);
    await note(await callWith(relay.bindings, path, order));
    ids.push(id);
  }
  for (const id of ids) {
    const path = `/v1/tasks/${id}`;
    await note(await callWith(relay.bindings, path, { key }));
    await endJob(relay, id);
    await note(await callWith(relay.bindings, path, { key }));
    await note(await callWith(relay.bindings, `${path}/answer`, { key }));
  }
  shown.push(...outside.sentTo(CALLBACK_URL).map((sent) => JSON.stringify(sent)));
  expect(shown.join()).toContain("cgt-");
  const [a, b] = relay.names;
  for (const hidden of [a, b, ...HOSTS.map((host) => new URL(host).host)]) {
    expect(shown.join()).not.toContain(hidden);
  }
  expect(await readTask(relay, ids[1] ?? "")).toMatchObject({ provider: b });
});

it("links to the API of a member in the stored answer of a job of a pool lead to the path of the pool", async () => {
  const outside = members();
  const replicate = { provider: "replicate" };
  const relay = await aQueuedRelay({ a: { ...replicate, in_flight: 1 }, b: replicate });
  const jobId = crypto.randomUUID().replaceAll("-", "");
  const urls = { get: `${B}/v1/predictions/${jobId}` };
  outside.on(A, answering({ detail: "slow down" }, 429));
  outside.on(B, answering({ id: jobId, status: "starting", urls }, 201));
  const body = JSON.stringify({ version: "a".repeat(64), input: { prompt: "a fox" } });
  const { id, response } = await submitTo(relay, relay.pool, { path: "/v1/predictions", body });
  const link = `/v1/submit/${relay.pool}/v1/predictions/${jobId}`;
  expect(await response.text()).toContain(link);
  await endJob(relay, id);
  const answer = await callWith(relay.bindings, `/v1/tasks/${id}/answer`);
  expect(await answer.text()).toContain(link);
});
