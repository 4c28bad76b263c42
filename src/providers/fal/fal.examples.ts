import { type CancelExamples, NO_BODY } from "../shared/examples/cancel-examples.ts";
import {
  type Examples,
  examplesOf,
  type HookExample,
  type PollExample,
} from "../shared/examples/report-examples.ts";
import {
  answersAt,
  type SubmitCall,
  type SubmitExamples,
} from "../shared/examples/submit-examples.ts";
import {
  completed,
  failed,
  NO_OUTPUT,
  PROCESSING,
  QUEUED,
  using,
} from "../shared/examples/meanings.ts";

const id = "764cabcf-b745-4b3e-ae38-1200304cf45b";
const url = "https://v3.fal.media/files/a/b.mp4";
const endpoint = "fal-ai/kling-video/v2/master/text-to-video";
const path = `/fal-ai/kling-video/requests/${id}`;
const headers = { "X-Fal-Webhook-Timestamp": "1767225600" };
const signedAt = 1_767_225_600_000;
const request = { request_id: id, gateway_request_id: id };

const ok = (payload: unknown) => ({ status: "OK", payload });
const error = (detail: unknown, text = "Invalid status code: 422") => ({
  status: "ERROR",
  error: text,
  payload: { detail },
});
const wrongInput = [
  { loc: ["body", "prompt"], msg: "field required", type: "value_error.missing" },
  { loc: ["body", "seed"], msg: "not an integer", type: "type_error" },
];
const unsafe = [{ loc: ["body", "prompt"], msg: "Flagged.", type: "content_policy_violation" }];

const done = { status: "COMPLETED", request_id: id };
const metrics = { inference_time: 41.2 };
const timedOut = { error: "Request timed out", error_type: "request_timeout" };
const { hook: undated, poll: statusPoll } = examplesOf(id, `${path}/status`, endpoint);

function hook(name: string, rest: object, means: HookExample["means"]): HookExample {
  return { ...undated(name, { ...request, ...rest }, means), headers };
}

/** Builds a poll in which fal first says that the request is completed, and then gives this answer about its result. */
function resultPoll(
  name: string,
  status: number,
  body: unknown,
  means: PollExample["means"],
  statusFields: object = {},
) {
  const poll = statusPoll(name, { ...done, ...statusFields }, means);
  return { ...poll, exchanges: [...poll.exchanges, { path, answer: { status, body } }] };
}

const call: Omit<SubmitCall, "path" | "model" | "endpoint"> = {
  body: {
    prompt: "a fox",
    seed: 42,
    aspect_ratio: "16:9",
    duration: "5",
    resolution: "720p",
    generate_audio: false,
  },
  metadata: { seed: 42, ratio: "16:9", duration: 5, resolution: "720p", generate_audio: false },
  answer: "job",
  takesMultipart: false,
};
const WORKFLOW = "workflows/ann/poster";
const LONGEST = `fal-ai/${"a".repeat(249)}`;
const submitted = answersAt(`/${endpoint}`);
const queued = {
  status: "IN_QUEUE",
  request_id: id,
  response_url: `https://queue.fal.run${path}`,
  status_url: `https://queue.fal.run${path}/status`,
  cancel_url: `https://queue.fal.run${path}/cancel`,
  queue_position: 0,
};

