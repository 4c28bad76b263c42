import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { MAX_PAUSES } from "../../src/core/plans/host-pause.ts";
import { HostPauses } from "../../src/objects/host-pauses.ts";
import { aKey, anAccount } from "./accounts.ts";
import { call, callWith, invalid, OPERATOR_KEY, OPERATOR_NAME, post, refusal } from "./client.ts";
import { pass, START, START_S, until, useClock } from "./clock.ts";
import { loggedBy } from "./logged.ts";
import { failing, restart, rowsOf, stored, untilIdle, wake } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import { started } from "./started.ts";
import { aCompletion, completed, finish, read, redeliver, register, report } from "./tasks.ts";

useClock();

afterEach(async () => {
  await runInDurableObject(deployment(), (_, { storage }) => {
    for (const [key] of Array.from(storage.kv.list({ prefix: "pause:" }))) storage.kv.delete(key);
  });
});

const DAY_S = 86_400;
const MINUTE_MS = 60_000;

function deployment() {
  return env.DEPLOYMENT.getByName("deployment");
}

/** Returns a host that no other test pauses. */
function aHost(): string {
  return `h-${crypto.randomUUID()}.example.net`;
}

function urlAt(host: string): string {
  return `https://${host}/callbacks`;
}

function pause(host: string, body: unknown = {}): Promise<Response> {
  return call(`/v1/hosts/${host}/pause`, { method: "PUT", body });
}

function resume(host: string): Promise<Response> {
  return call(`/v1/hosts/${host}/pause`, { method: "DELETE" });
}

/** Runs the alarms of a task at their times until its callback is delivered. @returns the time of the last one. */
async function untilDelivered(id: string): Promise<number> {
  for (let looks = 0; looks < 100; looks++) {
    const { alarm } = await stored(id);
    await wake(id, Math.max(0, (alarm ?? 0) - Date.now()));
    await untilIdle(id);
    const { callback } = await read(id);
    if (JSON.stringify(callback).includes('"status":"delivered"')) return Date.now();
  }
  throw new Error("the callback was not delivered");
}

it("PUT /v1/hosts/{host}/pause holds the callback of a task that ends; after DELETE it is delivered at the next look, as its first attempt", async () => {
  const received = aReceiver();
  const host = aHost();
  const response = await pause(host);
  expect(await response.json()).toEqual({
    host,
    paused_until: START_S + DAY_S,
    seen_within_s: 10,
  });
  const id = await completed({ callback_url: urlAt(host) });
  const resting = { status: "paused", attempts: [], paused_until: START_S + DAY_S };
  expect(await read(id)).toMatchObject({ status: "completed", callback: resting });
  await wake(id, 2 * MINUTE_MS);
  expect(await read(id)).toMatchObject({ callback: resting });
  expect((await resume(host)).status).toBe(204);
  expect((await resume(host)).status).toBe(204);
  expect(received).toHaveLength(0);
  expect(await untilDelivered(id)).toBeLessThanOrEqual(START + 12 * MINUTE_MS);
  expect(received).toMatchObject([{ url: urlAt(host), headers: { "x-attempt": "1" } }]);
});

it("a progress callback is not sent while its host is paused", async () => {
  const received = aReceiver();
  const [paused, other] = [aHost(), aHost()];
  await pause(paused);
  for (const host of [paused, other]) {
    const id = await register({ callback_url: urlAt(host), callback_events: ["progress"] });
    await report({ id, status: "processing" });
    await untilIdle(id);
  }
  await until(() => received.length > 0);
  expect(received).toMatchObject([
    { url: urlAt(other), headers: { "x-event": "task.processing" } },
  ]);
});

it("a callback to a paused host goes on by itself within ten minutes after the end of the pause", async () => {
  const received = aReceiver();
  const host = aHost();
  await pause(host, { until: START_S + 1800 });
  const id = await completed({ callback_url: urlAt(host) });
  const at = await untilDelivered(id);
  expect(at).toBeGreaterThanOrEqual(START + 1800_000 - 250);
  expect(at).toBeLessThanOrEqual(START + 2400_000);
  expect(received).toHaveLength(1);
});

it("a planned attempt to a host that was paused since rests, and the attempts are numbered as without the pause", async () => {
  const received = aReceiver(status(500), status(204));
  const host = aHost();
  const id = await completed({ callback_url: urlAt(host) });
  expect(await read(id)).toMatchObject({ callback: { status: "retrying" } });
  await pause(host, { until: START_S + 600 });
  await wake(id, 180_000);
  const first = { number: 1, outcome: "rejected" };
  expect(await read(id)).toMatchObject({ callback: { status: "paused", attempts: [first] } });
  await untilDelivered(id);
  expect(await read(id)).toMatchObject({
    callback: { status: "delivered", attempts: [first, { number: 2, outcome: "delivered" }] },
  });
  expect(received).toHaveLength(2);
});

