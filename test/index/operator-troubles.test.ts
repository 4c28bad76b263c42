import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import { env } from "../../src/startup.ts";
import { ConnectionObject } from "../../src/objects/connection/connection-object.ts";
import { HostObject } from "../../src/objects/host-object.ts";
import { DigestObject } from "../../src/objects/digest-object.ts";
import { Alerts } from "../../src/objects/task/alerts.ts";
import { sendOperatorEvent } from "../../src/outbound/webhooks.ts";
import { digestObject, hostObject } from "../../src/objects/object-names.ts";
import { pass, START, START_S, until } from "../worker/clock.ts";
import { OPERATOR_KEY } from "../worker/client.ts";
import { attach, type Hooked } from "../worker/hooked.ts";
import { answering } from "../worker/outside.ts";
import { started } from "../worker/started.ts";
import { register } from "../worker/tasks.ts";
import { gated, restartWith } from "./bindings.ts";
import {
  allowIndexAlert,
  OPERATOR_URL,
  receivers,
  OPERATOR_BINDINGS,
  operatorEvents,
} from "./operator.ts";
import {
  aRow,
  callWith,
  cron,
  db,
  insert,
  useIndex,
  wake,
  finish,
  STORES_HOUR,
} from "./support.ts";

useIndex();

const MINUTE = 60_000;

/** Runs the cron with a database that reports this size of itself. */
async function cronWith(bytes: number, PLAN = "paid"): Promise<void> {
  const see = (answer: unknown) =>
    void Object.assign(Object(Object(answer).meta), { size_after: bytes });
  await cron({ ...OPERATOR_BINDINGS, PLAN, INDEX_DB: gated(db, async () => undefined, see) });
}

/** Creates a task whose first attempt fails. */
async function failedOnce(host: string, bindings: object = OPERATOR_BINDINGS): Promise<void> {
  const id = await register({ callback_url: `https://${host}/cb` });
  await restartWith(id, bindings);
  await finish(id);
}

it("the operator event host.failing is sent when the tenth callback attempt to a host within 10 minutes fails, counted over all tasks", async () => {
  const outside = receivers(500);
  const host = `${crypto.randomUUID()}.example.net`;
  outside.on(`https://${host}/`, answering("", 500));
  const reports = vi.spyOn(HostObject.prototype, "noteFailure");
  for (let n = 0; n < 9; n++) await failedOnce(host);
  await failedOnce(`other-${host}`);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  await failedOnce(host);
  await until(() => outside.sentTo(OPERATOR_URL).length === 1);
  for (let n = 0; n < 3; n++) await failedOnce(host);
  // Reported were the first and the tenth failure of the host, and the failure of the other host.
  expect(reports).toHaveBeenCalledTimes(3);
  expect(await operatorEvents(outside)).toEqual([
    { type: "host.failing", timestamp: START_S, data: { host } },
  ]);
});

it("for the operator event host.failing, the relay counts neither successful attempts nor failures from the time when OPERATOR_CALLBACK_URL was not set", async () => {
  const outside = receivers(200);
  const host = `${crypto.randomUUID()}.example.net`;
  for (let n = 0; n < 10; n++) await failedOnce(host, {});
  outside.on(`https://${host}/`, answering("", 200));
  for (let n = 0; n < 10; n++) await failedOnce(host);
  expect(await hostObject(env, host).noteFailure()).toBe(false);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
});

it("the operator event host.failing is sent at most once an hour, and never when fewer than 10 callback attempts have failed within 10 minutes", async () => {
  const object = hostObject(env, crypto.randomUUID());
  const fail = async (times: number, everyMs: number) => {
    const answers: boolean[] = [];
    for (let n = 0; n < times; n++) {
      answers.push(await object.noteFailure());
      pass(everyMs);
    }
    return answers.filter(Boolean).length;
  };
  // Nine failures in each period of ten minutes, for two hours.
  expect(await fail(120, 67_000)).toBe(0);
  pass(10 * MINUTE);
  expect(await fail(10, MINUTE - 1)).toBe(1);
  // One failure every five seconds, until an hour after the event.
  expect(await fail(600, 5000)).toBe(0);
  expect(await fail(240, 5000)).toBe(1);
});

