import { describe, expect, it } from "vitest";
import { aKey, anAccount, balanceOf, booksOf } from "./accounts.ts";
import { ORIGIN, refusal } from "./client.ts";
import { pass, useClock } from "./clock.ts";
import { useHeldWaits } from "./held-waits.ts";
import { aSubmittedTask, anUpstream, callJob, RELAY, useUnclaimedJobs } from "./job-calls.ts";
import { untilIdle } from "./objects.ts";
import type { Outside, Sent } from "./outside.ts";
import { aRateLimit, LIMITED } from "./rate-limits.ts";
import { readSubmitted } from "./submitted.ts";
import { VIDEO } from "./tasks.ts";

useClock();
useUnclaimedJobs();

const API = "https://api.replicate.com/v1/predictions";
const MODEL = "acme/fox:5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa";
const PRICE = 60;
const OFFERS = JSON.stringify([
  { connection: "replicate", models: ["acme/*"], price: { credits: PRICE } },
  { connection: "openai-videos", models: ["*"], price: { credits: PRICE } },
  { connection: "ark", models: ["*"], price: { credits: PRICE } },
]);
const OFFERED = { ...RELAY, OFFERS };

/** A prediction of a Replicate in memory. */
interface Prediction {
  readonly jobId: string;
  readonly taskId: string;
  readonly outside: Outside;
  /** Sets the state that the upstream states from now on. */
  readonly set: (state: object) => void;
}

/** Submits a prediction, which has the state `canceled` once the upstream is asked to cancel it. */
async function aPrediction(
  key?: string,
  canceledState: object = { status: "canceled" },
  headers: Readonly<Record<string, string>> = {},
): Promise<Prediction> {
  const jobId = crypto.randomUUID().replaceAll("-", "");
  let state: object = { status: "processing" };
  const answer = () => Response.json({ id: jobId, version: MODEL, input: {}, urls, ...state });
  const urls = { get: `${API}/${jobId}`, cancel: `${API}/${jobId}/cancel` };
  const outside = anUpstream(API, ({ method, url }) => {
    if (url.endsWith("/cancel")) state = canceledState;
    else if (method === "POST") {
      return Response.json(
        { id: jobId, version: MODEL, status: "starting", urls },
        { status: 201 },
      );
    }
    return answer();
  });
  const body = { version: MODEL, input: { prompt: "a fox" } };
  const call = {
    connection: "replicate",
    path: "/v1/predictions",
    body,
    bindings: OFFERED,
    headers,
  };
  const taskId = await aSubmittedTask({ ...call, ...(key !== undefined && { key }) });
  return { jobId, taskId, outside, set: (other) => (state = other) };
}

/** Cancels a prediction as `replicate.predictions.cancel` does. */
function cancel(jobId: string, key?: string, path = `/v1/predictions/${jobId}/cancel`) {
  const message = { method: "POST", ...(key !== undefined && { key }) };
  return callJob("replicate", path, message, OFFERED);
}

const asked = (outside: Outside, jobId: string) =>
  outside
    .sentTo(`${API}/${jobId}`)
    .map(({ method, url }: Sent) => `${method} ${url.slice(API.length)}`);

it("a call of Replicate's predictions.cancel cancels the task, asks Replicate once, and returns the prediction, which is Replicate's job, as canceled", async () => {
  const { jobId, taskId, outside } = await aPrediction();
  const response = await cancel(jobId);
  expect(response.status).toBe(200);
  expect(response.headers.get("Relay-Task-Id")).toBe(taskId);
  expect(await response.json()).toMatchObject({
    id: jobId,
    status: "canceled",
    urls: { cancel: `${ORIGIN}/v1/submit/replicate/v1/predictions/${jobId}/cancel` },
  });
  expect(asked(outside, jobId)).toEqual([`POST /${jobId}/cancel`, `GET /${jobId}`]);
  expect(await readSubmitted(taskId, OFFERED)).toMatchObject({
    status: "failed",
    error: { code: "canceled" },
  });
});

it("when a client cancels a Replicate job right after reading it, the relay reads the job again, and the response shows it as canceled", async () => {
  const { jobId } = await aPrediction();
  expect(await (await callJob("replicate", `/v1/predictions/${jobId}`)).json()).toMatchObject({
    status: "processing",
  });
  expect(await (await cancel(jobId)).json()).toMatchObject({ status: "canceled" });
  expect(await (await callJob("replicate", `/v1/predictions/${jobId}`)).json()).toMatchObject({
    status: "canceled",
  });
});

