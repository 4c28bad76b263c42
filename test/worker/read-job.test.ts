import { expect, it, vi } from "vitest";
import * as z from "zod";
import ARREARS from "../../src/providers/dashscope/corpus/failed-arrearage.json";
import FAILED_BESIDE_CODE from "../../src/providers/wavespeed/corpus/failed-beside-code-402.json";
import { JOB_READ } from "../../scripts/cost/lives.ts";
import { JobObject } from "../../src/objects/job-object.ts";
import { jobObject } from "../../src/objects/object-names.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { aKey, anAccount, balanceOf, booksOf } from "./accounts.ts";
import { callWith, OPERATOR_KEY, ORIGIN, post } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { restart, rowsOf, untilIdle } from "./objects.ts";
import { answering, anOutside, type Outside } from "./outside.ts";
import { started } from "./started.ts";
import { BINDINGS, named, readSubmitted, submit } from "./submitted.ts";
import { aCompletion, CALLBACK_URL, report, VIDEO } from "./tasks.ts";

useClock();

const API = "https://api.replicate.com/v1/predictions";
const PATH = "/v1/submit/replicate/v1/predictions";
const MODEL = "acme/fox:5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa";
const BODY = JSON.stringify({ version: MODEL, input: { prompt: "a fox" } });
const OFFER = { connection: "replicate", models: ["acme/*"], price: null };
const OFFERS = JSON.stringify([OFFER]);
const RELAY = { ...BINDINGS, PUBLIC_URL: ORIGIN, OFFERS };
const RELAY_ENV = started(RELAY);

/** Returns a prediction as Replicate states it, with links to its own API. */
function prediction(id: string, more: object = {}) {
  const urls = {
    get: `${API}/${id}`,
    cancel: `${API}/${id}/cancel`,
    web: `https://replicate.com/p/${id}`,
  };
  return { id, version: MODEL, status: "starting", input: { prompt: "a fox" }, urls, ...more };
}

/** Replaces the network by a Replicate with one prediction, whose state is what `state` returns. */
function aReplicate(id: string, state: () => object = () => ({})): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(API, ({ method, body }) => {
    const { webhook } = z
      .looseObject({ webhook: z.string().optional() })
      .parse(JSON.parse(body || "{}"));
    const known = method === "POST" ? { webhook } : state();
    return Response.json(prediction(id, known), { status: method === "POST" ? 201 : 200 });
  });
  return outside;
}

/** Submits a prediction. Returns the id of its job and of its task, and the answer. */
async function submitted(key: string = OPERATOR_KEY, state?: () => object) {
  const jobId = crypto.randomUUID().replaceAll("-", "");
  const outside = aReplicate(jobId, state);
  const { id, headers } = named();
  const order = { "Idempotency-Key": crypto.randomUUID() };
  const own = key === OPERATOR_KEY ? { ...headers, ...order } : order;
  const response = await submit({ path: PATH, body: BODY, bindings: RELAY, headers: own, key });
  const taskId = response.headers.get("Relay-Task-Id") ?? id;
  await restart(taskId, RELAY);
  return { jobId, taskId, outside, response };
}

/** Reads a job as an SDK does. */
function read(jobId: string, key: string | null = OPERATOR_KEY, path = `${PATH}/${jobId}`) {
  return callWith(RELAY, path, { key });
}

/** Returns the object that stores to which task this job at Replicate belongs. */
const jobsOf = async (jobId: string) => jobObject(await RELAY_ENV, "replicate", jobId);
const asked = (outside: Outside, jobId: string) => outside.sentTo(`${API}/${jobId}`);

it("GET of a submitted job at the upstream's own path returns the upstream's response, which the relay requests with its own key for the upstream", async () => {
  const { jobId, outside } = await submitted(OPERATOR_KEY, () => ({
    status: "processing",
    logs: "1",
  }));
  const response = await read(jobId);
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe("application/json");
  expect(await response.json()).toMatchObject({ id: jobId, status: "processing", logs: "1" });
  const [request] = asked(outside, jobId);
  expect(request?.headers["authorization"]).toBe(`Bearer ${RELAY.REPLICATE_API_TOKEN}`);
});