/** Registers a task with a job, and has the job polled once. */
async function polledTask(outside: ReturnType<typeof receivers>): Promise<void> {
  const bindings = { ...env, ...OPERATOR_BINDINGS, ARK_API_KEY: "test-only-ark-key" };
  const task: Hooked = { id: crypto.randomUUID(), provider: "ark", bindings, hookUrl: "" };
  await restartWith(task.id, bindings);
  const body = { id: task.id, model: "m", provider: "ark" };
  expect((await callWith(bindings, "/v1/tasks", { body })).status).toBe(201);
  await attach(task, "cgt-1");
  const polls = outside.sentTo("https://ark.").length;
  while (outside.sentTo("https://ark.").length === polls) await wake(task.id);
}

it("the Durable Object that counts failed callback attempts to a host erases itself when these are too old for the operator event host.failing", async () => {
  const object = hostObject(env, crypto.randomUUID());
  await object.noteFailure();
  const keys = () => runInDurableObject(object, (_, { storage }) => [...storage.kv.list()].length);
  expect(await keys()).toBe(1);
  pass(11 * MINUTE);
  expect(await runDurableObjectAlarm(object)).toBe(true);
  expect(await keys()).toBe(0);
});

it("the operator event provider.unauthorized is not sent while the provider accepts the relay's key", async () => {
  const outside = receivers(200);
  outside.on("https://ark.", answering({ id: "cgt-1", status: "running" }));
  await polledTask(outside);
  await polledTask(outside);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
});

it("an operator event of a type that OPERATOR_EVENTS leaves out is not sent", async () => {
  const outside = receivers(200);
  const bindings = { ...env, ...OPERATOR_BINDINGS, OPERATOR_EVENTS: "index.full" };
  const { runtime } = (await started(bindings)).startup;
  if (!runtime.ok) throw new Error("the configuration is not valid");
  const event = { type: "host.failing", host: "client.example.net" } as const;
  expect(await sendOperatorEvent(event, "event-1", START, runtime.value)).toBe(false);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
});

it("the operator event provider.unauthorized is sent, at most once an hour for the same key, when a provider refuses the relay's key", async () => {
  const outside = receivers(200);
  outside.on("https://ark.", answering({ error: "no" }, 401));
  const refusedPoll = async () => polledTask(outside);
  await refusedPoll();
  await until(() => outside.sentTo(OPERATOR_URL).length === 1);
  await refusedPoll();
  expect(await operatorEvents(outside)).toEqual([
    {
      type: "provider.unauthorized",
      timestamp: expect.any(Number),
      data: { connection: "ark" },
    },
  ]);
  pass(60 * MINUTE);
  await refusedPoll();
  await until(() => outside.sentTo(OPERATOR_URL).length === 2);
});

const ARK_PATH = "/v1/submit/ark/contents/generations/tasks";
const SUBMITTING = {
  ...env,
  ...OPERATOR_BINDINGS,
  ARK_API_KEY: "test-only-ark-key",
  BFL_API_KEY: "test-only-bfl-key",
  RUNWAY_API_KEY: "test-only-runway-key",
};

/** Submits a job, with the key of the connection unless the headers have the caller's own. */
async function submitted(
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const id = crypto.randomUUID();
  await restartWith(id, SUBMITTING);
  const body = { model: "m", content: [] };
  const key = "Relay-Key" in headers ? null : OPERATOR_KEY;
  const sent = { "Relay-Task-Id": id, ...headers };
  return callWith(SUBMITTING, path, { body, headers: sent, key });
}

const eventsOf = (outside: ReturnType<typeof receivers>) => outside.sentTo(OPERATOR_URL).length;

it.each([
  ["provider.funds", "funds_refused", 400, "You do not have enough credits to run this task."],
  ["provider.unauthorized", "key_refused", 401, "The API key is not valid."],
])(
  "the operator event %s is sent, at most hourly for a connection, and the problem %s listed when the upstream refuses a submission for this reason",
  async (type, kind, status, error) => {
    const outside = receivers(200);
    outside.on("https://api.dev.runwayml.com", answering({ error }, status));
    const path = "/v1/submit/runway/v1/image_to_video";
    expect((await submitted(path)).status).toBe(status);
    await until(() => eventsOf(outside) === 1);
    for (let n = 0; n < 12; n += 1) await submitted(path);
    const data = { connection: "runway" };
    expect(await operatorEvents(outside)).toEqual([{ type, timestamp: START_S, data }]);
    const problems = await callWith(SUBMITTING, "/v1/problems");
    expect(await problems.json()).toMatchObject({
      data: expect.arrayContaining([
        expect.objectContaining({ kind, subject: { ...data, refused_at: START_S } }),
      ]),
    });
    pass(60 * MINUTE);
    await submitted(path);
    await until(() => eventsOf(outside) === 2);
  },
);

