import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { pass, until, useClock } from "./clock.ts";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { restart, rowsOf, stored, stubOf, wake } from "./objects.ts";
import { anOutside, answering, type Outside, type Site } from "./outside.ts";
import { never } from "./receiver.ts";
import { aCompletion, CALLBACK_URL, report } from "./tasks.ts";
import { holdTimers } from "./timers.ts";

useClock();

const ARK = "https://ark.cn-beijing.volces.com/api/v3/contents/generations/tasks/cgt-1";
const KEYED = { ...env, ARK_API_KEY: "test-only-ark-key" };
const RUNNING = { id: "cgt-1", status: "running" };
const Answered = z.looseObject({
  tracking: z.looseObject({ poll: z.looseObject({ answer: z.looseObject({ kind: z.string() }) }) }),
});
const DONE = {
  id: "cgt-1",
  status: "succeeded",
  content: { video_url: "https://cdn.example.net/ark.mp4" },
};

function anArk(site: Site): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on("https://ark.", site);
  return outside;
}

/** Registers a task and attaches a job that the relay may poll. */
async function pollable(bindings: object = KEYED, fields: object = {}) {
  const task = await hooked({ provider: "ark", bindings, fields });
  await attach(task, "cgt-1");
  return task;
}

/** Moves the clock to the next alarm and runs it; returns how far ahead it was. */
async function nextAlarm(id: string): Promise<number> {
  const waitMs = ((await stored(id)).alarm ?? NaN) - Date.now();
  await wake(id, waitMs);
  return waitMs;
}

it("a poll of a provider is one GET request that accepts JSON, has the configured key, and follows no redirect", async () => {
  const outside = anArk(answering(RUNNING));
  const { id } = await pollable();
  await nextAlarm(id);
  await restart(id, { ...env, ARK_API_KEY: "test-only-newer-key" });
  await nextAlarm(id);
  const request = { method: "GET", url: ARK, redirect: "manual" };
  expect(outside.sentTo("https://")).toMatchObject([
    { ...request, headers: { authorization: "Bearer test-only-ark-key" } },
    {
      ...request,
      headers: { authorization: "Bearer test-only-newer-key", accept: "application/json" },
    },
  ]);
});

it.each(["1", "24"])(
  "a poll without a response is aborted after 10 s, before the task's next alarm, whatever CALLBACK_TIMEOUT_S is (%s s)",
  async (CALLBACK_TIMEOUT_S) => {
    const expire = holdTimers(10_000);
    const signals: AbortSignal[] = [];
    anArk((_, signal) => {
      signals.push(signal);
      return never(signal);
    });
    const { id } = await pollable({ ...KEYED, CALLBACK_TIMEOUT_S });
    pass(((await stored(id)).alarm ?? NaN) - Date.now());
    await stubOf(id).wake();
    await until(() => signals.length === 1);
    const { alarm } = await stored(id);
    expect(alarm).toBeGreaterThan(Date.now() + 10_000);
    // A timer belongs to the object that has set it.
    await runInDurableObject(stubOf(id), () => expire());
    expect(signals[0]?.aborted).toBe(true);
    await until(async () => (await stored(id)).alarm !== alarm);
  },
);

it("the first poll that finds a job running writes two rows to its task's storage, and each later one only the row of the next alarm", async () => {
  anArk(answering(RUNNING));
  const { id } = await pollable();
  const rows = await rowsOf(id);
  const counted: number[] = [];
  for (let polls = 0; polls < 3; polls++) {
    await nextAlarm(id);
    counted.push(rows());
  }
  expect(counted).toEqual([2, 3, 4]);
});