it("an account that cancels its job by the upstream SDK's own call gets its price back once, even when the call is repeated", async () => {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const { jobId, taskId, outside } = await aPrediction(key);
  expect(await balanceOf(account)).toBe(100 - PRICE);
  const answers = await Promise.all([cancel(jobId, key), cancel(jobId, key), cancel(jobId, key)]);
  answers.push(await cancel(jobId, key));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  await untilIdle(taskId);
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`, `refund ${PRICE}`]);
  expect(asked(outside, jobId).filter((line) => line.startsWith("POST"))).toHaveLength(1);
});

it("when an account cancels a Replicate job whose result the relay already has, nothing is refunded, and the response is the finished job", async () => {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const { jobId, taskId, set, outside } = await aPrediction(key);
  set({ status: "succeeded", output: VIDEO });
  await callJob("replicate", `/v1/predictions/${jobId}`, { key }, OFFERED);
  await untilIdle(taskId);
  const response = await cancel(jobId, key);
  expect(await response.json()).toMatchObject({ status: "succeeded", output: VIDEO });
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`]);
  expect(asked(outside, jobId)).not.toContain(`POST /${jobId}/cancel`);
});

it("when Replicate answers an account's cancellation with the finished job, the task is completed and nothing is refunded", async () => {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const ended = { status: "succeeded", output: VIDEO };
  const { jobId, taskId } = await aPrediction(key, ended);
  const response = await cancel(jobId, key);
  expect(await response.json()).toMatchObject(ended);
  await untilIdle(taskId);
  expect(await readSubmitted(taskId, OFFERED)).toMatchObject({ status: "completed" });
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`]);
});

it("when Replicate shows a result after it has confirmed a job's cancellation, the task stays failed as canceled, and its price is refunded only once", async () => {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const { jobId, taskId, set } = await aPrediction(key);
  await cancel(jobId, key);
  set({ status: "succeeded", output: VIDEO });
  pass(2_000);
  await callJob("replicate", `/v1/predictions/${jobId}`, { key }, OFFERED);
  await untilIdle(taskId);
  expect(await readSubmitted(taskId, OFFERED)).toMatchObject({ error: { code: "canceled" } });
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`, `refund ${PRICE}`]);
});

it("an account that cancels a job of another account, a job of the operator or an unknown job gets 404 in the upstream's form, and nothing is sent to the upstream", async () => {
  const { key } = await aKey(await anAccount(100));
  const { key: foreign } = await aKey(await anAccount(100));
  const own = await aPrediction(key);
  const ofOperator = await aPrediction();
  const refused = [
    await cancel(own.jobId, foreign),
    await cancel(ofOperator.jobId, key),
    await cancel("made-up-1234", key),
    await cancel("made-up-1234"),
  ];
  for (const response of refused) {
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      status: 404,
      detail: "No job with this id was submitted through the relay.",
    });
  }
  expect(asked(ofOperator.outside, ofOperator.jobId)).toEqual([]);
  expect(await readSubmitted(own.taskId, OFFERED)).toMatchObject({ status: "pending" });
});

it("an account can neither cancel nor read a job that the operator has submitted for it: it gets 404, and nothing is sent to the upstream", async () => {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const { jobId, taskId, outside } = await aPrediction(undefined, {}, { "Relay-Account": account });
  expect((await cancel(jobId, key)).status).toBe(404);
  const read = await callJob("replicate", `/v1/predictions/${jobId}`, { key }, OFFERED);
  expect(read.status).toBe(404);
  expect(asked(outside, jobId)).toEqual([]);
  expect(await readSubmitted(taskId, OFFERED)).toMatchObject({ status: "pending", account });
});

it("a cancellation whose path has tricks such as .. or // cancels nothing: it gets 400 or 404, and nothing is sent to the upstream", async () => {
  const { jobId, taskId, outside } = await aPrediction();
  const before = outside.sentTo("https://").length;
  const tricks = [
    `/v1/predictions/..%2fpredictions%2f${jobId}/cancel`,
    `/v1/predictions/${jobId}%2fcancel`,
    `/v1/predictions//${jobId}/cancel`,
    `/v1/predictions/${jobId}/cancel/cancel`,
    `/v1/trainings/${jobId}/cancel`,
  ];
  for (const path of tricks)
    expect([400, 404]).toContain((await cancel(jobId, undefined, path)).status);
  for (const method of ["PUT", "DELETE"]) {
    const response = await callJob("replicate", `/v1/predictions/${jobId}/cancel`, { method });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      detail: expect.stringContaining("POST /v1/predictions/{id}/cancel"),
    });
  }
  expect(outside.sentTo("https://")).toHaveLength(before);
  expect(await readSubmitted(taskId, OFFERED)).toMatchObject({ status: "pending" });
});