const submits: SubmitExamples = {
  calls: [endpoint, "fal-ai/flux-pro/v1.1", WORKFLOW, LONGEST].map((model) => ({
    ...call,
    path: `/${model}`,
    model,
    endpoint: model,
  })),
  otherPaths: [
    path,
    `${path}/status`,
    `${path}/status/stream`,
    `${path}/cancel`,
    "/fal-ai/flux/Requests",
    "/fal-ai",
    "/workflows/ann",
    `/${LONGEST}a`,
    "/fal-ai/../flux",
    "/fal-ai/.flux",
    "/fal-ai//flux",
    "/fal-ai/flux%2Frequests",
  ],
  accepted: submitted("a request in the queue", queued, { job: { id, endpoint } }),
  result: { exempt: "fal answers before the request runs." },
  refused: submitted(
    "a wrong key",
    { detail: "Cannot access application. Authentication is required." },
    { refused: "key" },
    401,
  ),
  limited: submitted(
    "too many requests",
    { detail: "Rate limit exceeded" },
    { refused: "rate" },
    429,
  ),
  outage: submitted("an outage", undefined, "unclear", 503),
  withoutId: submitted("no id", { status: "IN_QUEUE", gateway_request_id: id }, "unclear"),
  others: [
    submitted(
      "another id at the gateway",
      { ...queued, gateway_request_id: "another" },
      { job: { id, endpoint } },
    ),
    submitted("an id of the wrong type", { request_id: [id] }, "unclear"),
    submitted(
      "an id of 512 characters",
      { request_id: "a".repeat(512) },
      {
        job: { id: "a".repeat(512), endpoint },
      },
    ),
    submitted("an id of 513 characters", { request_id: "a".repeat(513) }, "unclear"),
    submitted("an id with half of a surrogate pair", { request_id: "a\ud800" }, "unclear"),
  ],
};

