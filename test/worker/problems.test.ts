import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { type ProblemCode, PROBLEMS } from "../../src/api/http/problem-list.ts";
import { BODY_DEADLINE_MS } from "../../src/api/http/body.ts";
import { DESCRIPTIONS } from "../../src/api/routes.openapi.ts";
import { aKey, anAccount, change, priced } from "./accounts.ts";
import { call, callWith, OPERATOR_KEY, ORIGIN, post, ProblemBody, refusal } from "./client.ts";
import { evict, expectUnchanged, failing, stubOf } from "./objects.ts";
import { aRateLimit } from "./rate-limits.ts";
import { aReceiver, status } from "./receiver.ts";
import {
  aCompletion,
  aFailure,
  cancel,
  completed,
  erase,
  redeliver,
  register,
  report,
} from "./tasks.ts";
import { putEndpoint } from "./endpoints.ts";
import { aBook, OFFER, putOffer } from "./offers.ts";
import { aQueuedRelay, members } from "./queued-relay.ts";
import { anArk, ARK, ARK_PATH, BINDINGS, named, submit } from "./submitted.ts";
import { holdTimers } from "./timers.ts";
import { START, START_S, useClock } from "./clock.ts";
import { started } from "./started.ts";
import { outputLink } from "../../src/security/output-link.ts";

useClock();

/** Codes with which any route may answer, because of authentication, body, rate limits or platform. */
const COMMON: readonly ProblemCode[] = [
  "invalid_json",
  "invalid_request",
  "unauthenticated",
  "forbidden",
  "not_found",
  "method_not_allowed",
  "payload_too_large",
  "rate_limited",
  "internal_error",
  "not_configured",
  "stored_by_earlier_build",
  "unavailable",
];

async function keyReused(): Promise<Response> {
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  await post("/v1/tasks", { model: "a" }, { headers });
  return post("/v1/tasks", { model: "b" }, { headers });
}

/** Cancels a task whose submission the upstream has not answered yet, and then lets it answer. */
async function cancelSending(): Promise<Response> {
  const { id, headers } = named();
  const answer = Promise.withResolvers<Response>();
  const outside = anArk(() => answer.promise);
  const submission = submit({ headers });
  await expect.poll(() => outside.sentTo(ARK)).toHaveLength(1);
  const refused = await callWith(BINDINGS, `/v1/tasks/${id}/cancel`, { body: "" });
  answer.resolve(Response.json({ id: "cgt-1" }));
  await submission;
  return refused;
}

/** Asks for the upstream's answer to a submission that was canceled before there was one. */
async function answerOfCanceled(): Promise<Response> {
  const { id, headers } = named();
  await submit({ headers });
  await callWith(BINDINGS, `/v1/tasks/${id}/cancel?force=true`, { body: "" });
  return callWith(BINDINGS, `/v1/tasks/${id}/answer`);
}

/** Cancels, as an account, a task that the operator has registered for it. */
async function cancelAsAccount(): Promise<Response> {
  const account = await anAccount();
  const id = await register({ account });
  const { key } = await aKey(account);
  return post(`/v1/tasks/${id}/cancel`, "", { key });
}

async function forbidden(): Promise<Response> {
  const { key } = await aKey(await anAccount());
  return post("/v1/tasks", { model: "m" }, { key });
}

async function bodyThatNeverEnds(): Promise<Response> {
  const passTime = holdTimers(BODY_DEADLINE_MS);
  const { readable: body } = new TransformStream<Uint8Array, Uint8Array>();
  const answer = submit({ body });
  await expect.poll(() => body.locked).toBe(true);
  passTime();
  return answer;
}

async function referenceReused(): Promise<Response> {
  const path = `/v1/accounts/${await anAccount()}/grants`;
  await post(path, { reference: "order 7", amount: 1 });
  return post(path, { reference: "order 7", amount: 2 });
}

/** Stores a record that the object of the task cannot read at its next start. */
async function unreadable(v = 2): Promise<string> {
  const id = await register();
  await runInDurableObject(stubOf(id), (_, { storage }) => storage.kv.put("task", { v }));
  await evict(id);
  return id;
}

const overloaded = () =>
  Object.assign(new Error("Durable Object is overloaded."), { overloaded: true });

const HOOK = { body: {}, key: null };

