import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { beforeAll, expect, it, vi } from "vitest";
import * as z from "zod";
import { aCharged, aKey, anAccount, breakLedger } from "./accounts.ts";
import { call, callWith, OPERATOR_KEY, post, OPERATOR_NAME, type Message } from "./client.ts";
import { START, START_S, until, useClock } from "./clock.ts";
import { useStatusLink } from "./links.ts";
import { attach, hooked, sendHook, readHooked } from "./hooked.ts";
import { restart, stored, untilIdle, wake } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { aReceiver, refused, status } from "./receiver.ts";
import { secretsOf } from "./secrets.ts";
import {
  aCompletion,
  aFailure,
  CALLBACK_URL,
  cancel,
  erase,
  redeliver,
  register,
  report,
  finish,
  VIDEO,
  completed,
} from "./tasks.ts";
import { loggedBy } from "./logged.ts";

useClock();

/** Text that is contained in everything that a client, an upstream or a receiver sends. */
const MARK = "planted-marker";
const SECRETS = [
  env.RELAY_SECRET,
  "trk_",
  "5ec2e7",
  OPERATOR_KEY,
  "test-only-older-operator-key",
  "v1,",
  "Bearer",
];

const ARK_KEY = "test-only-ark-key";

/** Console methods with which the relay writes each event. */
const LEVELS: Readonly<Record<string, string>> = {
  "task.register": "log",
  "task.completed": "log",
  "task.failed": "log",
  "task.redeliver": "log",
  "task.attach": "log",
  "task.hook": "log",
  "hook.ignored": "log",
  "hook.refused": "log",
  "upstream.poll": "warn",
  "provider.unauthorized": "warn",
  "task.cancel": "log",
  "task.erase": "log",
  "task.settled": "log",
  "account.create": "log",
  "key.create": "log",
  "secret.rotate": "log",
  "credits.grant": "log",
  "credits.adjustment": "log",
  "credits.charge": "log",
  "credits.refund": "warn or log",
  "callback.attempt": "warn or log",
  "callback.test": "log",
  "request.refused": "log or warn",
  "request.failed": "error",
  "alarm.failed": "error",
};

const Line = z.looseObject({ event: z.string(), version: z.string() });
/** Every log line with the console method that wrote it. */
const lines: { readonly level: string; readonly text: string }[] = [];
const hookTokens: string[] = [];
const statusTokens: string[] = [];

/** Returns the parsed lines whose event begins with this text. */
function linesOf(event: string): readonly Omit<z.output<typeof Line>, "version">[] {
  const parsed = lines.map(({ text }) => {
    const { version, ...line } = Line.parse(JSON.parse(text));
    expect(version).toBe(env.VERSION?.id);
    return line;
  });
  return parsed.filter((line) => line.event.startsWith(event));
}

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  for (const level of ["log", "info", "warn", "error", "debug"] as const) {
    vi.spyOn(console, level).mockImplementation((...args: readonly unknown[]) => {
      const text = args.map(String).join(" ");
      // Each warning is written once per isolate, so tests in other files may already have caused it.
      if (!text.includes('"config.warning"')) lines.push({ level, text });
    });
  }
  await useEverything();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** Makes the relay write every kind of log line, by requests that all contain `MARK`. */