const cancels: CancelExamples = {
  job: { id: "764cabcf", endpoint: "fal-ai/veo3/fast" },
  request: { method: "PUT", path: "/fal-ai/veo3/requests/764cabcf/cancel" },
  onlyWhile: null,
  forgetsCanceled: false,
  answers: [
    ["a request was removed from the queue", 200, { status: "OK" }, "canceled"],
    ["a signal was sent", 202, { status: "CANCELLATION_REQUESTED" }, "accepted"],
    ["the request has ended", 400, { status: "ALREADY_COMPLETED" }, "ended"],
    ["the request is not known", 404, { status: "NOT_FOUND" }, "unknown"],
    ["a page", 200, NO_BODY, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "fal",
  hooks: {
    success: hook(
      "a success",
      ok({ video: { url }, seed: 42 }),
      completed([url], { seed: 42 }, signedAt),
    ),
    noOutput: hook(
      "a result that could not be written as JSON",
      { ...ok(null), payload_error: "Response payload is not JSON serializable" },
      NO_OUTPUT,
    ),
    moderation: hook("a stop by moderation", error(unsafe), failed("moderation", "Flagged.")),
    failure: hook(
      "wrong input",
      error(wrongInput),
      failed("invalid_input", "field required; not an integer"),
    ),
    running: { exempt: "fal sends a hook at the end of a job only." },
    unknownState: hook("an unknown state", { status: "PONDERING", payload: {} }, null),
    unreadable: hook("an id of the wrong type", { request_id: [id], status: "OK" }, "nothing"),
    others: [
      hook(
        "several videos",
        ok({ videos: [{ url }, { url: `${url}?2` }] }),
        completed([url, `${url}?2`], {}, signedAt),
      ),
      hook("images", ok({ images: [{ url }] }), completed([url], {}, signedAt)),
      hook("an image", ok({ image: { url } }), completed([url], {}, signedAt)),
      hook("audio", ok({ audio: { url } }), completed([url], {}, signedAt)),
      hook(
        "a success after an internal retry",
        { ...ok({ video: { url } }), gateway_request_id: "another" },
        completed([url], {}, signedAt),
      ),
      undated("a success, undated", { ...request, ...ok({ video: { url } }) }, completed([url])),
      hook("a success without URL", ok({ video: null }), NO_OUTPUT),
      hook(
        "a model that took too long",
        error([{ loc: [], msg: "Generation took too long", type: "generation_timeout" }]),
        failed("timeout", "Generation took too long"),
      ),
      hook(
        "a request error",
        {
          status: "ERROR",
          error: "Runner gone",
          payload: { detail: "Runner disconnected", error_type: "runner_disconnected" },
        },
        failed("provider", "Runner disconnected"),
      ),
      hook(
        "a failure of the runner",
        { status: "ERROR", error: "Invalid status code: 500", payload: null },
        failed("provider", "Invalid status code: 500"),
      ),
      hook(
        "a stop by moderation, as one text",
        error("NSFW content was found"),
        failed("moderation", "NSFW content was found"),
      ),
      hook(
        "wrong input, as one text",
        error("No face was found"),
        failed("invalid_input", "No face was found"),
      ),
      undated("a list", "[]", "nothing"),
    ],
  },
  submits,
  polls: {
    success: resultPoll(
      "a success",
      200,
      { video: { url }, seed: 42 },
      using(metrics, completed([url], { seed: 42 })),
      { metrics },
    ),
    noOutput: resultPoll("a success without URL", 200, {}, NO_OUTPUT),
    moderation: resultPoll(
      "a completed request that was refused",
      422,
      { detail: unsafe },
      failed("moderation", "Flagged."),
    ),
    failure: resultPoll(
      "a completed request with wrong input",
      422,
      { detail: wrongInput },
      failed("invalid_input", "field required; not an integer"),
    ),
    running: statusPoll("the state in progress", { status: "IN_PROGRESS" }, PROCESSING),
    unknownState: statusPoll("an unknown state", { status: "PONDERING", request_id: id }, null),
    others: [
      statusPoll("in the queue", { status: "IN_QUEUE", queue_position: 3 }, QUEUED),
      resultPoll(
        "a completed request that was cancelled",
        499,
        { detail: "Request cancelled", error_type: "client_cancelled" },
        failed("canceled", "Request cancelled"),
      ),
      ...[504, 403, 429, 200].map((status) =>
        resultPoll(
          `a completed request with an error in its status and a result of no JSON with HTTP ${status}`,
          status,
          undefined,
          failed("timeout", "Request timed out"),
          timedOut,
        ),
      ),
      resultPoll(
        "a completed request with an error in its status and a moderation error in its result",
        403,
        { detail: unsafe },
        failed("moderation", "Flagged."),
        timedOut,
      ),
      resultPoll(
        "a completed request with the HTTP status of a runner as the error in its status",
        502,
        undefined,
        using(metrics, failed("provider", "Invalid status code: 502")),
        { error: "Invalid status code: 502", metrics },
      ),
      resultPoll(
        "a completed request with a list of faults of the server in its result",
        500,
        { detail: [{ loc: [], type: "internal_server_error", msg: "Internal server error" }] },
        failed("provider", "Internal server error"),
      ),
      resultPoll(
        "a completed request with the error of a runner in its result",
        503,
        { detail: "Runner disconnected", error_type: "runner_disconnected" },
        failed("provider", "Runner disconnected"),
      ),
      resultPoll(
        "a completed request that was refused with one text",
        422,
        { detail: "NSFW content was found" },
        failed("moderation", "NSFW content was found"),
      ),
      resultPoll(
        "a completed request whose input was refused with one text",
        422,
        { detail: "No face was found" },
        failed("invalid_input", "No face was found"),
      ),
      resultPoll("an outage in place of a result", 502, undefined, "unclear"),
      resultPoll("an outage in JSON", 503, { detail: "Service unavailable" }, "unclear"),
      resultPoll("a result that is forbidden", 403, { detail: "Forbidden" }, "unclear"),
      resultPoll("too many requests for results", 429, { detail: "Slow down" }, "limited"),
      resultPoll("a redirect in place of a result", 307, undefined, "unclear"),
      resultPoll(
        "a result that is not there yet",
        400,
        { detail: "Request is still in progress" },
        "unclear",
      ),
      resultPoll("a result that is no JSON", 200, undefined, "unclear"),
      statusPoll("no such request", { detail: "Not found" }, "unclear"),
      examplesOf(
        id,
        `/workflows/ann/poster/requests/${id}/status`,
        "workflows/ann/poster/run",
      ).poll("a workflow, whose app has three segments", { status: "IN_QUEUE" }, QUEUED),
    ],
  },
  cancels,
};