it("in responses to a submission and to reads of its job, only the upstream's links for reading and canceling the job change: they lead to the relay", async () => {
  const { jobId, response } = await submitted();
  const there = prediction(jobId);
  const urls = {
    get: `${ORIGIN}${PATH}/${jobId}`,
    cancel: `${ORIGIN}${PATH}/${jobId}/cancel`,
    web: there.urls.web,
  };
  expect(await response.json()).toMatchObject({ urls });
  const expected = JSON.stringify({ ...there, urls });
  expect(await (await read(jobId)).text()).toBe(expected);
});

it("of the headers with which an upstream describes its own body or sets cookies, a response to a read of a job has none", async () => {
  const { jobId, outside } = await submitted();
  const own = {
    ETag: '"upstream"',
    Digest: "sha-256=upstream",
    "Repr-Digest": "sha-256=:upstream:",
    "Content-MD5": "upstream",
    "Last-Modified": "Sun, 29 Nov 2026 00:00:00 GMT",
    "Set-Cookie": "session=upstream",
  };
  const text = JSON.stringify(prediction(jobId));
  const length = { "Content-Length": `${text.length}` };
  outside.on(`${API}/${jobId}`, () => new Response(text, { headers: { ...own, ...length } }));
  const response = await read(jobId);
  const names = Object.keys(own).filter((name) => response.headers.has(name));
  const body = await response.text();
  expect([names, body.includes(`${ORIGIN}${PATH}/${jobId}`)]).toEqual([[], true]);
  expect([null, `${body.length}`]).toContain(response.headers.get("Content-Length"));
});

it("reads of a job, while it runs and after it has ended, leave the ledger of its account unchanged", async () => {
  const { response, jobId, taskId, account, bindings, key } = await readAs(WAVESPEED, (id) => ({
    data: { id, status: "processing" },
  }));
  const booked = ["grant 10", "charge 4"];
  expect([response.status, await booksOf(account)]).toEqual([200, booked]);
  const at = `/v1/submit/wavespeed${WAVESPEED.read(jobId)}`;
  anOutside().on(
    WAVESPEED.base,
    answering({ data: { id: jobId, status: "completed", outputs: [VIDEO] } }),
  );
  for (let n = 0; n < 3; n += 1) {
    pass(1_001);
    expect((await callWith(bindings, at, { key })).status).toBe(200);
    await until(async () => (await readSubmitted(taskId, bindings))["status"] === "completed");
  }
  expect(await booksOf(account)).toEqual(booked);
});

it("in the stored response that a repeated submission gets, the upstream's links for reading the job lead to the relay", async () => {
  const id = crypto.randomUUID();
  const jobId = id.replaceAll("-", "");
  aReplicate(jobId);
  const headers = { "Relay-Task-Id": id, "Idempotency-Key": id };
  const first = await submit({ path: PATH, body: BODY, bindings: RELAY, headers });
  const again = await callWith(RELAY, PATH, {
    body: BODY,
    headers: { ...headers, "Content-Type": "application/json" },
  });
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  const text = await again.text();
  expect(text).toBe(await first.text());
  expect(text).toContain(`"get":"${ORIGIN}${PATH}/${jobId}"`);
});

it("when a job is read many times within the shortest time between two polls, the relay asks the upstream only once", async () => {
  const { jobId, outside } = await submitted();
  const at = asked(outside, jobId).length;
  const answers = await Promise.all(Array.from({ length: 50 }, () => read(jobId)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200));
  expect(asked(outside, jobId)).toHaveLength(at + 1);
  pass(1_001);
  await read(jobId);
  expect(asked(outside, jobId)).toHaveLength(at + 2);
});

