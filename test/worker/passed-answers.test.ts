import { runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { MAX_READ_MS, MAX_UNREAD_MS } from "../../src/lib/stream.ts";
import { aKey, anAccount, balanceOf } from "./accounts.ts";
import { aRequest, callWith, refusal } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { lose, withTasks } from "./lost-calls.ts";
import { restart, wake } from "./objects.ts";
import { answering, type Site } from "./outside.ts";
import { isolateOf, lastPassing, loseNextPassing } from "./isolates.ts";
import { answerFrom } from "./started.ts";
import { anArk, BINDINGS, named, readSubmitted, submit } from "./submitted.ts";
import { holdTimers } from "./timers.ts";

useClock();

const VIDEOS = "https://videos.example.org";
const KEY = BINDINGS.OPENAI_VIDEOS_API_KEY;
const PATH = "/v1/submit/openai-videos/v1/images/generations";
const BODY = JSON.stringify({ model: "gpt-image-1", prompt: "a fox" });
const PRICE = 7;
const OFFERED = {
  ...BINDINGS,
  OFFERS: JSON.stringify([
    { connection: "openai-videos", models: ["*"], price: { credits: PRICE } },
  ]),
};
const PICTURE = "https://cdn.example.net/fox.png";
const MIB = 1024 * 1024;
/** The default of `SUBMIT_TIMEOUT_S`. */
const SUBMIT_TIMEOUT_MS = 90_000;

const Unknown = z.object({
  code: z.string(),
  task: z.looseObject({ id: z.string(), status: z.string() }),
});

const answerOf = (bytes: number, more: object = {}) =>
  JSON.stringify({ data: [{ url: PICTURE }], ...more, note: "x".repeat(bytes) });

/** Submits a call for pictures, with a new task. */
async function paint(site: Site, bindings: object = BINDINGS) {
  const outside = anArk();
  outside.on(VIDEOS, site);
  const { id, headers } = named();
  const response = await submit({ path: PATH, body: BODY, headers, bindings });
  return { outside, id, headers, response };
}

/** Does the same, and leaves the answer unread. */
async function begin(site: Site) {
  anArk().on(VIDEOS, site);
  const { id, headers } = named();
  await restart(id, BINDINGS);
  const request = aRequest(PATH, { body: BODY, headers });
  return { id, response: await answerFrom(await isolateOf(BINDINGS), request) };
}

/** An upstream that sends each part of its answer when the test says so, and after the last part ends the answer. */
function aSlowUpstream(...parts: readonly string[]) {
  const gates = parts.map(() => Promise.withResolvers<void>());
  const site: Site = () => {
    const { readable, writable } = new IdentityTransformStream();
    void sendParts(writable.getWriter());
    return new Response(readable, { headers: { "Content-Type": "application/json" } });
  };
  const sendParts = async (writer: WritableStreamDefaultWriter<Uint8Array>) => {
    for (const [at, part] of parts.entries()) {
      await gates[at]?.promise;
      await writer.write(new TextEncoder().encode(part));
    }
    await writer.close();
  };
  return { site, send: (at: number) => gates[at]?.resolve() };
}

/** An upstream that breaks its answer off after this part. */
const breakingOff =
  (part: string): Site =>
  () => {
    const { readable, writable } = new IdentityTransformStream();
    const writer = writable.getWriter();
    void writer.write(new TextEncoder().encode(part)).then(() => writer.abort());
    return new Response(readable);
  };

const FIRST_BYTES = 150_000;
/** Number of bytes of the first part that are passed on before more arrive. */
const PASSED_BYTES = FIRST_BYTES - 16 * 1024;

/** Returns a long answer in two parts. */
function inTwoParts(bytes: number): readonly [string, string] {
  const text = answerOf(bytes);
  return [text.slice(0, FIRST_BYTES), text.slice(FIRST_BYTES)];
}

/** Waits until a task has this status. */
async function untilStatus(id: string, status: string): Promise<void> {
  await until(async () => (await readSubmitted(id)).status === status);
}

async function keysOfLast(): Promise<readonly string[]> {
  return runInDurableObject(lastPassing(), (_, { storage }) =>
    Array.from(storage.kv.list(), ([key]) => key),
  );
}

it.each([
  ["short", 1],
  ["of 64 KiB and one byte", 64 * 1024 + 1 - answerOf(0).length],
  ["of 1 MiB", MIB],
  ["of 5 MiB", 5 * MIB],
])(
  "an answer with the result, %s, reaches the caller byte for byte, with the upstream's length and limits, and the task is completed by then",
  async (_, bytes) => {
    const body = answerOf(bytes);
    const sent = { "Content-Length": String(body.length), "X-RateLimit-Remaining": "3" };
    const { response, id, outside } = await paint(
      () => new Response(body, { headers: { "Content-Type": "application/json", ...sent } }),
    );
    expect(await response.text()).toBe(body);
    expect([response.status, Object.fromEntries(response.headers)]).toEqual([
      200,
      expect.objectContaining({
        "content-type": "application/json",
        "x-ratelimit-remaining": "3",
        "relay-task-id": id,
        location: `/v1/tasks/${id}`,
        "relay-status-url": expect.stringContaining(`/v1/tasks/${id}?token=`),
      }),
    ]);
    expect(await readSubmitted(id)).toMatchObject({
      status: "completed",
      output: { urls: [PICTURE] },
    });
    expect(outside.sentTo(VIDEOS)).toMatchObject([
      { method: "POST", body: BODY, headers: { authorization: `Bearer ${KEY}` } },
    ]);
    expect(await keysOfLast()).toEqual([]);
  },
);

it("the beginning of a long answer reaches the caller while the upstream still sends", async () => {
  const upstream = aSlowUpstream(...inTwoParts(200_000));
  upstream.send(0);
  const { response, id } = await begin(upstream.site);
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
  expect(await readSubmitted(id)).toMatchObject({ submission: { state: "sending" } });
  upstream.send(1);
  while ((await reader?.read())?.done === false);
  expect(await readSubmitted(id)).toMatchObject({ status: "completed" });
});

it("when the caller of a submission goes away in the middle of a long answer, the answer is read to its end and the task is completed", async () => {
  const upstream = aSlowUpstream(...inTwoParts(900_000));
  upstream.send(0);
  const { response, id } = await begin(upstream.site);
  await response.body?.cancel();
  upstream.send(1);
  await untilStatus(id, "completed");
});

it("when the caller leaves a long answer unread for a minute, it is broken off, and the rest of it is read without the caller", async () => {
  const wait = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run, ms, ...values) =>
    wait(run, ms === MAX_UNREAD_MS ? 50 : ms, ...values),
  );
  const { response, id } = await begin(() => new Response(answerOf(5 * MIB)));
  await untilStatus(id, "completed");
  await expect(response.text()).rejects.toThrow();
});