it.each<[string, Site]>([
  ["status 500", answering(DONE, 500)],
  ["a redirect", answering(DONE, 302, { Location: "https://elsewhere.example.net" })],
  ["HTML", () => new Response("<html>")],
  ["an empty body", () => new Response(null)],
  ["JSON of more than 8 MiB", answering({ ...DONE, padding: "x".repeat(8_388_608) })],
  ["a refused connection", () => Promise.reject(new Error("connection refused"))],
  ["an unknown state", answering({ ...DONE, status: "dreamt" })],
  ["status 404", answering({ error: { code: "NotFound" } }, 404)],
  ["status 401", answering(DONE, 401)],
  ["the state of another job", answering({ ...DONE, id: "cgt-2" })],
])(
  "a poll that gets %s from the provider leaves the task open, and is repeated",
  async (_, site) => {
    const outside = anArk(site);
    const task = await pollable();
    await nextAlarm(task.id);
    expect(await readHooked(task)).toMatchObject({ status: "pending" });
    expect(outside.sentTo("https://").map(({ url }) => url)).toEqual([ARK]);
    outside.on("https://ark.", answering(DONE));
    expect(await nextAlarm(task.id)).toBeLessThanOrEqual(60_000);
    expect(await readHooked(task)).toMatchObject({ status: "completed" });
    await until(() => outside.sentTo(CALLBACK_URL).length === 1);
  },
);

const FAL = "fal-ai/kling-video/v2/master/text-to-video";
const TIMED_OUT = { error: "Request timed out", error_type: "request_timeout" };

it.each<[string, number, string, string, object]>([
  ["completed with an error", 504, "fails the task", "failed", TIMED_OUT],
  ["completed with an error", 403, "fails the task", "failed", TIMED_OUT],
  ["completed with an error", 429, "fails the task", "failed", TIMED_OUT],
  ["completed without an error", 503, "counts as unanswered", "unanswered", {}],
  ["completed without an error", 403, "counts as not understood", "unclear", {}],
])(
  "when fal states that a job is %s, and answers the request for its result with HTTP %i, the poll %s",
  async (_, httpStatus, _does, expected, error) => {
    const outside = anOutside();
    outside.on(CALLBACK_URL, answering("thank you"));
    outside.on("https://queue.fal.run/", ({ url }) =>
      url.endsWith("/status")
        ? Response.json({ status: "COMPLETED", ...error })
        : new Response("<html>", { status: httpStatus }),
    );
    const bindings = { ...env, FAL_KEY: "test-only-fal-key" };
    const task = await hooked({ provider: "fal", bindings });
    await attach(task, "req-1", FAL);
    await nextAlarm(task.id);
    const { status } = await readHooked(task);
    const { record } = await stored(task.id);
    const kind = Answered.safeParse(record).data?.tracking.poll.answer.kind;
    expect(status === "pending" ? (kind ?? "unanswered") : status).toBe(expected);
  },
);