it("a read of a job that runs as before causes as many requests as docs/cost.md states, and no row; within a second the same isolate repeats the response without an object", async () => {
  const { jobId, taskId } = await submitted(OPERATOR_KEY, () => ({ status: "processing" }));
  await read(jobId);
  pass(1_001);
  const rows = await rowsOf(taskId);
  const calls = [vi.spyOn(JobObject.prototype, "task"), vi.spyOn(TaskObject.prototype, "readJob")];
  const requests = () => calls.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  await read(jobId);
  expect({ workerRequests: 1, objectRequests: requests() }).toEqual(JOB_READ);
  await read(jobId);
  expect([requests(), rows()]).toEqual([JOB_READ.objectRequests, 0]);
});

it("when a client reads a job and the upstream's response says that it has ended, the task ends too and its callback is sent", async () => {
  const { jobId, taskId, outside } = await submitted(OPERATOR_KEY, () => ({
    status: "succeeded",
    output: VIDEO,
  }));
  expect(await (await read(jobId)).json()).toMatchObject({ status: "succeeded", output: VIDEO });
  await untilIdle(taskId);
  expect(await readSubmitted(taskId, RELAY)).toMatchObject({ status: "completed" });
  expect(outside.sentTo(CALLBACK_URL)).toHaveLength(1);
});

it("a client can still read a submitted job through the relay after the job has ended", async () => {
  const { jobId, taskId } = await submitted(OPERATOR_KEY, () => ({
    status: "succeeded",
    output: VIDEO,
  }));
  await read(jobId);
  await untilIdle(taskId);
  pass(60_000);
  expect(await (await read(jobId)).json()).toMatchObject({ status: "succeeded", output: VIDEO });
});

it("an account can read a job that it has submitted, and the response does not show the token of the hook URL", async () => {
  const { key } = await aKey(await anAccount());
  const { jobId, outside } = await submitted(key, () => ({ webhook: hook() }));
  const hook = () =>
    z.looseObject({ webhook: z.string() }).parse(JSON.parse(outside.sentTo(API)[0]?.body ?? "{}"))
      .webhook;
  const text = await (await read(jobId, key)).text();
  const token = hook().slice(hook().lastIndexOf("/") + 1);
  expect(token.length).toBeGreaterThan(40);
  expect(text).toContain("/hooks/replicate/");
  expect(text).not.toContain(token);
});

it("reading a job that is another caller's, or was not submitted through the relay, gets 404 in the upstream's form, and no request is sent", async () => {
  const { key } = await aKey(await anAccount());
  const { key: foreign } = await aKey(await anAccount());
  const own = await submitted(key);
  const ofOperator = await submitted();
  const before = ofOperator.outside.sentTo(API).length;
  const refused = [
    await read(own.jobId, foreign),
    await read(ofOperator.jobId, key),
    await read("made-up-1234", key),
    await read("made-up-1234"),
  ];
  for (const response of refused) {
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      status: 404,
      detail: "No job with this id was submitted through the relay.",
    });
  }
  expect(ofOperator.outside.sentTo(API)).toHaveLength(before);
});

it("reading a job that was attached to a task instead of being submitted through the relay gets 404", async () => {
  const outside = aReplicate("attached-1");
  const id = crypto.randomUUID();
  await post("/v1/tasks", { id, model: "acme/fox", provider: "replicate" });
  await callWith(RELAY, `/v1/tasks/${id}/upstream`, {
    method: "POST",
    body: JSON.stringify({ provider: "replicate", id: "attached-1" }),
  });
  expect((await read("attached-1")).status).toBe(404);
  expect(outside.sentTo(`${API}/attached-1`)).toEqual([]);
});