it.each([
  ["five minutes", 0, MAX_READ_MS],
  ["a minute, if it has begun a minute before the time for it is over", 10 * 60_000, 60_000],
])(
  "when the caller has not read a long answer within %s, it is broken off, and the rest of it is read without the caller",
  async (_, begunAfterMs, readMs) => {
    const upstream = aSlowUpstream(...inTwoParts(900_000));
    const begun = begin(upstream.site);
    await until(() => vi.mocked(fetch).mock.calls.length > 0);
    pass(begunAfterMs);
    upstream.send(0);
    const { response, id } = await begun;
    const reader = response.body?.getReader();
    for (let bytes = 0; bytes < PASSED_BYTES;)
      bytes += (await reader?.read())?.value?.length ?? NaN;
    pass(readMs + 1);
    upstream.send(1);
    await expect(reader?.read()).rejects.toThrow();
    await untilStatus(id, "completed");
  },
);

it("when the upstream breaks a long answer off, it is broken off for the caller too, and the task fails with an unknown outcome", async () => {
  const [start] = inTwoParts(900_000);
  const { response, id } = await begin(breakingOff(start));
  await expect(response.text()).rejects.toThrow();
  await untilStatus(id, "failed");
  expect(await readSubmitted(id)).toMatchObject({ error: { code: "submit_unknown" } });
});

it("a long answer with a picture in broken base64 reaches the caller whole, and the task fails with an unknown outcome", async () => {
  const picture = `iVBORw0KGgo${"A".repeat(4_000)}!!!`;
  const text = `{"data":[{"b64_json":"${picture}"}],"note":"${"x".repeat(900_000)}"}`;
  const { response, id } = await begin(() => new Response(text));
  expect(await response.text()).toBe(text);
  expect(await readSubmitted(id)).toMatchObject({ error: { code: "submit_unknown" } });
});