async function useEverything(): Promise<void> {
  const edge = { status: 403, headers: { "Retry-After": "7200" } };
  const busy = () => new Response(`error code: 1020 ${MARK}`, edge);
  aReceiver(busy, refused, status(200, MARK));
  const callback_url = `${CALLBACK_URL}/${MARK}?token=${MARK}`;
  const labels = { parameters: { prompt: MARK }, metadata: { note: MARK }, model: MARK };
  const id = await register({ ...labels, callback_url });
  const output = { urls: [`https://cdn.example.net/a?sig=${MARK}`], metadata: { extra: MARK } };
  await post("/v1/events", aCompletion(id, { output }));
  await untilIdle(id);
  for (const wait of [180_000, 600_000]) await wake(id, wait);
  await call(`/v1/tasks/${id}?wait=${MARK}`);
  await call(`/v1/tasks/${MARK}?q=${MARK}`);
  await call(`/${MARK}?q=${MARK}`);
  await redeliver(id, "", { headers: { "Idempotency-Key": MARK } });
  await untilIdle(id);
  await report(aFailure(id, { error: { code: MARK, message: MARK } }));
  await report(aFailure(id, { status: MARK }));
  await post("/v1/tasks", { [MARK]: MARK });
  await post("/v1/tasks", `{"${MARK}`);
  await post("/v1/callbacks/test", { callback_url });
  await post("/v1/tasks", { model: MARK }, { key: MARK });
  await call("/v1/signing-secrets");
  await sendSignedEvent();
  await useCredits();
  await useHooks();
  const broken = { ...env, SIGNING_SECRETS: MARK };
  await callWith(broken, `/v1/tasks/${id}`);
  await restart(id, broken);
  await wake(id);
  await call(`/v1/tasks/${id}`);
  await restart(id);
  await erase(id);
  statusTokens.push(...(await useStatusLink()));
  const deadline_at = Math.floor(Date.now() / 1000) + 60;
  const late = await register({ deadline_at, callback_url: null });
  await wake(late, 60_000);
  await report(aCompletion(late));
}

async function useHooks(): Promise<void> {
  const outside = anOutside();
  outside.on("https://ark.", answering({ error: MARK }, 401));
  const bindings = { ...env, ARK_API_KEY: ARK_KEY };
  const task = await hooked({ provider: "ark", bindings, fields: { model: MARK } });
  hookTokens.push(task.hookUrl.split("/").at(-1) ?? "");
  await attach(task, `cgt-${MARK}`);
  const said = { id: `cgt-${MARK}`, status: "failed", error: { code: MARK, message: MARK } };
  await sendHook({ ...task, hookUrl: `${task.hookUrl}?q=${MARK}` }, JSON.stringify(said));
  await until(() => linesOf("provider.unauthorized").length > 0);
  await sendHook(task, `{"${MARK}`);
  await sendHook({ ...task, hookUrl: `${task.hookUrl}${MARK}` }, JSON.stringify(said));
  await until(() => linesOf("upstream.poll").length > 0);
  const other = await hooked({ provider: "vidu", fields: { model: MARK } });
  hookTokens.push(other.hookUrl.split("/").at(-1) ?? "");
  const ofOther = { id: MARK, payload: crypto.randomUUID(), state: MARK };
  await sendHook(other, JSON.stringify(ofOther));
}

async function useCredits(): Promise<void> {
  const account = await anAccount(10);
  const { key } = await aKey(account);
  await post(`/v1/accounts/${account}/grants`, { reference: MARK, amount: 1 });
  await post(`/v1/accounts/${account}/adjustments`, { reference: "a", amount: -1, reason: MARK });
  await post(`/v1/accounts/${account}/keys`, { label: MARK, sha256: "5ec2e7".padEnd(64, "0") });
  await call(`/v1/accounts/${account}?q=${MARK}`, { key });
  await call("/v1/accounts", { key });
  await call(`/v1/accounts/${MARK}`, { key: `trk_${MARK}_${"a".repeat(48)}` });
  await post(`/v1/accounts/${account}/signing-secrets`, "");
  const id = await aCharged(account, 4, { callback_url: null });
  const heal = await breakLedger(account);
  await cancel(id);
  await until(async () => (await stored(id)).alarm === Date.now() + 5000);
  heal();
  await wake(id, 5000);
}

async function sendSignedEvent(): Promise<void> {
  const { events } = await secretsOf();
  const body = JSON.stringify(aCompletion(crypto.randomUUID(), { model: MARK }));
  const headers = {
    "webhook-id": MARK,
    "webhook-timestamp": String(START_S + 780),
    "webhook-signature": new Webhook(events[0] ?? "").sign(MARK, new Date(Date.now()), body),
  };
  const response = await post("/v1/events", body, { key: null, headers });
  if (response.status !== 202) throw new Error(await response.text());
}