it('a GET with a path that reads no job gets 404 with the paths that do, and one with "..", "//" or escapes gets 400 or 404; no request is sent', async () => {
  const { jobId, outside } = await submitted();
  const before = outside.sentTo("https://").length;
  const listing = await read(jobId, OPERATOR_KEY, PATH);
  expect(await listing.json()).toMatchObject({
    status: 404,
    detail: expect.stringContaining("/v1/predictions/{id}"),
  });
  for (const tricked of [`${jobId}/..%2f..%2faccount`, `/${jobId}`, `%2e%2e/x`, `${jobId}%3fx`]) {
    const response = await read(jobId, OPERATOR_KEY, `${PATH}/${tricked}`);
    expect([400, 404]).toContain(response.status);
  }
  expect((await read(jobId, null)).status).toBe(401);
  expect(outside.sentTo("https://")).toHaveLength(before);
});

it("after a task is erased, the id of its job leads to no task, and reading the job gets 404", async () => {
  const { jobId, taskId } = await submitted(OPERATOR_KEY, () => ({
    status: "succeeded",
    output: VIDEO,
  }));
  expect(await (await jobsOf(jobId)).task(jobId)).toBe(taskId);
  await read(jobId);
  await untilIdle(taskId);
  const erased = await callWith(RELAY, `/v1/tasks/${taskId}`, { method: "DELETE" });
  expect(erased.status).toBe(204);
  expect(await (await jobsOf(jobId)).task(jobId)).toBe(null);
  pass(1_001);
  expect((await read(jobId)).status).toBe(404);
});

it("when two tasks name the same job, the job belongs to the first of them until this task is erased", async () => {
  const jobId = crypto.randomUUID();
  const jobs = await jobsOf(jobId);
  await jobs.setTask(jobId, "first");
  await jobs.setTask(jobId, "second");
  expect(await jobs.task(jobId)).toBe("first");
  await jobs.forget(jobId, "second");
  expect(await jobs.task(jobId)).toBe("first");
  await jobs.forget(jobId, "first");
  expect(await jobs.task(jobId)).toBe(null);
});