it("a key with the role read cannot cancel a job by the upstream's own call, and the rate limit LIMIT_LISTS applies to such calls", async () => {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const { key: reading } = await aKey(account, "read");
  const { jobId, outside } = await aPrediction(key);
  expect(await refusal(await cancel(jobId, reading))).toEqual({ status: 403, code: "forbidden" });
  expect(asked(outside, jobId)).toEqual([]);
  const limited = { ...OFFERED, LIMIT_LISTS: aRateLimit(0) };
  const path = `/v1/predictions/${jobId}/cancel`;
  const response = await callJob("replicate", path, { method: "POST", key }, limited);
  expect(await refusal(response)).toEqual(LIMITED);
});

const FAL = "https://queue.fal.run/fal-ai/veo3";
const VIDEOS = "https://videos.example.org/v1/videos";
const ARK_TASKS = "https://ark.cn-beijing.volces.com/api/v3/contents/generations/tasks";
const RUNWAY = "https://api.dev.runwayml.com/v1";
const LUMA = "https://api.lumalabs.ai/dream-machine/v1/generations";
const PROMPT = { prompt: "a fox" };

/** Jobs of upstreams that answer a cancellation with something of their own. */
const JOBS = {
  ark: {
    prefix: ARK_TASKS,
    path: "/contents/generations/tasks",
    body: { model: "doubao-seedance-2-0-260128", content: [] },
    created: { id: "cgt-1" },
    read: { id: "cgt-1", status: "queued" },
    ended: { id: "cgt-1", status: "succeeded", content: { video_url: VIDEO } },
    cancel: "DELETE /contents/generations/tasks/cgt-1",
  },
  fal: {
    prefix: FAL,
    path: "/fal-ai/veo3",
    body: PROMPT,
    created: { request_id: "fal-1" },
    read: { request_id: "fal-1", status: "IN_QUEUE" },
    ended: { request_id: "fal-1", status: "COMPLETED", video: { url: VIDEO } },
    cancel: "PUT /fal-ai/veo3/requests/fal-1/cancel",
  },
  runway: {
    prefix: RUNWAY,
    path: "/v1/text_to_video",
    body: { model: "veo3.1", promptText: "a fox", ratio: "1280:720" },
    created: { id: "run-1" },
    read: { id: "run-1", status: "RUNNING" },
    ended: { id: "run-1", status: "SUCCEEDED", output: [VIDEO] },
    cancel: "DELETE /v1/tasks/run-1",
  },
  luma: {
    prefix: LUMA,
    path: "/generations/video",
    body: { model: "ray-2", prompt: "a fox" },
    created: { id: "luma-1", state: "queued" },
    read: { id: "luma-1", state: "dreaming" },
    ended: { id: "luma-1", state: "completed", assets: { video: VIDEO } },
    cancel: "DELETE /generations/luma-1",
  },
  "openai-videos": {
    prefix: VIDEOS,
    path: "/v1/videos",
    body: { model: "sora-2", prompt: "a fox" },
    created: { id: "video_1", object: "video", status: "queued" },
    read: { id: "video_1", object: "video", status: "in_progress" },
    ended: { id: "video_1", object: "video", status: "completed", url: VIDEO },
    cancel: "DELETE /v1/videos/video_1",
  },
} as const;
type Known = keyof typeof JOBS;

/** Submits a job of an upstream that confirms each cancellation. Returns what the SDK's own call is answered with. */
async function canceled(name: Known, isEnded: boolean, key?: string) {
  const { prefix, path, body, created, read, ended, cancel: line } = JOBS[name];
  const outside = anUpstream(prefix, ({ method, url }) => {
    if (method === "POST") return Response.json(created);
    if (method === "GET") return Response.json(isEnded ? ended : read);
    if (url.includes("fal")) return Response.json({ status: "OK" });
    return name === "ark" ? Response.json({}) : new Response(null, { status: 204 });
  });
  const own = key === undefined ? {} : { key };
  const taskId = await aSubmittedTask({ connection: name, path, body, bindings: OFFERED, ...own });
  const [method = "", target = ""] = line.split(" ");
  if (isEnded) {
    const result = target.replace("/cancel", name === "fal" ? "/status" : "");
    await callJob(name, result, own, OFFERED);
    await untilIdle(taskId);
  }
  const response = await callJob(name, target, { method, ...own }, OFFERED);
  const text = await response.text();
  const answered = [response.status, text === "" ? null : JSON.parse(text)];
  return { answered, taskId, outside, response };
}