it("a poll that hangs is aborted when an event ends its task, and does not delay the callback", async () => {
  let isAborted = false;
  const outside = anArk((_, signal) => {
    signal.addEventListener("abort", () => (isAborted = true));
    return never(signal);
  });
  const { id } = await pollable();
  const polling = nextAlarm(id);
  await until(() => outside.sentTo(ARK).length === 1);
  const { status } = await report(aCompletion(id));
  expect({ status, isAborted }).toEqual({ status: 202, isAborted: true });
  await until(() => outside.sentTo(CALLBACK_URL).length === 1);
  await polling;
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it.each([
  [429, "has Retry-After: 90", "90 to 108 s", "90", 90, 108],
  [429, "has Retry-After: 86400", "an hour to 72 min", "86400", 3_600, 4_320],
  [429, "has Retry-After: 1", "the usual wait", "1", 60, 60],
  [429, "has Retry-After: soon", "the usual wait", "soon", 60, 60],
  [429, "has no Retry-After", "the usual wait", null, 60, 60],
  [503, "has Retry-After: 90", "90 to 108 s", "90", 90, 108],
  [503, "has Retry-After: 86400", "an hour to 72 min", "86400", 3_600, 4_320],
  [503, "has Retry-After: soon", "the usual wait", "soon", 60, 60],
  [503, "has no Retry-After", "the usual wait", null, 60, 60],
])(
  "when the response of a provider to a poll is a %i that %s, the poll is repeated after %s",
  async (httpStatus, _header, _wait, value, leastS, mostS) => {
    const headers: Record<string, string> = value === null ? {} : { "Retry-After": value };
    anArk(answering({}, httpStatus, headers));
    const { id } = await pollable();
    await nextAlarm(id);
    const waitMs = await nextAlarm(id);
    expect(waitMs).toBeGreaterThanOrEqual(leastS * 1_000);
    expect(waitMs).toBeLessThanOrEqual(mostS * 1_000);
  },
);

it.each([429, 503])(
  "when a poll gets %i with a date in Retry-After, the next poll comes at that date, or later by at most a fifth of the wait",
  async (httpStatus) => {
    anArk(() => {
      const at = new Date(Date.now() + 120_000).toUTCString();
      return Response.json({}, { status: httpStatus, headers: { "Retry-After": at } });
    });
    const { id } = await pollable();
    await nextAlarm(id);
    const waitMs = await nextAlarm(id);
    expect(waitMs).toBeGreaterThan(118_000);
    expect(waitMs).toBeLessThanOrEqual(144_000);
  },
);

const KEY = "ark-7f3c-test-only-key";
const Failed = z.looseObject({ error: z.object({ code: z.string(), message: z.string() }) });

interface UpstreamFailure {
  readonly code?: string;
  readonly message: string;
  readonly state?: string;
}

function arkTask({ code = "InternalServiceError", message, state = "failed" }: UpstreamFailure) {
  return { id: "cgt-1", status: state, error: { code, message } };
}

/** Lets Ark report a failure by a hook or by a poll; returns what the client and the operator read. */
async function failedTask(failure: UpstreamFailure, vars: object = {}, isPolled = false) {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  const bindings = { ...env, ...(isPolled && { ARK_API_KEY: KEY }), ...vars };
  const task = await hooked({ provider: "ark", bindings });
  const message = failure.message.replaceAll("HOOK_URL", task.hookUrl);
  outside.on("https://ark.", answering(arkTask({ ...failure, message })));
  await attach(task, "cgt-1");
  const response = await sendHook(task, JSON.stringify(arkTask({ ...failure, message })));
  if (response.status !== 200) throw new Error(await response.text());
  await until(() => outside.sentTo(CALLBACK_URL).length === 1);
  const [{ body } = { body: "" }] = outside.sentTo(CALLBACK_URL);
  const callback = Failed.parse(JSON.parse(body));
  return { callback, task: Failed.parse(await readHooked(task)), body };
}

describe.each([
  ["hook", false],
  ["poll", true],
])("the error text of a failure that a %s reports", (source, isPolled) => {
  it(`the client gets the error text that the provider reports by ${source}, but without signatures, secrets and the hook URL`, async () => {
    const message =
      'No https://tos.example.com/a.png?X-Sig=abcdef from HOOK_URL, api_key="abcdef0123456789"';
    const { callback, task } = await failedTask({ message }, {}, isPolled);
    expect(callback.error).toEqual({
      code: "upstream_error",
      message:
        'No https://tos.example.com/a.png from https://relay.example.com/hooks/ark/… api_key="…"',
    });
    expect(task.error).toEqual(callback.error);
  });

  it(`with ERROR_TEXT=generic, the callback about a failure reported by ${source} has a general text; the task still shows the category of the failure`, async () => {
    const failure = { code: "OutputVideoSensitiveContentDetected", message: "Nudity in frame 7" };
    const { callback, task, body } = await failedTask(failure, { ERROR_TEXT: "generic" }, isPolled);
    const message = "The upstream reported a failure.";
    expect(callback.error).toEqual({ code: "upstream_error", message });
    expect(body).not.toMatch(/Nudity|Sensitive/);
    expect(task["failure"]).toEqual({ category: "moderation", retryable: false });
  });
});

it("the error text of a failed task never contains the relay's key for the provider", async () => {
  const { body } = await failedTask({ message: `Access denied for ${KEY}!` }, {}, true);
  expect(body).toContain("Access denied for …!");
  expect(body).not.toContain(KEY);
});

it("the failure category of a task is in GET /v1/tasks/{id}, and not in the callback", async () => {
  const { callback, task } = await failedTask({ code: "RateLimitExceeded", message: "Slow down" });
  expect(task["failure"]).toEqual({ category: "rate_limited", retryable: true });
  const members = ["created_at", "error", "id", "model", "status"];
  expect(Object.keys(callback).toSorted()).toEqual(members);
});
