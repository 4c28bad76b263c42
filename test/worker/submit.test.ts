import { expect, it } from "vitest";
import { bytesOf } from "../../src/security/encoding.ts";
import { START_S, useClock } from "./clock.ts";
import { invalid, refusal } from "./client.ts";
import { lose, withTasks } from "./lost-calls.ts";
import { NOTHING, stored, untilIdle, wake } from "./objects.ts";
import { answering } from "./outside.ts";
import {
  anArk,
  ARK,
  ARK_PATH,
  BINDINGS,
  BODY,
  JOB,
  MODEL,
  named,
  readSubmitted,
  sentToArk,
  submit,
} from "./submitted.ts";
import { CALLBACK_URL, VIDEO } from "./tasks.ts";
import { never } from "./receiver.ts";
import { callWith } from "./client.ts";
import { sendHook } from "./hooked.ts";

useClock();

const DONE = { id: JOB, model: MODEL, status: "succeeded", content: { video_url: VIDEO } };

/** Returns the hook URL that the relay has put into a body. */
function hookUrlIn(body: string): string {
  return String(JSON.parse(body).callback_url);
}

/** Returns a body that breaks off after a text. */
function brokenOff(text: string): ReadableStream<Uint8Array> {
  let isSent = false;
  return new ReadableStream({
    pull: (controller) => {
      if (isSent) controller.error(new Error("lost"));
      else controller.enqueue(bytesOf(text));
      isSent = true;
    },
  });
}

it("a submission that the upstream accepts gets the upstream's own response, with the id and the status link of its task in headers", async () => {
  const body = { id: JOB, extra: [1] };
  anArk(answering(body, 200, { "X-Internal": "secret", "X-RateLimit-Remaining": "7" }));
  const { id, headers } = named();
  const response = await submit({ headers });
  expect([response.status, await response.json()]).toEqual([200, body]);
  expect(response.headers.get("Relay-Task-Id")).toBe(id);
  expect(response.headers.get("Location")).toBe(`/v1/tasks/${id}`);
  expect(response.headers.get("X-RateLimit-Remaining")).toBe("7");
  expect(response.headers.get("X-Internal")).toBeNull();
  const link = new URL(response.headers.get("Relay-Status-Url") ?? "");
  expect((await callWith(BINDINGS, `${link.pathname}${link.search}`, { key: null })).status).toBe(
    200,
  );
  expect(await readSubmitted(id)).toMatchObject({
    status: "pending",
    model: MODEL,
    provider: "ark",
    upstream: { id: JOB },
    submission: { state: "accepted", started_at: START_S, answered_at: START_S, status_code: 200 },
  });
});

it("the upstream gets the body of a submission with the hook URL as the only change, the connection's key, and none of the caller's cookies and secrets", async () => {
  const outside = anArk();
  const { headers } = named({
    Cookie: "a=b",
    "X-Trace": "kept",
    "X-Forwarded-For": "192.0.2.1",
    "X-HTTP-Method-Override": "DELETE",
    "If-None-Match": "*",
    "MJ-Api-Secret": "secret",
  });
  await submit({ headers });
  const sent = sentToArk(outside);
  const hook = hookUrlIn(sent.body);
  expect(sent.body).toBe(BODY.replace(" }", `,"callback_url":${JSON.stringify(hook)} }`));
  expect(sent).toMatchObject({ method: "POST", url: `${ARK}${ARK_PATH}`, redirect: "manual" });
  expect(sent.headers).toMatchObject({
    authorization: "Bearer test-only-ark-key",
    "content-type": "application/json",
    "x-trace": "kept",
  });
  const names = Object.keys(sent.headers);
  expect(
    names.filter((name) => /^(?:relay-|cookie|x-forwarded|x-http|if-|mj-)/.test(name)),
  ).toEqual([]);
});