it("jobs of a connection whose ids differ only in a number are stored in 256 objects, each of which has at most twice its share", async () => {
  const relay = await RELAY_ENV;
  const share = 20;
  const counts = new Map<string | undefined, number>();
  for (let number = 0; number < 256 * share; number++) {
    const { name } = jobObject(relay, "ark", `cgt-20261129-${number}`);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  expect(counts.size).toBe(256);
  expect(Math.max(...counts.values())).toBeLessThanOrEqual(2 * share);
});

it("of jobs that are stored in the same object, each belongs to its own task, also with the longest id and with an id that has a NUL", async () => {
  const ids = ["視".repeat(512), "a\0b", "a"];
  const jobs = await jobsOf("a");
  for (const id of ids) await jobs.setTask(id, `task of ${id}`);
  await jobs.forget("a", "task of a");
  expect(await Promise.all(ids.map(async (id) => jobs.task(id)))).toEqual([
    ...ids.slice(0, 2).map((id) => `task of ${id}`),
    null,
  ]);
});

it("when the answer about a job is too large to be kept, or the upstream has named a wait, reads cause no further request before the time is over", async () => {
  const large = await submitted(OPERATOR_KEY, () => ({ logs: "x".repeat(300_000) }));
  expect((await read(large.jobId)).status).toBe(200);
  const before = asked(large.outside, large.jobId).length;
  expect((await read(large.jobId)).status).toBe(429);
  expect(asked(large.outside, large.jobId)).toHaveLength(before);
  const limited = await submitted();
  limited.outside.on(`${API}/${limited.jobId}`, answering({}, 429, { "Retry-After": "60" }));
  await read(limited.jobId);
  const sent = asked(limited.outside, limited.jobId).length;
  pass(59_000);
  expect((await read(limited.jobId)).status).toBe(429);
  expect(asked(limited.outside, limited.jobId)).toHaveLength(sent);
});

it("when another job has used up the connection's polls of this minute, the first read of a job gets 429 with the wait in Retry-After, and reads of the other job repeat its last answer", async () => {
  const few = { provider: "replicate", key: "test-only-few-key", polls_per_minute: 1 };
  const bindings = { ...RELAY, CONNECTIONS: JSON.stringify({ few }) };
  const path = "/v1/submit/few/v1/predictions";
  const outside = anOutside();
  const readAt = (jobId: string) => callWith(bindings, `${path}/${jobId}`, { key: OPERATOR_KEY });
  const [known, other] = [crypto.randomUUID(), crypto.randomUUID()];
  for (const jobId of [known, other]) {
    outside.on(API, answering(prediction(jobId), 201));
    const { id, headers } = named();
    await submit({ path, body: BODY, bindings, headers });
    await restart(id, bindings);
  }
  outside.on(`${API}/`, ({ url }) => Response.json(prediction(url.slice(API.length + 1))));
  expect((await readAt(known)).status).toBe(200);
  pass(2_000);
  const limited = await readAt(other);
  expect([limited.status, limited.headers.get("Retry-After")]).toEqual([429, "58"]);
  expect(await limited.json()).toMatchObject({ status: 429, detail: expect.any(String) });
  expect(await (await readAt(known)).json()).toMatchObject({ id: known });
  expect(outside.sentTo(`${API}/`).map(({ url }) => url)).toEqual([`${API}/${known}`]);
  pass(58_000);
  expect(await (await readAt(other)).json()).toMatchObject({ id: other });
});

it("an upstream's answer about the operator's balance is hidden from the account that reads its job, and shown to the operator", async () => {
  const { key } = await aKey(await anAccount());
  const { jobId, outside } = await submitted(key);
  const owed = { title: "Insufficient credit", detail: "acme owes $3", status: 402 };
  outside.on(`${API}/${jobId}`, answering(owed, 402));
  const response = await read(jobId, key);
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([503, "false"]);
  expect(await response.json()).toEqual({
    status: 503,
    detail: "The service cannot answer this call at the moment.",
  });
  pass(60_000);
  expect(await (await read(jobId)).json()).toEqual(owed);
});

/** A call that submits a job to an upstream, the answer to it, and the path at which the job is read. */
interface Elsewhere {
  readonly connection: string;
  readonly base: string;
  readonly path: string;
  readonly accepted: (id: string) => object;
  readonly read: (id: string) => string;
}

const WAVESPEED: Elsewhere = {
  connection: "wavespeed",
  base: "https://api.wavespeed.ai",
  path: "/api/v3/acme/fox",
  accepted: (id) => ({ code: 200, data: { id, status: "created" } }),
  read: (id) => `/api/v3/predictions/${id}/result`,
};
const DASHSCOPE: Elsewhere = {
  // The relay tells of a connection's balance once in an hour, also where another test has caused it.
  connection: "arrears",
  base: "https://dashscope.aliyuncs.com",
  path: "/api/v1/services/aigc/video-generation/video-synthesis",
  accepted: (id) => ({ output: { task_id: id, task_status: "PENDING" } }),
  read: (id) => `/api/v1/tasks/${id}`,
};

/** Submits a job as an account, which then reads it, and gets what the upstream answers to reads. */
async function readAs(at: Elsewhere, state: (id: string) => object, more: object = {}) {
  const bindings = {
    ...RELAY,
    WAVESPEED_API_KEY: "test-only-wavespeed-key",
    CONNECTIONS: JSON.stringify({ arrears: { provider: "dashscope", key: "test-only-key" } }),
    OFFERS: JSON.stringify([
      { ...OFFER, connection: at.connection, models: ["*"], price: { credits: 4 } },
    ]),
    ...more,
  };
  const account = await anAccount(10);
  const { key } = await aKey(account);
  const jobId = crypto.randomUUID();
  const outside = anOutside();
  outside.on("https://ops.example.com", answering(""));
  outside.on(at.base, answering(at.accepted(jobId)));
  outside.on(`${at.base}${at.read(jobId)}`, answering(state(jobId)));
  const base = `/v1/submit/${at.connection}`;
  const headers = { "Idempotency-Key": jobId };
  const submission = await submit({ path: `${base}${at.path}`, bindings, key, headers });
  const taskId = submission.headers.get("Relay-Task-Id") ?? "";
  await restart(taskId, bindings);
  const response = await callWith(bindings, `${base}${at.read(jobId)}`, { key });
  return { response, jobId, taskId, outside, account, bindings, key };
}

it("an upstream's answer with HTTP 200 and a code about the operator's balance is shown to the account that reads its job if it is also a report on the job, and hidden otherwise", async () => {
  const { body } = z.object({ body: z.looseObject({}) }).parse(FAILED_BESIDE_CODE);
  const { response: shown } = await readAs(WAVESPEED, () => body);
  expect([shown.status, await shown.json()]).toEqual([200, body]);
  const { response: hidden } = await readAs(WAVESPEED, () => ({ ...body, data: null }));
  expect(hidden.status).toBe(503);
});

it("when a job fails because of the operator's balance, the account reads the upstream's report without its text, the task fails with a code of its own and is refunded, and the operator gets the event provider.funds", async () => {
  const { body } = z.object({ body: z.looseObject({ output: z.looseObject({}) }) }).parse(ARREARS);
  const reportOn = (id: string) => ({ ...body, output: { ...body.output, task_id: id } });
  const operator = { OPERATOR_CALLBACK_URL: "https://ops.example.com/events" };
  const made = await readAs(DASHSCOPE, reportOn, operator);
  const { output } = reportOn(made.jobId);
  expect(await made.response.json()).toEqual({ ...body, output: { ...output, message: "…" } });
  const task = () => readSubmitted(made.taskId, made.bindings);
  await until(async () => (await task())["status"] === "failed");
  expect(await task()).toMatchObject({
    error: {
      code: "upstream_funds",
      message: "The service takes no jobs of this kind at the moment.",
    },
    failure: { category: "provider", retryable: false },
  });
  expect(await balanceOf(made.account)).toBe(10);
  await until(() => made.outside.sentTo("https://ops.").length > 0);
  const [event] = made.outside.sentTo("https://ops.");
  expect(JSON.parse(event?.body ?? "")).toMatchObject({
    type: "provider.funds",
    data: { connection: "arrears" },
  });
});

it("an account whose priced task has failed for lack of a file and was refunded cannot read the job's output at the upstream's path", async () => {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const bindings = { ...RELAY, OFFERS: JSON.stringify([{ ...OFFER, price: { credits: 10 } }]) };
  const jobId = crypto.randomUUID().replaceAll("-", "");
  aReplicate(jobId, () => ({ status: "succeeded", output: "a poem about a fox" }));
  const headers = { "Idempotency-Key": jobId };
  const response = await submit({ path: PATH, body: BODY, bindings, headers, key });
  const taskId = response.headers.get("Relay-Task-Id") ?? "";
  await restart(taskId, bindings);
  await callWith(bindings, `${PATH}/${jobId}`, { key });
  await until(async () => (await balanceOf(account)) === 100);
  pass(60_000);
  const again = await callWith(bindings, `${PATH}/${jobId}`, { key });
  expect(again.status).toBe(410);
  expect(await again.text()).not.toContain("poem");
});

it("when an event has ended a task before the upstream's answer names the job, the id of the job leads to no task, because it would not be forgotten with the task", async () => {
  const jobId = crypto.randomUUID().replaceAll("-", "");
  const { id, headers } = named();
  const outside = aReplicate(jobId);
  outside.on(API, async () => {
    await report(aCompletion(id));
    return Response.json(prediction(jobId), { status: 201 });
  });
  const response = await submit({ path: PATH, body: BODY, bindings: RELAY, headers });
  expect(response.status).toBe(201);
  expect(await readSubmitted(id, RELAY)).toMatchObject({ status: "completed" });
  expect(await (await jobsOf(jobId)).task(jobId)).toBe(null);
});