it.each([
  ["ark", [200, {}]],
  ["fal", [202, { status: "CANCELLATION_REQUESTED" }]],
  ["runway", [204, null]],
  ["luma", [204, null]],
  ["openai-videos", [200, { id: "video_1", object: "video.deleted", deleted: true }]],
] as const)(
  "when a job of %s is canceled by the upstream's own call, the response has the form that the upstream documents",
  async (name, expected) => {
    const { answered, taskId } = await canceled(name, false);
    expect(answered).toEqual(expected);
    expect(await readSubmitted(taskId, OFFERED)).toMatchObject({ error: { code: "canceled" } });
  },
);

it.each([
  ["ark", [409, { error: { code: "InvalidAction.RunningTaskDeletion" } }]],
  ["fal", [400, { status: "ALREADY_COMPLETED" }]],
  ["runway", [400, { error: expect.stringContaining("ended") }]],
  ["luma", [400, { detail: expect.stringContaining("ended") }]],
  ["openai-videos", [400, { error: { type: "invalid_request_error" } }]],
] as const)(
  "when a client cancels a job of %s that has already ended, nothing is canceled, and the response has the upstream's form",
  async (name, expected) => {
    const { answered, taskId, outside } = await canceled(name, true);
    expect(answered).toMatchObject(expected);
    expect(await readSubmitted(taskId, OFFERED)).toMatchObject({ status: "completed" });
    const changes = outside.sentTo(JOBS[name].prefix).filter(({ method }) => method !== "GET");
    expect(changes).toHaveLength(1);
  },
);

/** Cancels a task of Ark whose job has this state, and whose upstream answers a `DELETE` with this status. */
async function unconfirmed(state: string, status: number) {
  const { prefix, path, body, created, cancel: line } = JOBS.ark;
  const outside = anUpstream(prefix, ({ method }) => {
    if (method === "DELETE") return Response.json({}, { status });
    return Response.json(method === "POST" ? created : { ...JOBS.ark.read, status: state });
  });
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const taskId = await aSubmittedTask({ connection: "ark", path, body, bindings: OFFERED, key });
  const target = line.slice("DELETE ".length);
  const response = await callJob("ark", target, { method: "DELETE", key }, OFFERED);
  return { account, taskId, outside, response };
}

describe("a cancellation that the upstream does not confirm", () => {
  useHeldWaits();

  it.each([
    ["running", 200, 409, "Ark cancels no running job"],
    ["queued", 409, 409, "Ark refuses"],
    ["queued", 503, 504, "Ark has an error"],
    ["queued", 404, 504, "the relay does not understand Ark's answer"],
  ])(
    "when a client deletes an Ark job that is %s, and Ark answers a DELETE with %i, the client gets %i in Ark's form, and the job goes on: %s",
    async (state, status, expected) => {
      const { account, taskId, response } = await unconfirmed(state, status);
      expect(response.status).toBe(expected);
      expect(await response.json()).toMatchObject({ error: { code: expect.any(String) } });
      expect(await readSubmitted(taskId, OFFERED)).not.toMatchObject({ status: "failed" });
      expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`]);
    },
  );
});

it("when an account deletes a running video of an upstream that cannot stop jobs, it gets 400 in the upstream's form, and no refund", async () => {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const { answered, taskId } = await canceled("openai-videos", false, key);
  expect(answered).toMatchObject([400, { error: { type: "invalid_request_error" } }]);
  await untilIdle(taskId);
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`]);
});

it("a cancellation of a fal job at the path of another model than the job's gets 404, and nothing is sent to fal", async () => {
  const { outside } = await canceled("fal", true);
  const path = "/fal-ai/flux/requests/fal-1/cancel";
  const response = await callJob("fal", path, { method: "PUT" }, OFFERED);
  expect(response.status).toBe(404);
  expect(outside.sentTo("https://queue.fal.run/fal-ai/flux")).toEqual([]);
});