it("a hook to the URL that only the upstream knows makes the relay poll the job, and the callback brings the job's result", async () => {
  const outside = anArk();
  const { id, headers } = named();
  await submit({ headers });
  const hookUrl = hookUrlIn(sentToArk(outside).body);
  outside.on(`${ARK}${ARK_PATH}/`, answering(DONE));
  const hook = await sendHook({ hookUrl, bindings: BINDINGS }, JSON.stringify(DONE));
  expect(hook.status).toBe(200);
  await untilIdle(id);
  expect(await readSubmitted(id)).toMatchObject({ status: "completed" });
  expect(outside.sentTo(CALLBACK_URL)).toHaveLength(1);
});

it("a URL that the caller puts in the upstream's own hook field becomes the task's callback_url, and is replaced by the relay's hook URL", async () => {
  const outside = anArk();
  const id = crypto.randomUUID();
  const body = JSON.stringify({ model: MODEL, callback_url: CALLBACK_URL, content: [] });
  await submit({ body, headers: { "Relay-Task-Id": id } });
  expect(await readSubmitted(id)).toMatchObject({ callback: { url: CALLBACK_URL } });
  expect(sentToArk(outside).body).toBe(
    body.replace(CALLBACK_URL, hookUrlIn(sentToArk(outside).body)),
  );
});

it.each([
  [
    "a member of the body",
    { body: JSON.stringify({ model: MODEL, callback_url: "https://10.0.0.1/" }) },
    "/callback_url",
  ],
  [
    "a member of an object",
    {
      path: "/v1/submit/newapi/v1/video/generations",
      body: JSON.stringify({ model: "m", metadata: { callback_url: "https://10.0.0.1/" } }),
    },
    "/metadata/callback_url",
  ],
  [
    "a parameter of the query",
    { path: "/v1/submit/fal/fal-ai/veo3?fal_webhook=https://10.0.0.1/" },
    "/fal_webhook",
  ],
  [
    "the relay's own header",
    { headers: { "Relay-Callback-Url": "https://10.0.0.1/" } },
    "/Relay-Callback-Url",
  ],
])(
  "a submission with a private callback URL in %s is refused, and the refusal says where that URL is",
  async (_, submission, path) => {
    anArk();
    expect(await refusal(await submit(submission))).toEqual(invalid(path));
  },
);

it("a submission with one callback URL in the header and another in the upstream's hook field is refused before anything is stored", async () => {
  const outside = anArk();
  const { id, headers } = named();
  const body = JSON.stringify({ model: MODEL, callback_url: "https://other.example.net/" });
  expect(await refusal(await submit({ body, headers }))).toEqual(invalid("/Relay-Callback-Url"));
  expect([outside.sentTo(ARK), await stored(id)]).toEqual([[], NOTHING]);
});

it("a submission with Relay-Start-By whose caller waits for the answer is refused, and not sent", async () => {
  const outside = anArk();
  const response = await submit(named({ "Relay-Start-By": `${START_S + 60}` }));
  expect(await refusal(response)).toEqual(invalid("/Relay-Start-By"));
  expect(outside.sentTo(ARK)).toEqual([]);
});

it("a submission that the upstream refuses gets the refusal as its response, and its task is erased without a callback", async () => {
  const outside = anArk(
    answering({ error: { code: "InvalidParameter" } }, 400, { "Retry-After": "9" }),
  );
  const { id, headers } = named();
  const response = await submit({ headers });
  expect([response.status, await response.json()]).toEqual([
    400,
    { error: { code: "InvalidParameter" } },
  ]);
  expect(response.headers.get("Retry-After")).toBe("9");
  // Clients tell a refusal of the upstream from a problem of the relay by this header.
  expect(response.headers.get("Relay-Task-Id")).toBe(id);
  expect(response.headers.get("Relay-Status-Url")).toBeNull();
  expect([outside.sentTo(CALLBACK_URL), await stored(id)]).toEqual([[], NOTHING]);
});

it("the Idempotency-Key of a refused submission is free again, so that the same call is sent once more", async () => {
  const outside = anArk(answering({}, 429));
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  expect((await submit({ headers })).status).toBe(429);
  outside.on(ARK, answering({ id: JOB }));
  const again = await submit({ headers });
  expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([200, null]);
});