it("a key of the relay in a long answer is covered for accounts, and the answer keeps its length", async () => {
  const site = () => new Response(answerOf(200_000, { key: KEY, image: { url: PICTURE } }));
  const { response } = await paint(site);
  const shown = await response.text();
  expect(shown).toContain(KEY);
  const account = await anAccount(PRICE);
  const { key } = await aKey(account);
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const request = aRequest(PATH, { body: BODY, key, headers });
  const seen = await (await answerFrom(await isolateOf(OFFERED), request)).text();
  expect(seen).toBe(shown.replace(KEY, "*".repeat(KEY.length)));
});

it("when an answer does not begin within SUBMIT_TIMEOUT_S, the caller gets 424, and the answer completes the task later", async () => {
  const passTime = holdTimers(SUBMIT_TIMEOUT_MS);
  const upstream = aSlowUpstream(answerOf(1));
  const painted = paint(upstream.site);
  await until(() => vi.mocked(fetch).mock.calls.length > 0);
  passTime();
  const { response, id, headers } = await painted;
  expect(response.headers.get("x-should-retry")).toBe("false");
  expect(await refusal(response)).toEqual({ status: 424, code: "submit_unknown" });
  expect(await readSubmitted(id)).toMatchObject({ submission: { state: "sending" } });
  const again = await submit({ path: PATH, body: BODY, headers });
  expect(await refusal(again)).toEqual({ status: 409, code: "submission_running" });
  upstream.send(0);
  await untilStatus(id, "completed");
});

it("a long answer that begins after SUBMIT_TIMEOUT_S is read at once to its end, and completes the task", async () => {
  const passTime = holdTimers(SUBMIT_TIMEOUT_MS);
  const upstream = aSlowUpstream(...inTwoParts(900_000));
  const painted = paint(upstream.site);
  await until(() => vi.mocked(fetch).mock.calls.length > 0);
  passTime();
  const { response, id } = await painted;
  expect(await refusal(response)).toEqual({ status: 424, code: "submit_unknown" });
  upstream.send(0);
  upstream.send(1);
  await untilStatus(id, "completed");
});

it("a refusal that comes after SUBMIT_TIMEOUT_S fails the task of which the caller knows, and its price is returned", async () => {
  const passTime = holdTimers(SUBMIT_TIMEOUT_MS);
  const gate = Promise.withResolvers<void>();
  anArk().on(VIDEOS, async (...sent) => {
    await gate.promise;
    return answering({ error: { message: "no such size" } }, 400)(...sent);
  });
  const account = await anAccount(PRICE);
  const { key } = await aKey(account);
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const request = aRequest(PATH, { body: BODY, key, headers });
  const answered = answerFrom(await isolateOf(OFFERED), request);
  await until(() => vi.mocked(fetch).mock.calls.length > 0);
  passTime();
  const { code, task } = Unknown.parse(await (await answered).json());
  expect(code).toBe("submit_unknown");
  gate.resolve();
  await untilStatus(task.id, "failed");
  expect(await readSubmitted(task.id)).toMatchObject({
    error: { code: "upstream_error" },
    submission: { state: "unknown", status_code: 400, refusal: "final" },
  });
  await wake(task.id);
  expect(await balanceOf(account)).toBe(PRICE);
});

it("when the caller loses its connection to the object that makes a call, and is told of the task, a later refusal fails the task", async () => {
  const gate = Promise.withResolvers<void>();
  anArk().on(VIDEOS, async (...sent) => {
    await gate.promise;
    return answering({ error: { message: "no such size" } }, 400)(...sent);
  });
  const { id, headers } = named();
  const isolate = await isolateOf({ ...BINDINGS });
  loseNextPassing(lose);
  const request = aRequest(PATH, { body: BODY, headers });
  const response = await answerFrom(isolate, request);
  expect(await refusal(response)).toEqual({ status: 424, code: "submit_unknown" });
  gate.resolve();
  await untilStatus(id, "failed");
  expect(await readSubmitted(id)).toMatchObject({
    submission: { state: "unknown", refusal: "final" },
  });
});