it.each([
  ["a rate limit", 429, { error: { code: "RateLimitExceeded.EndpointRPMExceeded" } }, {}, 1],
  ["its input", 400, { error: { code: "InvalidParameter" } }, {}, 3],
  [
    "the balance of a customer's own key",
    403,
    { error: { code: "AccountOverdueError" } },
    { "Relay-Key": OPERATOR_KEY, Authorization: "Bearer sk-test-only-own" },
    5,
  ],
])(
  "no operator event is sent when the upstream refuses a submission because of %s",
  async (_because, status, answer, headers, minutes) => {
    const outside = receivers(200);
    outside.on("https://ark.", answering(answer, status));
    const noted = vi.spyOn(ConnectionObject.prototype, "noteRefusal");
    expect((await submitted(ARK_PATH, headers)).status).toBe(status);
    // Only this refusal, at a time at which no other test has one, is reported, and one of the other would have been before.
    pass(minutes * MINUTE);
    outside.on("https://api.bfl.ai", answering({ detail: "Not authenticated" }, 403));
    await submitted("/v1/submit/bfl/v1/flux-dev");
    await until(() => noted.mock.calls.length > 0);
    expect(noted.mock.calls).toEqual([["key"]]);
    expect(outside.sentTo(OPERATOR_URL).filter(({ body }) => body.includes("ark"))).toEqual([]);
  },
);

it("the operator event index.lagging is sent, at most once an hour, when the cron finds tasks whose next work was due more than 10 minutes ago", async () => {
  const outside = receivers(200);
  await allowIndexAlert();
  const overdue = () => insert(aRow({ dueAt: Date.now() - 11 * MINUTE, expiresAt: null }));
  await cron(OPERATOR_BINDINGS);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  for (let n = 0; n < 2; n++) await overdue();
  await cron(OPERATOR_BINDINGS);
  expect(await operatorEvents(outside)).toEqual([
    { type: "index.lagging", timestamp: START_S, data: { overdue: 2, cause: "tasks_overdue" } },
  ]);
  pass(59 * MINUTE);
  await overdue();
  await cron(OPERATOR_BINDINGS);
  expect(outside.sentTo(OPERATOR_URL)).toHaveLength(1);
  pass(MINUTE);
  await overdue();
  await cron(OPERATOR_BINDINGS);
  expect(outside.sentTo(OPERATOR_URL)).toHaveLength(2);
});

it("the operator event index.full is sent, at most once an hour, when the cron finds that the index database has grown to 8 GB", async () => {
  const outside = receivers(200);
  await allowIndexAlert();
  await cronWith(7_999_999_999);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  await cronWith(8_000_000_000);
  await cronWith(8_000_000_000);
  expect(await operatorEvents(outside)).toEqual([
    {
      type: "index.full",
      timestamp: START_S,
      data: { bytes: 8_000_000_000, max_bytes: 10_000_000_000 },
    },
  ]);
  // An alert of another kind within the same hour is sent without a wait.
  const dueAt = START - 11 * MINUTE;
  await insert(aRow({ createdAt: dueAt, dueAt, expiresAt: null }));
  await cronWith(8_000_000_000);
  expect(outside.sentTo(OPERATOR_URL)).toHaveLength(2);
  pass(60 * MINUTE);
  await cronWith(8_000_000_000);
  expect(outside.sentTo(OPERATOR_URL)).toHaveLength(3);
});

it("on the Free plan the operator event index.full is sent when the index database has grown to 400 MB of the 500 MB that it may have there", async () => {
  const outside = receivers(200);
  await allowIndexAlert();
  await cronWith(399_999_999, "free");
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  await cronWith(400_000_000, "free");
  expect(await operatorEvents(outside)).toMatchObject([
    { type: "index.full", data: { bytes: 400_000_000, max_bytes: 500_000_000 } },
  ]);
});