it.each([
  ["HTTP 502", answering("bad gateway", 502)],
  ["a 2xx answer without an id", answering({ ok: true })],
  ["a 2xx answer that is HTML", () => new Response("<html>", { status: 200 })],
  ["HTTP 408", answering({}, 408)],
  ["HTTP 409", answering({}, 409)],
  ["a redirect", answering({}, 307, { Location: "https://elsewhere.example.net/" })],
  ["a redirect with an id", answering({ id: JOB }, 302, { Location: "/jobs" })],
  ["HTTP 524", answering("", 524)],
  ["a lost connection", () => Promise.reject(new Error("lost"))],
  ["an answer that breaks off", () => new Response(brokenOff(JSON.stringify({ id: JOB })))],
])(
  "when a submission to the upstream ends with %s, a job may have started: the task stays open, and the response tells SDKs not to repeat the call",
  async (_, site) => {
    const outside = anArk(site);
    const { id, headers } = named();
    const response = await submit({ headers });
    expect(response.headers.get("x-should-retry")).toBe("false");
    expect(response.headers.get("Location")).toBe(`/v1/tasks/${id}`);
    expect(response.headers.get("Relay-Status-Url")).toContain(`/v1/tasks/${id}?token=`);
    expect(response.headers.get("Relay-Task-Id")).toBeNull();
    expect(await response.clone().json()).toMatchObject({ task: { id } });
    expect(await refusal(response)).toEqual({ status: 424, code: "submit_unknown" });
    expect(await readSubmitted(id)).toMatchObject({
      status: "pending",
      submission: { state: "unknown" },
    });
    expect(outside.sentTo(ARK)).toHaveLength(1);
  },
);

it("the task of a submission whose outcome stays unknown fails with submit_unknown after an hour, and its callback says so", async () => {
  const outside = anArk(answering("", 503));
  const { id, headers } = named();
  await submit({ headers });
  await wake(id, 3_600_000);
  await untilIdle(id);
  expect(await readSubmitted(id)).toMatchObject({
    status: "failed",
    error: { code: "submit_unknown" },
  });
  expect(outside.sentTo(CALLBACK_URL)).toHaveLength(1);
});

it("after a hook, a submission with an unknown outcome counts as accepted when a poll confirms the model and the time of creation of the job in the hook", async () => {
  const outside = anArk(answering("", 504));
  const { id, headers } = named();
  await submit({ headers });
  const hookUrl = hookUrlIn(sentToArk(outside).body);
  const running = { ...DONE, status: "running", content: {}, created_at: START_S };
  outside.on(`${ARK}${ARK_PATH}/`, answering(running));
  await sendHook({ hookUrl, bindings: BINDINGS }, JSON.stringify(running));
  await wake(id);
  expect(await readSubmitted(id)).toMatchObject({
    upstream: { id: JOB },
    submission: { state: "accepted" },
  });
});