it("an isolate that has read the list of paused hosts before sends for ten seconds more, and then nothing", async () => {
  const received = aReceiver();
  const host = aHost();
  const id = await register({ callback_url: urlAt(host) });
  // Its object has an isolate of its own from now on.
  await restart(id, env);
  await finish(aCompletion(id));
  expect(received).toHaveLength(1);
  await pause(host);
  pass(4_000);
  await redeliver(id);
  await untilIdle(id);
  expect(received).toHaveLength(2);
  pass(6_000);
  await redeliver(id);
  await untilIdle(id);
  expect(received).toHaveLength(2);
  expect(await read(id)).toMatchObject({ callback: { status: "paused" } });
  await resume(host);
});

it("an attempt that was started by an isolate which does not know the pause rests before it is sent, and is not counted", async () => {
  const received = aReceiver();
  const host = aHost();
  await pause(host);
  const id = await register({ callback_url: urlAt(host) });
  await restart(id, env);
  await finish(aCompletion(id));
  expect(received).toHaveLength(0);
  const rest = { until: (START_S + DAY_S) * 1000 };
  expect(await stored(id)).toMatchObject({
    record: {
      callback: {
        lastNumber: 0,
        attempts: [],
        series: { started: 0 },
        state: { kind: "due", nextAttemptAt: START, rest },
      },
    },
  });
  await resume(host);
  await untilDelivered(id);
  expect(received).toMatchObject([{ headers: { "x-attempt": "1" } }]);
});

it("callbacks are sent although the list of paused hosts cannot be read, which is not asked for again at once", async () => {
  const received = aReceiver();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const host = aHost();
  const id = await register({ callback_url: urlAt(host) });
  const { DEPLOYMENT } = { ...env, ...failing(new Error("away")) };
  const getByName = vi.fn((name: string) => DEPLOYMENT.getByName(name));
  await restart(id, { ...env, DEPLOYMENT: { getByName } });
  await finish(aCompletion(id));
  await redeliver(id);
  await untilIdle(id);
  expect(received).toHaveLength(2);
  expect(getByName).toHaveBeenCalledTimes(1);
  expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
});

it("a list of paused hosts that was read earlier does not replace one that was read later, although its answer comes last", async () => {
  const list = new HostPauses(await started(env));
  const known = { host: aHost(), until: START + DAY_S * 1000, since: START, by: null };
  list.note([known], START);
  list.note([], START - 100);
  expect([...list.known()]).toEqual([[known.host, known.until]]);
});

it("a task without a pause writes as many rows as its attempt needs, and its isolate reads the list once", async () => {
  aReceiver();
  const id = await register({ callback_url: urlAt(aHost()) });
  let reads = 0;
  const getByName = (name: string) => {
    reads++;
    return env.DEPLOYMENT.getByName(name);
  };
  await restart(id, { ...env, DEPLOYMENT: { getByName } });
  const rows = await rowsOf(id);
  await finish(aCompletion(id));
  const first = rows();
  for (let i = 1; i <= 3; i++) {
    await redeliver(id);
    await untilIdle(id);
  }
  expect(reads).toBe(1);
  expect(first).toBeLessThanOrEqual(4);
});

it("POST /v1/tasks/{id}/redeliver to a paused host is accepted and rests; a further one to another host sends the resting attempt there at once", async () => {
  const received = aReceiver();
  const [host, repaired] = [aHost(), aHost()];
  const id = await completed({ callback_url: urlAt(host) });
  await pause(host);
  const response = await redeliver(id);
  expect(response.status).toBe(202);
  expect(await response.json()).toMatchObject({ callback: { status: "paused" } });
  await redeliver(id);
  expect(received).toHaveLength(1);
  await redeliver(id, { callback_url: urlAt(repaired) });
  await untilIdle(id);
  expect(received.map(({ url }) => url)).toEqual([urlAt(host), urlAt(repaired)]);
  expect(await read(id)).toMatchObject({
    callback: { status: "delivered", attempts: [{ series: 1 }, { number: 2, series: 2 }] },
  });
  await resume(host);
});