it("the log has one JSON object per line, and the field event of each has one of the expected names", () => {
  expect(new Set(linesOf("").map(({ event }) => event))).toEqual(new Set(Object.keys(LEVELS)));
});

it.each(Object.entries(LEVELS))(
  "the relay writes the log event %s by the console method %s and by no other",
  (event, levels) => {
    const written = lines.filter(({ text }) => Line.parse(JSON.parse(text)).event === event);
    expect(new Set(written.map(({ level }) => level))).toEqual(new Set(levels.split(" or ")));
  },
);

it("the relay logs delivered callback attempts, and requests refused with a status below 500, by console.log, and other attempts and refusals by console.warn", () => {
  for (const { level, text } of lines) {
    const line = Line.parse(JSON.parse(text));
    const isLog = level === "log";
    if (line.event === "callback.attempt") expect(isLog).toBe(line["outcome"] === "delivered");
    if (line.event === "request.refused") expect(isLog).toBe(Number(line["status"]) < 500);
  }
});

it("each callback attempt has one line in the log, with its number, host, outcome, cause, duration, Cloudflare's error code and Retry-After", () => {
  const attempts = linesOf("callback.attempt");
  expect(new Set(attempts.map((attempt) => attempt["task_id"])).size).toBe(1);
  expect(attempts).toMatchObject([
    { number: 1, outcome: "rejected", cloudflare_error: 1020, retry_after: "7200" },
    { number: 2, outcome: "unreachable", cause: "other", host: "client.example.net" },
    { number: 3, outcome: "delivered", status_code: 200, duration_ms: 0 },
    { number: 4, outcome: "delivered", status_code: 200, duration_ms: 0 },
  ]);
});

it("each charge or refund that the ledger is asked for has one line in the log, with task, account, amount and outcome", () => {
  const order = { task_id: expect.any(String), account: expect.any(String), amount: 4 };
  expect(linesOf("credits.").filter((line) => "task_id" in line)).toEqual([
    { event: "credits.charge", ...order, outcome: "charged" },
    { event: "credits.refund", ...order, outcome: "unknown", error: expect.any(String) },
    { event: "credits.refund", ...order, outcome: "refunded" },
  ]);
});

it("each hook and each poll has one line in the log, with task, connection and outcome, but not the token of a hook URL", () => {
  const line = { task_id: expect.any(String), connection: "ark" };
  const untaken = { task_id: expect.any(String), provider: "ark" };
  const ignored = { task_id: expect.any(String), provider: "vidu", reason: "other_task" };
  expect(linesOf("hook.ignored")).toEqual([{ event: "hook.ignored", ...ignored }]);
  expect(linesOf("").filter((one) => (one["connection"] ?? one["provider"]) === "ark")).toEqual([
    { event: "task.hook", ...line, status: "failed", outcome: "nudged" },
    { event: "provider.unauthorized", ...line },
    { event: "upstream.poll", ...line, purpose: "result", outcome: "unauthorized" },
    { event: "task.hook", ...line, unread: "malformed", outcome: "ignored" },
    { event: "hook.refused", ...untaken, reason: "bad_token" },
  ]);
});

it("when an event reports a success after the task's deadline, the log names the outcome late_result", () => {
  expect(linesOf("task.completed")).toContainEqual(
    expect.objectContaining({ outcome: "late_result" }),
  );
});

it("the log contains no payload, query string, URL, key or secret", () => {
  const log = lines.map(({ text }) => text).join("\n");
  expect([hookTokens.length, statusTokens.length]).toEqual([2, 2]);
  for (const word of [MARK, "?", ARK_KEY, ...hookTokens, ...statusTokens, ...SECRETS]) {
    expect(log).not.toContain(word);
  }
  expect(log).not.toMatch(/whsec_[A-Za-z0-9+/]/);
});

