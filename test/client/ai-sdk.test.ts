import { expect, it } from "vitest";
import { webhooksFor } from "../../client/src/ai-sdk.ts";
import {
  answer,
  connect,
  event,
  ID,
  OPEN,
  outcomeOf,
  refusal,
  type Scripted,
  ScriptedStream,
  useFakeTime,
} from "./scripted-relay.ts";

useFakeTime();

const HOOK_URL = `https://r.test/hooks/fal/${ID}/token`;
const REGISTERED = answer(201, { ...OPEN, hook_url: HOOK_URL });
const COMPLETED = {
  id: ID,
  status: "completed",
  output: { urls: ["https://cdn.example.com/a.mp4"] },
};
const SUBMISSION = `https://queue.fal.run/fal-ai/fox/video?fal_webhook=${encodeURIComponent(HOOK_URL)}`;
/** Stream that shows the end of the task after a second. */
const ends = () => new ScriptedStream("ends", 1000, event("1", COMPLETED));

/** Registers a task at a relay with these answers, and submits a job, which the upstream answers so. */
async function submitted(upstream: Response, ...answers: readonly Scripted[]) {
  const { relay, http } = connect(REGISTERED, ...answers);
  const sent: unknown[] = [];
  const { webhook, fetch: send } = webhooksFor(relay, "fal", {
    fetch: async (...call) => {
      sent.push(call);
      return upstream.clone();
    },
  });
  const { url, received } = await webhook({ model: "m" })();
  const call = { method: "POST", body: '{"prompt": "a fox"}' };
  const response = await send(SUBMISSION, call);
  return { url, received, response, http, send, sent, call };
}

it("the fetch function that the client gives the AI SDK reads the job's id in fal's answer, attaches this job to the task, and returns the answer unchanged", async () => {
  const upstream = answer(200, { request_id: "r-1" });
  const { url, received, response, http, sent, call } = await submitted(
    upstream,
    ends(),
    REGISTERED,
  );
  expect(url).toBe(HOOK_URL);
  expect(sent).toEqual([[SUBMISSION, call]]);
  expect(await response.json()).toEqual({ request_id: "r-1" });
  const { id, status, output } = COMPLETED;
  expect(await outcomeOf(received)).toEqual({ headers: {}, body: { id, status, output } });
  expect(http.requests.map(({ url: to }) => new URL(to).pathname)).toEqual([
    "/v1/tasks",
    `/v1/tasks/${ID}/events`,
    `/v1/tasks/${ID}/upstream`,
  ]);
  expect(JSON.parse(http.bodies[2] ?? "")).toEqual({
    provider: "fal",
    id: "r-1",
    endpoint: "fal-ai/fox/video",
  });
});

it("the client's promise of a webhook for the AI SDK rejects when the relay refuses to attach the job, but resolves with the result when the task has already ended", async () => {
  const upstream = answer(200, { id: "p-1" });
  const endless = new ScriptedStream("stays open");
  const refused = await submitted(upstream, endless, refusal(400, "invalid_request"));
  expect(await outcomeOf(refused.received)).toMatchObject({
    message: `The job p-1 runs, but could not be attached to the task ${ID}: 400 invalid_request: Planted.`,
    cause: { code: "invalid_request" },
  });
  const settled = await submitted(upstream, ends(), refusal(409, "task_settled"));
  expect(await outcomeOf(settled.received)).toMatchObject({ body: { status: "completed" } });
});

it("the client's promise of a webhook for the AI SDK rejects, with the task's id and the cause, when the relay has not been reachable for five minutes", async () => {
  const { received } = await submitted(answer(503, {}), "lost");
  expect(await outcomeOf(received)).toMatchObject({
    message: `The relay gives no answer about the task ${ID} any more.`,
    cause: new TypeError("fetch failed"),
  });
});

it("the client's fetch for the AI SDK attaches no job to the task when the call names no hook URL, when the answer names no job, or when the call repeats a failed one", async () => {
  const upstreams = [answer(200, {}), new Response("no JSON"), answer(409, {}), answer(500, {})];
  for (const upstream of upstreams) {
    const { received, http, send, call } = await submitted(upstream, ends());
    await send("https://queue.fal.run/fal-ai/fox/video", call);
    expect(await outcomeOf(received)).toMatchObject({ body: { status: "completed" } });
    await send(SUBMISSION, call);
    expect(http.requests).toHaveLength(2);
  }
});

it("when the AI SDK asks for a webhook of a connection whose upstream sends none, the client cancels the task and rejects with an error that names the connection", async () => {
  const { relay, http } = connect(answer(201, OPEN));
  const { webhook } = webhooksFor(relay, "runway");
  await expect(webhook({ model: "m" })()).rejects.toThrow(
    "The upstream of the connection runway sends no hooks.",
  );
  expect(http.requests.map(({ url }) => new URL(url).pathname)).toEqual([
    "/v1/tasks",
    `/v1/tasks/${ID}/cancel`,
  ]);
});