it.each([
  ["fails", "paid", "count_failed", () => Promise.reject(new Error("D1_ERROR: disk is full"))],
  ["takes longer than the run has time", "paid", "count_slow", async () => pass(3 * MINUTE)],
  ["needs more queries than the plan has", "free", "count_slow", async () => undefined],
])(
  "the operator event index.lagging is sent once an hour, with the cause, when the cron's count of tasks by hour %s",
  async (_, PLAN, cause, fault) => {
    const outside = receivers(200);
    await allowIndexAlert();
    const hours = [0, 1, 2, 3, 4];
    await insert(...hours.map((hour) => aRow({ createdAt: Date.now() - hour * 60 * MINUTE })));
    const INDEX_DB = gated(db, async (sql) => {
      if (STORES_HOUR.test(sql)) await fault();
    });
    vi.setSystemTime(START - (START % (60 * MINUTE)) + 60 * MINUTE);
    for (let runs = 0; runs < 2; runs++) await cron({ ...OPERATOR_BINDINGS, INDEX_DB, PLAN });
    const events = await operatorEvents(outside);
    expect(events).toMatchObject([{ type: "index.lagging", data: { overdue: 0, cause } }]);
  },
);

it("during a pause of the relay the cron wakes no overdue task and sends no event index.lagging, because callbacks wait on purpose", async () => {
  const outside = receivers(200);
  await allowIndexAlert();
  await insert(aRow({ dueAt: Date.now() - 11 * MINUTE, expiresAt: null }));
  await cron({ ...OPERATOR_BINDINGS, PAUSED: "true" });
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
});

it("the operator event index.lagging is not sent when OPERATOR_CALLBACK_URL is not set", async () => {
  const outside = receivers(200);
  await insert(aRow({ dueAt: Date.now() - 11 * MINUTE, expiresAt: null }));
  await cron();
  expect(outside.sentTo("")).toEqual([]);
});

it("failed callbacks that wait to be reported to the operator in one event are dropped, with a log line, once OPERATOR_CALLBACK_URL is no longer set", async () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const outside = receivers(500);
  const host = `${crypto.randomUUID()}.example.net`;
  const digest = digestObject(env, host);
  await digest.noteFailedCallbacks(host, { failed: 1, tasks: ["task-1"] }, 60_000);
  pass(60_000);
  expect(await runDurableObjectAlarm(digest)).toBe(true);
  expect(outside.sentTo(OPERATOR_URL)).toEqual([]);
  const lines = warned.mock.calls.map(([line]) => JSON.parse(String(line)));
  const line = { event: "operator.dropped", type: "callback.failed", host, failed: 1 };
  expect(lines).toContainEqual(expect.objectContaining(line));
  expect(await runDurableObjectAlarm(digest)).toBe(false);
});

it("when the callbacks of 50 tasks to one host fail at the same time, two calls to a Durable Object store them all for one event to the operator", async () => {
  const host = `${crypto.randomUUID()}.example.net`;
  const ids = Array.from({ length: 50 }, () => crypto.randomUUID());
  const calls = vi.spyOn(DigestObject.prototype, "noteFailedCallbacks");
  const wait = vi.spyOn(scheduler, "wait").mockResolvedValue(undefined);
  const alerts = new Alerts(env, 10_000, (line) => line);
  const { signal } = new AbortController();
  const gathered = ids.map((id) => alerts.gather(host, id, 60_000, signal));
  expect(await Promise.all(gathered)).toEqual(ids.map(() => true));
  expect(calls).toHaveBeenCalledTimes(2);
  expect(wait).toHaveBeenCalledOnce();
  const digest = await runInDurableObject(digestObject(env, host), (_, { storage }) =>
    storage.kv.get("digest"),
  );
  expect(digest).toMatchObject({ failed: 50, tasks: expect.arrayContaining(ids) });
});

it("failed callbacks that could not be stored for one event to the operator about their host are stored when a task tries this again", async () => {
  const host = `${crypto.randomUUID()}.example.net`;
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const calls = vi.spyOn(DigestObject.prototype, "noteFailedCallbacks");
  calls.mockRejectedValue(new Error("Network connection lost."));
  vi.spyOn(scheduler, "wait").mockResolvedValue(undefined);
  const alerts = new Alerts(env, 10_000, (line) => line);
  const { signal } = new AbortController();
  const gather = (id: string) => alerts.gather(host, id, 60_000, signal);
  expect(await Promise.all(["a", "b", "c"].map(gather))).toEqual([false, false, true]);
  expect(warned).toHaveBeenCalled();
  calls.mockRestore();
  pass(60_000);
  expect(await gather("b")).toBe(true);
  const digest = await runInDurableObject(digestObject(env, host), (_, { storage }) =>
    storage.kv.get("digest"),
  );
  expect(digest).toMatchObject({ failed: 2, tasks: ["c", "b"] });
});