it("a caller who stops waiting while the refusal is reported to the task gets the refusal, and no task is left", async () => {
  const passTime = holdTimers(SUBMIT_TIMEOUT_MS);
  const error = { error: { message: "no such size" } };
  let isReported = false;
  let isTimePassed = false;
  const bindings = withTasks({
    endCall: async (call) => {
      isReported = true;
      await until(() => isTimePassed);
      return call();
    },
  });
  const painted = paint(answering(error, 400), bindings);
  await until(() => isReported);
  passTime();
  isTimePassed = true;
  const { response, id } = await painted;
  expect([response.status, await response.json()]).toEqual([400, error]);
  expect((await callWith(BINDINGS, `/v1/tasks/${id}`)).status).toBe(404);
});

it.each<[string, number, Site]>([
  [
    "an error of the upstream that proves nothing",
    424,
    answering({ error: { message: "?" } }, 500),
  ],
  ["a page in place of JSON", 424, () => new Response("<html>")],
  ["an answer that names neither a result nor an error", 424, answering({ ok: true })],
  ["an answer that breaks off", 424, breakingOff('{"data":')],
])("after %s, the caller gets %i and the task fails at once", async (_, status, site) => {
  const { response, id } = await paint(site);
  const problem = await refusal(response);
  expect(problem).toEqual({ status, code: "submit_unknown" });
  expect(await readSubmitted(id)).toMatchObject({
    status: "failed",
    error: { code: "submit_unknown" },
  });
});

it("a refusal of a call that is answered by the result reaches the caller as it is, and leaves no task", async () => {
  const error = { error: { message: "no such size", code: "invalid_size" } };
  const { response, id } = await paint(answering(error, 400));
  expect([response.status, await response.json()]).toEqual([400, error]);
  expect(response.headers.get("Relay-Status-Url")).toBe(null);
  expect((await callWith(BINDINGS, `/v1/tasks/${id}`)).status).toBe(404);
});

it("a repeated call gets the stored answer of a call that is answered by the result", async () => {
  const { response, headers, outside } = await paint(answering({ data: [{ url: PICTURE }] }));
  const again = await submit({ path: PATH, body: BODY, headers });
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(await again.text()).toBe(await response.text());
  expect(outside.sentTo(VIDEOS).length).toBe(1);
});

it("when the task's object cannot be reached after the answer, the caller gets the answer and is told not to repeat the call, and the outcome is reported later", async () => {
  const bindings = withTasks({ endCall: lose });
  const { response, id } = await paint(answering({ data: [{ url: PICTURE }] }), bindings);
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([200, "false"]);
  expect(await keysOfLast()).toEqual(["call"]);
  expect(await readSubmitted(id)).toMatchObject({ submission: { state: "sending" } });
});

it("when the object that makes a call crashes, the caller gets 424, and the task fails and is refunded at once", async () => {
  const account = await anAccount(PRICE);
  const { key } = await aKey(account);
  anArk().on(VIDEOS, async () => {
    await runInDurableObject(lastPassing(), (_, ctx) => ctx.abort("crash"));
    return new Promise<Response>(() => undefined);
  });
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const request = aRequest(PATH, { body: BODY, key, headers });
  const response = await answerFrom(await isolateOf(OFFERED), request);
  const { code, task } = Unknown.parse(await response.json());
  expect([response.status, code, task.status]).toEqual([424, "submit_unknown", "failed"]);
  await wake(task.id);
  expect(await balanceOf(account)).toBe(PRICE);
});

it("a picture of 12 MiB in base64 reaches the caller of a relay without a bucket, and the task fails as a success without output", async () => {
  const body = JSON.stringify({ data: [{ b64_json: `iVBORw0KGgo${"A".repeat(12 * MIB)}` }] });
  const { response, id } = await paint(() => new Response(body));
  expect((await response.text()) === body).toBe(true);
  expect(await readSubmitted(id)).toMatchObject({
    status: "failed",
    error: { code: "upstream_error", message: "The upstream reported success without output." },
  });
});

it("the outcome of an answer that is passed on counts as unknown three minutes after ASYNC_TIMEOUT_S", async () => {
  const upstream = aSlowUpstream(...inTwoParts(200_000));
  upstream.send(0);
  const { id, response } = await begin(upstream.site);
  await wake(id, 13 * 60_000 - 1);
  expect(await readSubmitted(id)).toMatchObject({ submission: { state: "sending" } });
  await wake(id, 1);
  expect(await readSubmitted(id)).toMatchObject({
    status: "failed",
    error: { code: "submit_unknown" },
  });
  upstream.send(1);
  await response.body?.cancel();
});