const PROVOKED = {
  invalid_json: () => post("/v1/tasks", "{"),
  invalid_request: () => post("/v1/tasks", {}),
  unauthenticated: () => post("/v1/tasks", { model: "m" }, { key: null }),
  forbidden,
  insufficient_credits: async () => post("/v1/tasks", priced(await anAccount(), 1)),
  monthly_limit: async () => {
    const account = await anAccount(1);
    await change(account, { monthly_limit: 0 });
    return post("/v1/tasks", priced(account, 1));
  },
  not_found: () => call("/v1"),
  unknown_task: () => call(`/v1/tasks/${crypto.randomUUID()}`),
  method_not_allowed: () => call("/v1/events"),
  task_exists: async () => post("/v1/tasks", { id: await register(), model: "other" }),
  task_open: async () => redeliver(await register()),
  task_settled: async () => cancel(await completed()),
  reference_reused: referenceReused,
  conflicting_result: async () => report(aFailure(await completed())),
  series_running: async () => redeliver(await completed()),
  submission_running: cancelSending,
  not_cancelable: cancelAsAccount,
  body_timeout: bodyThatNeverEnds,
  prefer_required: () => submit({ path: "/v1/submit/newapi/v1/images/edits" }),
  length_required: () => upload(OPERATOR_KEY, {}),
  not_offered: async () => {
    const { key } = await aKey(await anAccount());
    const OFFERS = '[{"connection": "replicate", "models": ["*"]}]';
    return upload(key, { "Content-Length": "1" }, { ...BINDINGS, OFFERS });
  },
  submit_unknown: () => submit({ headers: named().headers }),
  task_failed: answerOfCanceled,
  no_callback: async () => redeliver(await completed({ callback_url: null })),
  output_gone: expiredLink,
  payload_too_large: () => post("/v1/tasks", " ".repeat(256 * 1024 + 1)),
  output_needs_store: () =>
    submit({ path: "/v1/submit/fal/fal-ai/flux/dev", body: '{"sync_mode": true}' }),
  idempotency_key_reused: keyReused,
  rate_limited: () => callWith({ ...env, LIMIT_REFUSALS: aRateLimit(0) }, "/hooks/ark/x/y", HOOK),
  connection_busy: async () => {
    const { names, bindings } = await aQueuedRelay({ a: { in_flight: 1 } });
    members();
    const path = `/v1/submit/${names[0]}${ARK_PATH}`;
    await submit({ path, bindings });
    return submit({ path, bindings });
  },
  queue_full: async () => {
    const { names, bindings } = await aQueuedRelay({ a: { in_flight: 1, queue: 0 } });
    const path = `/v1/submit/${names[0]}${ARK_PATH}`;
    const headers = { Prefer: "respond-async" };
    await submit({ path, bindings, headers });
    return submit({ path, bindings, headers });
  },
  unknown_endpoint: () => post("/v1/tasks", { model: "m", callback_url: "endpoint:none" }),
  endpoints_full: async () => {
    const account = await anAccount();
    const names = Array.from({ length: 21 }, (_, number) => `e-${number}`);
    const answers = await Promise.all(names.map((name) => putEndpoint(name, {}, { account })));
    return answers.find((answer) => answer.status === 409) ?? Response.error();
  },
  host_paused: async () => {
    const path = "/v1/hosts/paused.example.net/pause";
    await call(path, { method: "PUT", body: {} });
    const answer = await post("/v1/callbacks/test", { callback_url: "https://paused.example.net" });
    await call(path, { method: "DELETE" });
    return answer;
  },
  pauses_full: async () => {
    const stub = env.DEPLOYMENT.getByName("deployment");
    const keys = Array.from({ length: 200 }, (_, n) => `pause:${n}.example.net`);
    await runInDurableObject(stub, (_, { storage }) => {
      for (const key of keys)
        storage.kv.put(key, { host: key.slice(6), until: Date.now() + 1_000 });
    });
    const answer = await call("/v1/hosts/a.example.net/pause", { method: "PUT", body: {} });
    await runInDurableObject(stub, (_, { storage }) => {
      for (const key of keys) storage.kv.delete(key);
    });
    return answer;
  },
  offers_in_configuration: async () => putOffer({ ...BINDINGS, OFFERS: "[]" }, "video"),
  offers_full: async () => {
    const { bindings, stub } = aBook();
    await runInDurableObject(stub, (_, { storage }) => {
      storage.kv.put("totals", { revision: 0, offers: 5_000, bytes: 0, deleted: 0, forgotten: 0 });
    });
    return putOffer(bindings, "video");
  },
  offer_changed: async () =>
    putOffer(aBook().bindings, "video", OFFER, { headers: { "If-Match": '"1"' } }),
  internal_error: async () => call(`/v1/tasks/${await unreadable()}`),
  index_disabled: () => call("/v1/accounts"),
  not_configured: async () => callWith({ ...env, PAUSED: "?" }, "/v1/signing-secrets"),
  stored_by_earlier_build: async () => call(`/v1/tasks/${await unreadable(1)}`),
  unavailable: async () => callWith(failing(overloaded()), `/v1/tasks/${crypto.randomUUID()}`),
} satisfies Record<ProblemCode, () => Promise<Response>>;

/** Uploads a file with these headers. */
function upload(
  key: string,
  headers: Readonly<Record<string, string>>,
  bindings: object = BINDINGS,
): Promise<Response> {
  const body = new TransformStream<Uint8Array, Uint8Array>().readable;
  return callWith(bindings, "/v1/submit/replicate/v1/files", { body, key, headers });
}

/** Opens a link to an output that has expired. */
async function expiredLink(): Promise<Response> {
  const { runtime } = (await started(env)).startup;
  if (!runtime.ok) throw new Error("the configuration is not valid");
  const life = { expiresAtS: START_S, recordedAt: START };
  const output = { taskId: crypto.randomUUID(), number: 1, ...life, extension: "mp4" };
  const link = outputLink(output, ORIGIN, runtime.value.keyring.outputKeys);
  return call(link, { key: null });
}