it("POST /v1/callbacks/test to a paused host is 409 host_paused, and sends nothing", async () => {
  const received = aReceiver();
  const host = aHost();
  await pause(host);
  const response = await post("/v1/callbacks/test", { callback_url: urlAt(host) });
  expect(response.status).toBe(409);
  expect(await response.json()).toMatchObject({
    code: "host_paused",
    detail: `Callbacks to ${host} are paused until 2050-01-02T12:00:00Z.`,
  });
  expect(received).toHaveLength(0);
  await resume(host);
  const sent = await post("/v1/callbacks/test", { callback_url: urlAt(host) });
  expect(await sent.json()).toMatchObject({ outcome: "delivered" });
});

it.each([
  ["a time in the past", { until: START_S }],
  ["a time more than 7 days ahead", { until: START_S + 7 * DAY_S + 1 }],
  ["a time in milliseconds", { until: START }],
  ["a text", { until: "tomorrow" }],
])("PUT /v1/hosts/{host}/pause until %s is 400 and names the field", async (_what, body) => {
  expect(await refusal(await pause(aHost(), body))).toEqual(invalid("/until"));
});

it.each(["*", "*.example.com", "a%20b", "a%2Fb", "user%40example.com", "example.com%3Fx"])(
  "PUT and DELETE /v1/hosts/%s/pause are 400 and name the host",
  async (host) => {
    expect(await refusal(await pause(host))).toEqual(invalid("/host"));
    expect(await refusal(await resume(host))).toEqual(invalid("/host"));
  },
);

it("PUT /v1/hosts/{host}/pause takes a time up to 7 days ahead", async () => {
  const response = await pause(aHost(), { until: START_S + 7 * DAY_S });
  expect(await response.json()).toMatchObject({ paused_until: START_S + 7 * DAY_S });
});

it("PUT /v1/hosts/{host}/pause takes the host in any spelling, and with a port of its own", async () => {
  const host = aHost();
  const spelt = await pause(`${host.toUpperCase()}:443`, { until: null });
  expect(await spelt.json()).toMatchObject({ host });
  const other = await pause(`${host}:8443`);
  expect(await other.json()).toMatchObject({ host: `${host}:8443` });
});

it("pauses are ordered with the role operate: neither a key that only reads nor that of an account will do", async () => {
  const { key } = await aKey(await anAccount());
  const reading = { ...env, OPERATOR_KEYS: `read:${OPERATOR_KEY}` };
  const path = `/v1/hosts/${aHost()}/pause`;
  for (const method of ["PUT", "DELETE"]) {
    const answers = [await call(path, { method, key }), await callWith(reading, path, { method })];
    for (const answer of answers) {
      expect(await refusal(answer)).toEqual({ status: 403, code: "forbidden" });
    }
  }
});

it(`with ${MAX_PAUSES} paused hosts a further one is 409 pauses_full, and one of them can still be moved and ended; those that are over do not count`, async () => {
  const hosts = Array.from({ length: MAX_PAUSES }, () => aHost());
  const endsAt = START + 1_000;
  await runInDurableObject(deployment(), (_, { storage }) => {
    for (const host of hosts) {
      storage.kv.put(`pause:${host}`, { host, until: endsAt, since: START, by: null });
    }
  });
  expect(await refusal(await pause(aHost()))).toEqual({ status: 409, code: "pauses_full" });
  const [first = ""] = hosts;
  expect((await pause(first, { until: START_S + 1 })).status).toBe(200);
  expect((await resume(first)).status).toBe(204);
  pass(1_000);
  const host = aHost();
  expect((await pause(host)).status).toBe(200);
  const left = await runInDurableObject(deployment(), (_, { storage }) =>
    Array.from(storage.kv.list({ prefix: "pause:" }), ([key]) => key),
  );
  expect(left.filter((key) => hosts.some((one) => key.endsWith(one)))).toEqual([]);
  await resume(host);
});

it("the log says who has paused and resumed a host", async () => {
  const host = aHost();
  const lines = await loggedBy(async () => {
    await pause(host);
    await resume(host);
  });
  expect(lines).toEqual([
    { event: "host.pause", host, until: START_S + DAY_S, by: OPERATOR_NAME },
    { event: "host.resume", host, by: OPERATOR_NAME },
  ]);
});

it("a relay whose list of pauses cannot be reached answers an order to pause with 503", async () => {
  const overloaded = Object.assign(new Error("overloaded"), { overloaded: true });
  const DEPLOYMENT = Reflect.get(failing(overloaded), "DEPLOYMENT");
  const message = { method: "PUT", body: {} };
  const response = await callWith({ ...env, DEPLOYMENT }, `/v1/hosts/${aHost()}/pause`, message);
  expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
});