const NORMAL = { ...env, LOG: "normal", ARK_API_KEY: "test-only-ark-key" };

const SETTLED = {
  event: "task.settled",
  account: null,
  connection: null,
  status: "completed",
  failure: null,
  callback: "delivered",
  attempts: 1,
  series: 1,
  hooks: 0,
  polls: 0,
  refunded: null,
  released: null,
  open_ms: expect.any(Number),
  settling_ms: expect.any(Number),
  registered_by: OPERATOR_NAME,
  attached_by: null,
  reported_by: null,
};

it("without LOG=all, the log has one line for a task that a hook ends and whose callback is delivered", async () => {
  const outside = anOutside();
  const job = { id: "cgt-quiet", status: "succeeded", content: { video_url: VIDEO } };
  outside.on("https://ark.", answering(job));
  outside.on(CALLBACK_URL, answering({}));
  let id = "";
  const logged = await loggedBy(async () => {
    const task = await hooked({ provider: "ark", bindings: NORMAL });
    ({ id } = task);
    await attach(task, job.id);
    await sendHook(task, JSON.stringify({ ...job, status: "queued" }));
    await sendHook(task, JSON.stringify(job));
    await until(async () => (await readHooked(task)).status === "completed");
    await untilIdle(id);
    await sendHook(task, JSON.stringify(job));
  });
  expect(logged).toEqual([
    { ...SETTLED, task_id: id, connection: "ark", attached_by: OPERATOR_NAME, hooks: 1, polls: 1 },
  ]);
});

it("without LOG=all, the log has one line for each failed callback attempt, and a warning task.settled after the last attempt", async () => {
  aReceiver(status(500), refused, status(500));
  const id = await register();
  await restart(id, NORMAL);
  const logged = await loggedBy(async () => {
    await finish(aFailure(id));
    for (const wait of [180_000, 600_000]) await wake(id, wait);
  });
  expect(logged).toMatchObject([
    { event: "callback.attempt", number: 1, outcome: "rejected" },
    { event: "callback.attempt", number: 2, outcome: "unreachable" },
    {
      ...SETTLED,
      task_id: id,
      status: "failed",
      callback: "failed",
      attempts: 3,
      reported_by: OPERATOR_NAME,
    },
    { event: "callback.attempt", number: 3, outcome: "rejected" },
  ]);
});

it.each([
  ["a request for a path that does not exist", 0, "/wp-login.php", { key: null }],
  ["a request without a key", 0, "/v1/tasks", { key: null, body: {} }],
  ["a method that the path does not support", 0, "/v1/tasks", { key: null, method: "PUT" }],
  ["a hook URL that the relay did not make", 0, "/hooks/ark/x/y", { key: null, body: {} }],
  ["the operator's request with an invalid body", 1, "/v1/tasks", { body: {} }],
  ["the operator's request for an unknown task", 1, "/v1/tasks/x", {}],
])(
  "without LOG=all, the log has this many lines for %s: %i",
  async (_what, count, path, message) => {
    expect(await loggedBy(() => callWith(NORMAL, path, message))).toHaveLength(count);
  },
);

const ALICE_KEY = "tok_5d41402abc4b2a76b971";
const WITH_ALICE = { ...env, LOG: "normal", OPERATOR_KEYS: `all:alice=${ALICE_KEY}` };

/** The task, account or key that an order of the operator concerns. */
interface Subject {
  readonly account: string;
  readonly keyId: string;
  readonly open: string;
  readonly settled: string;
}

type Order = (subject: Subject) => readonly [path: string, message: Message, line: object];

const count = { woken: 1, unknown: 0, failed: 0 };
const grant = { reference: "g", amount: 5 };
const adjustment = { reference: "a", amount: -5, reason: "private" };

