import { type CancelExamples, NO_BODY } from "../shared/examples/cancel-examples.ts";
import { type Examples, examplesOf } from "../shared/examples/report-examples.ts";
import {
  answersAt,
  type SubmitCall,
  type SubmitExamples,
} from "../shared/examples/submit-examples.ts";
import {
  completed,
  endedAs,
  failed,
  NO_OUTPUT,
  PROCESSING,
  QUEUED,
  using,
} from "../shared/examples/meanings.ts";

const id = "45b392b22c3b449fa935bd4000000001";
const url = "https://d1q70pf5vjeyhc.cloudfront.net/predictions/out.mp4";
const path = `/api/v3/predictions/${id}/result`;
const metadata = {
  seed: 7,
  ratio: "9:16",
  duration: 8,
  resolution: "1080p",
  generate_audio: false,
};
const success = {
  id,
  model: "bytedance/seedance-v1-pro",
  input: { seed: 7, aspect_ratio: "9:16", duration: 8, resolution: "1080p", audio: false },
  outputs: [url],
  urls: { get: `https://api.wavespeed.ai${path}` },
  has_nsfw_contents: [false],
  status: "completed",
  created_at: "2026-01-01T00:00:00.000Z",
  error: "",
  executionTime: 41_200,
};
const timed = { ...success, timings: { inference: 41_000 } };
const done = using({ inference: 41_000 }, completed([url], metadata));
const open = { ...success, outputs: [], has_nsfw_contents: [] };
const { hook, poll } = examplesOf(id, path);
const answer = (data: unknown) => ({ code: 200, message: "success", data });
const inState = (status: string) => ({ ...open, status });

const SEEDANCE = "/api/v3/bytedance/seedance-v1-pro-t2v-720p";
const submitted = answersAt(SEEDANCE);
const job = { id, endpoint: null };
const call: Omit<SubmitCall, "path" | "model"> = {
  body: {
    prompt: "a fox",
    duration: 8,
    seed: 7,
    aspect_ratio: "9:16",
    resolution: "1080p",
    generate_audio: false,
  },
  endpoint: null,
  metadata,
  answer: "job-or-result",
  takesMultipart: false,
};
const fault = (code: number, message: string) => ({ code, message, data: null });

const submits: SubmitExamples = {
  calls: [
    { ...call, path: SEEDANCE, model: "bytedance/seedance-v1-pro-t2v-720p" },
    {
      ...call,
      path: "/api/v3/alibaba/wan-2.5/text-to-video",
      model: "alibaba/wan-2.5/text-to-video",
    },
  ],
  otherPaths: [
    path,
    "/api/v3/predictions/delete",
    "/api/v3/media/uploads",
    "/api/v3/media/upload/binary",
    "/api/v3/webhook/secret",
    "/api/v3/model/price",
    "/api/v3/billings/search",
    "/api/v3/user/usage_stats",
    "/api/v3/balance",
    "/api/v3/models",
    "/api/v3/bytedance",
    "/api/v3/bytedance/../media/uploads",
    `/api/v3/a/${"b".repeat(200)}`,
    "/api/v2/bytedance/seedance-v1-pro-t2v-720p",
    "/bytedance/seedance-v1-pro-t2v-720p",
  ],
  accepted: submitted("a new prediction", answer(inState("created")), { job }),
  result: submitted("a prediction that has succeeded before the answer", answer(timed), {
    job,
    result: done,
  }),
  refused: submitted(
    "wrong input",
    fault(400, 'property "prompt" is missing'),
    { refused: "final" },
    400,
  ),
  limited: submitted(
    "too many requests",
    fault(429, "too many requests"),
    { refused: "rate" },
    429,
  ),
  outage: submitted("an outage", undefined, "unclear", 502),
  withoutId: submitted("no prediction", answer(null), "unclear"),
  others: [
    submitted(
      "a prediction that has failed before the answer",
      answer({ ...open, input: {}, status: "failed", error: "Worker crashed" }),
      { job, result: failed("provider", "Worker crashed") },
    ),
    submitted("a fault, with HTTP 200", fault(500, "internal error"), "unclear"),
  ],
};

const cancels: CancelExamples = {
  job: { id: "b2a9", endpoint: null },
  request: { method: "DELETE", path: "/api/v3/predictions/b2a9" },
  onlyWhile: ["queued", "processing"],
  forgetsCanceled: true,
  answers: [
    ["the prediction was deleted", 200, { data: { status: "deleted" } }, "canceled"],
    ["a page", 200, NO_BODY, "unknown"],
    ["the prediction is not known", 404, { code: 404, message: "not found" }, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "wavespeed",
  hooks: {
    success: hook("a success", timed, done),
    noOutput: hook("a success without URL", { ...success, outputs: null }, NO_OUTPUT),
    moderation: hook(
      "a stop by moderation",
      { ...open, status: "failed", error: "Generation stopped", has_nsfw_contents: [false, true] },
      failed("moderation", "Generation stopped"),
    ),
    failure: hook(
      "a failure that is no moderation",
      { ...open, status: "failed", error: "Worker crashed" },
      failed("provider", "Worker crashed"),
    ),
    running: hook("the state processing", inState("processing"), PROCESSING),
    unknownState: hook("an unknown state", inState("warming"), null),
    unreadable: hook("a success without a job id", { ...success, id: "" }, "nothing"),
    others: [
      hook(
        "a success without the input of the job",
        { ...success, input: undefined },
        completed([url]),
      ),
      hook("the state cancelled", inState("cancelled"), endedAs("canceled", "cancelled")),
      hook("the state timeout", inState("timeout"), endedAs("timeout", "timeout")),
      hook("the state deleted", inState("deleted"), endedAs("provider", "deleted")),
      hook("the state created", inState("created"), QUEUED),
      hook(
        "outputs that are objects",
        { ...success, outputs: [{ thumbnail_url: `${url}.jpg`, url }] },
        completed([url], metadata),
      ),
    ],
  },
  submits,
  polls: {
    success: poll("a success", answer(timed), done),
    noOutput: poll("a success without URL", answer({ ...success, outputs: null }), NO_OUTPUT),
    moderation: poll(
      "a stop by moderation",
      answer({ ...open, status: "failed", error: "Stopped", has_nsfw_contents: [false, true] }),
      failed("moderation", "Stopped"),
    ),
    failure: poll(
      "a failure",
      answer({ ...open, status: "failed", error: "E1" }),
      failed("provider", "E1"),
    ),
    running: poll("the state processing", answer(inState("processing")), PROCESSING),
    unknownState: poll("an unknown state", answer(inState("warming")), null),
    others: [
      poll("the state created", answer(inState("created")), QUEUED),
      poll("nothing found", answer(null), "unclear"),
    ],
  },
  cancels,
};