/** Returns requests that need the record of the task. */
function requestsFor(id: string): readonly (() => Promise<Response>)[] {
  return [
    () => call(`/v1/tasks/${id}`),
    () => report(aCompletion(id, { model: "m" })),
    () => post("/v1/tasks", { id, model: "m" }),
    () => redeliver(id),
    () => cancel(id),
    () => post(`/v1/tasks/${id}/upstream`, { provider: "ark", id: "cgt-1" }),
    () => erase(id),
  ];
}

const WITH_ISSUES: readonly string[] = ["output_needs_store", "unknown_endpoint"];
const WITH_RETRY: readonly string[] = [
  "connection_busy",
  "queue_full",
  "rate_limited",
  "submission_running",
];
const CONFLICTS: readonly string[] = [
  "submission_running",
  "not_cancelable",
  "submit_unknown",
  "task_exists",
  "task_failed",
  "task_open",
  "task_settled",
  "conflicting_result",
  "series_running",
  "no_callback",
];

it.each(Object.entries(PROVOKED))(
  "an error response with the code %s has the status and title that the table of error codes lists for it, and the members and headers that belong to the code",
  async (code, provoke) => {
    aReceiver(status(500));
    const response = await provoke();
    const body = ProblemBody.parse(await response.json());
    const known = Object.entries(PROBLEMS).find(([each]) => each === code)?.[1];
    expect(body).toMatchObject({
      type: `${ORIGIN}/docs/errors#${code}`,
      title: known?.title,
      detail: expect.stringMatching(/./),
      status: known?.status,
      code,
    });
    expect(response.status).toBe(known?.status);
    expect({
      task: "task" in body,
      issues: "issues" in body,
      challenge: response.headers.has("WWW-Authenticate"),
      allow: response.headers.has("Allow"),
      retryAfter: response.headers.has("Retry-After"),
      requestId: response.headers.has("X-Request-Id"),
      type: response.headers.get("Content-Type"),
    }).toEqual({
      task: CONFLICTS.includes(code) || code === "idempotency_key_reused",
      issues: code.startsWith("invalid_") || WITH_ISSUES.includes(code),
      challenge: response.status === 401,
      allow: response.status === 405,
      retryAfter: WITH_RETRY.includes(code) || response.status === 503,
      requestId: true,
      type: expect.stringMatching(/^application\/problem\+json/),
    });
    const own = Object.values(DESCRIPTIONS).flatMap(({ problems }) => problems);
    const listed: readonly string[] = [...COMMON, ...own];
    expect(listed).toContain(code);
  },
);

it.each([
  ["20 unknown fields", 20, {}],
  ["21 unknown fields", 21, { more_issues: 1 }],
  ["5,000 unknown fields", 5_000, { more_issues: 4_980 }],
])(
  "the error response to a body with %s names at most 20 of the wrong fields, and counts the others in more_issues",
  async (_, count, more) => {
    const fields = Array.from({ length: count }, (__, i) => [`field-${i}`, 1]);
    const response = await post("/v1/tasks", { model: "m", ...Object.fromEntries(fields) });
    const {
      issues,
      type: _type,
      title: _title,
      detail: _detail,
      ...rest
    } = ProblemBody.parse(await response.json());
    expect(rest).toEqual({ status: 400, code: "invalid_request", ...more });
    expect(issues).toEqual(
      Array.from({ length: 20 }, (__, i) => ({ path: `/field-${i}`, message: "Unknown field" })),
    );
  },
);

it("a task whose stored record cannot be read stays unchanged; requests about it get 500, and events about it 503, without details", async () => {
  const id = await unreadable();
  await expectUnchanged(id, async () => {
    const statuses: number[] = [];
    for (const send of requestsFor(id)) {
      const response = await send();
      statuses.push(response.status);
      expect(await response.text()).not.toMatch(/unreadable|zod|stack/i);
    }
    expect(statuses).toEqual([500, 503, 500, 500, 500, 500, 500]);
  });
});

it("a task whose record a later release of the relay has written stays unchanged, and requests about it get 503", async () => {
  const id = await unreadable(3);
  await expectUnchanged(id, async () => {
    for (const send of requestsFor(id)) {
      const response = await send();
      expect(response.headers.get("Retry-After")).toBe("2");
      expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
    }
  });
});

it("a task whose record a build before 1.0.0 has written stays unchanged, and requests about it get 503 stored_by_earlier_build with the remedy", async () => {
  const id = await unreadable(1);
  await expectUnchanged(id, async () => {
    for (const send of requestsFor(id)) {
      const response = await send();
      expect(response.headers.get("Retry-After")).toBe("60");
      const { code, detail } = ProblemBody.parse(await response.json());
      expect([response.status, code]).toEqual([503, "stored_by_earlier_build"]);
      expect(detail).toContain("under a fresh name");
    }
  });
});