/** Orders of the operator by the event of their log line: the request, and the fields of the line. */
const ORDERS: Readonly<Record<string, Order>> = {
  "task.cancel": ({ open }) => [`/v1/tasks/${open}/cancel`, { body: {} }, { task_id: open }],
  "task.redeliver": ({ settled }) => [
    `/v1/tasks/${settled}/redeliver`,
    { body: {} },
    { task_id: settled },
  ],
  "task.erase": ({ settled }) => [
    `/v1/tasks/${settled}`,
    { method: "DELETE" },
    { task_id: settled, outcome: "erased" },
  ],
  "tasks.wake": ({ open }) => ["/v1/wake", { body: { ids: [open] } }, count],
  "credits.grant": ({ account }) => [
    `/v1/accounts/${account}/grants`,
    { body: grant },
    { account, amount: 5, outcome: "booked" },
  ],
  "credits.adjustment": ({ account }) => [
    `/v1/accounts/${account}/adjustments`,
    { body: adjustment },
    { account, amount: -5, outcome: "booked" },
  ],
  "account.create": () => ["/v1/accounts", { body: { id: "new-one" } }, { account: "new-one" }],
  "account.delete": ({ account }) => [
    `/v1/accounts/${account}?force=true`,
    { method: "DELETE" },
    { account },
  ],
  "key.create": ({ account }) => [
    `/v1/accounts/${account}/keys`,
    { body: { label: "private" } },
    { account, key_id: expect.stringMatching(/^[\da-f-]{36}$/) },
  ],
  "key.revoke": ({ account, keyId }) => [
    `/v1/accounts/${account}/keys/${keyId}`,
    { method: "DELETE" },
    { account, key_id: keyId },
  ],
  "secret.rotate": ({ account }) => [
    `/v1/accounts/${account}/signing-secrets`,
    { body: {} },
    { account, generation: 2 },
  ],
  "callback.test": () => [
    "/v1/callbacks/test",
    { body: { callback_url: "https://client.example.net/hook" } },
    { outcome: "delivered" },
  ],
};

it.each(Object.entries(ORDERS))(
  "without LOG=all, an operator's request that changes something or tests a callback has one log line, with the event %s and the label of the operator's key",
  async (event, order) => {
    aReceiver();
    const account = await anAccount();
    const { id: keyId } = await aKey(account);
    const [open, settled] = [await register(), await completed()];
    await untilIdle(settled);
    for (const id of [open, settled]) await restart(id, WITH_ALICE);
    const [path, message, line] = order({ account, keyId, open, settled });
    const logged: string[] = [];
    const write = (text: string) => void logged.push(text);
    for (const level of ["log", "warn", "error"] as const) {
      vi.spyOn(console, level).mockImplementation(write);
    }
    const response = await callWith(WITH_ALICE, path, { ...message, key: ALICE_KEY });
    vi.restoreAllMocks();
    expect(response.ok).toBe(true);
    const ofOrder = logged.filter((text) => text.includes(`"event":"${event}"`));
    expect(ofOrder.map((text) => JSON.parse(text))).toMatchObject([
      { event, by: "alice", ...line },
    ]);
    expect(ofOrder.join()).not.toMatch(/private|tok_/);
  },
);

it("a redelivery that an account has ordered is logged with the name of the account's API key, which GET of the task shows only to the operator", async () => {
  aReceiver();
  const account = await anAccount();
  const { key, name } = await aKey(account);
  const id = await completed({ account });
  const written = vi.spyOn(console, "log");
  expect((await redeliver(id, {}, { key })).status).toBe(202);
  await untilIdle(id);
  const parsed = written.mock.calls.map(([line]) => JSON.parse(String(line)));
  const line = { event: "task.redeliver", task_id: id, by: name };
  expect(parsed.filter(({ event }) => event === line.event)).toMatchObject([line]);
  const shown = async (message: Message) =>
    (await (await call(`/v1/tasks/${id}`, message)).text()).match(/"ordered_by":"\w+"/g);
  expect(await shown({})).toEqual([`"ordered_by":"${name}"`]);
  expect(await shown({ key })).toBeNull();
});