it("a submission that is repeated with its Idempotency-Key gets the stored response, and nothing is sent a second time", async () => {
  const outside = anArk();
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const first = await submit({ headers });
  const again = await submit({ headers });
  expect([again.status, await again.text()]).toEqual([200, await first.text()]);
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(again.headers.get("Relay-Task-Id")).toBe(first.headers.get("Relay-Task-Id"));
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it("a submission with a used Idempotency-Key and another body is refused with 422", async () => {
  const outside = anArk();
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  await submit({ headers });
  const other = await submit({ headers, body: BODY.replace("fox", "cat") });
  expect(await refusal(other)).toEqual({ status: 422, code: "idempotency_key_reused" });
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it("a submission with a used Relay-Task-Id and another body gets 409 with the task, even when it has an Idempotency-Key", async () => {
  const outside = anArk();
  const { id, headers } = named({ "Idempotency-Key": crypto.randomUUID() });
  await submit({ headers });
  const other = await submit({ headers, body: BODY.replace("fox", "cat") });
  expect(await other.clone().json()).toMatchObject({ task: { id } });
  expect(await refusal(other)).toEqual({ status: 409, code: "task_exists" });
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it("a submission that is repeated while the first one is still under way is refused with submission_running", async () => {
  const answer = Promise.withResolvers<Response>();
  const outside = anArk(() => answer.promise);
  const { headers } = named({ "Idempotency-Key": crypto.randomUUID() });
  const first = submit({ headers });
  await expect.poll(() => outside.sentTo(ARK)).toHaveLength(1);
  const again = await submit({ headers: { ...headers } });
  expect(again.headers.get("Retry-After")).toBe("2");
  expect(await refusal(again)).toEqual({ status: 409, code: "submission_running" });
  answer.resolve(Response.json({ id: JOB }));
  expect((await first).status).toBe(200);
  expect(outside.sentTo(ARK)).toHaveLength(1);
});

it("an upstream's response of more than 8 KB to a submission is passed on but not stored, so that a repeated submission gets 409 with the task", async () => {
  const long = { id: JOB, text: "x".repeat(9_000) };
  anArk(answering(long));
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const first = await submit({ headers });
  expect(await first.json()).toEqual(long);
  const again = await submit({ headers });
  for (const name of ["Location", "Relay-Status-Url"]) {
    expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
  }
  expect(await again.clone().json()).toMatchObject({
    detail: expect.stringContaining("submitted already"),
  });
  expect(await refusal(again)).toEqual({ status: 409, code: "task_exists" });
});

it("when the task's Durable Object does not answer the registration of a submission, nothing is sent and no task remains", async () => {
  const outside = anArk();
  const { id, headers } = named();
  const response = await submit({ headers, bindings: withTasks({ apply: lose }) });
  expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
  expect([outside.sentTo(ARK), await stored(id)]).toEqual([[], NOTHING]);
});

it("when the upstream has not answered a submission in time, the task's own alarm records the outcome as unknown", async () => {
  const outside = anArk((_, signal) => never(signal));
  const { id, headers } = named();
  const call = submit({ headers, bindings: { ...BINDINGS, SUBMIT_TIMEOUT_S: "5" } });
  await expect.poll(() => outside.sentTo(ARK)).toHaveLength(1);
  await wake(id, 15_000);
  expect(await readSubmitted(id)).toMatchObject({ submission: { state: "unknown" } });
  expect((await call).status).toBe(424);
});

it.each([
  ["an unknown connection names those that exist", "nobody/jobs", "The connections are ark, "],
  ["the sandbox names the variable that switches it on", "sandbox/jobs", "It needs SANDBOX=true."],
  [
    "a path of Ark that starts no job names the page with the calls",
    "ark/models",
    "docs/providers.md",
  ],
])(
  "the refusal of a submission says how to correct the request: the refusal of one to %s",
  async (_case, path, cure) => {
    const bindings = { ...BINDINGS, SANDBOX: "false" };
    const { headers } = named();
    const response = await submit({ path: `/v1/submit/${path}`, headers, bindings });
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining(cure) });
  },
);

it.each([
  ["/v1/submit/ark/contents/generations/tasks/cgt-1", "not_found", 404],
  ["/v1/submit/ark/models", "not_found", 404],
  ["/v1/submit/nobody/jobs", "not_found", 404],
  ["/v1/submit/ark//contents/generations/tasks", "invalid_request", 400],
  ["/v1/submit/ark/contents/generations/tasks%2f", "invalid_request", 400],
])(
  "a submission to %s is refused before anything is stored or sent",
  async (path, code, status) => {
    const outside = anArk();
    const { id, headers } = named();
    expect(await refusal(await submit({ path, headers }))).toMatchObject({ status, code });
    expect([outside.sentTo(ARK), await stored(id)]).toEqual([[], NOTHING]);
  },
);

it.each([
  ["that is not JSON", "{", "invalid_json"],
  ["that is no object", "[]", "invalid_json"],
  ["without a model", "{}", "invalid_request"],
  ["with a member twice that the relay reads", `{"model":"a","model":"b"}`, "invalid_request"],
  [
    "with the hook field twice",
    `{"model":"a","callback_url":"https://a.example.net","callback_url":1}`,
    "invalid_request",
  ],
])(
  "a submission with a body %s is refused before anything is stored or sent",
  async (_, body, code) => {
    const outside = anArk();
    const { id, headers } = named();
    expect(await refusal(await submit({ body, headers }))).toMatchObject({ status: 400, code });
    expect([outside.sentTo(ARK), await stored(id)]).toEqual([[], NOTHING]);
  },
);

it("a submission with a misspelt Relay- header is refused, and the refusal names that header and the valid ones", async () => {
  anArk();
  const { headers } = named({ "Relay-Calback-Url": CALLBACK_URL });
  const response = await submit({ headers });
  expect(await response.clone().text()).toContain(
    "known are Relay-Callback-Url, Relay-Callback-Schedule, Relay-Callback-Events, Relay-Metadata",
  );
  expect(await refusal(response)).toEqual(invalid("/relay-calback-url"));
});

it.each([
  ["Relay-Metadata", "{", "", "must be JSON"],
  ["Relay-Metadata", "[]", "", "must be an object"],
  ["Relay-Callback-Schedule", "0,90000", "/1", "must be at most 86400"],
  ["Relay-Callback-Events", "done", "/0", "must be one of completed, failed, progress"],
  ["Relay-Task-Id", "job-1", "", "must be a UUID"],
  ["Relay-Credits", "0", "", "must be at least 1"],
  ["Relay-Deadline-At", "-5", "", "must be a whole number"],
  ["Relay-Start-By", "abc", "", "must be a whole number"],
  ["Relay-Start-By", `${START_S + 60}000`, "", "must be Unix seconds"],
])(
  "a submission whose %s is %s is refused at %j with the reason that it %s",
  async (header, value, place, reason) => {
    const outside = anArk();
    const response = await submit(named({ "Relay-Account": "acme", [header]: value }));
    const path = `/${header}${place}`;
    expect(await response.clone().json()).toMatchObject({ issues: [{ path, message: reason }] });
    expect(await refusal(response)).toEqual(invalid(path));
    expect(outside.sentTo(ARK)).toEqual([]);
  },
);

it.each([
  ["Authorization", "Key test-only-operator-key"],
  ["Authorization", "Token test-only-operator-key"],
  ["x-api-key", "test-only-operator-key"],
  ["x-goog-api-key", "test-only-operator-key"],
])(
  "the relay's key of a submission may be in the header %s: %s, which does not reach the upstream",
  async (name, value) => {
    const outside = anArk();
    const { headers } = named({ [name]: value });
    expect((await submit({ headers, key: null })).status).toBe(200);
    expect(JSON.stringify(sentToArk(outside).headers)).not.toContain("test-only-operator-key");
  },
);

it("a submission that contains no key of the relay gets 401, and one that contains two different ones gets 400", async () => {
  const outside = anArk();
  const { headers } = named();
  expect((await submit({ headers, key: null })).status).toBe(401);
  const two = { ...headers, "x-api-key": "another-key" };
  const refused = await submit({ headers: two });
  const text = await refused.clone().text();
  expect(text).toContain("must contain the same key as x-api-key");
  expect(text).not.toContain("another-key");
  expect(await refusal(refused)).toEqual(invalid("/Authorization"));
  expect(outside.sentTo(ARK)).toEqual([]);
});

it("a submission to the sandbox gets its response without a call to any upstream, and its task completes", async () => {
  const outside = anArk();
  const { id, headers } = named();
  const body = JSON.stringify({ model: "sandbox/ok" });
  const response = await submit({ path: "/v1/submit/sandbox/jobs", body, headers });
  expect([response.status, await response.json()]).toEqual([
    200,
    { id: "sandbox/ok", status: "queued" },
  ]);
  await wake(id, 4_300);
  await untilIdle(id);
  expect(await readSubmitted(id)).toMatchObject({ status: "completed" });
  expect(outside.sentTo(CALLBACK_URL)).toHaveLength(1);
});
