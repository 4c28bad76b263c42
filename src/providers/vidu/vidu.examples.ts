import type { CancelExamples } from "../shared/examples/cancel-examples.ts";
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

const id = "854332142312214528";
const url = "https://prod-ss-vidu.example/infer/task/out.mp4?X-Amz-Signature=abc";
const path = `/tasks/${id}/creations`;
const success = {
  id,
  state: "success",
  err_code: "",
  payload: "0190f5c2-0000-7000-8000-000000000001",
  creations: [{ id: "1", url, cover_url: "https://cdn.example/cover.jpg" }],
};
const charged = { ...success, credits: 4 };
const done = using({ credits: 4 }, completed([url]));
const open = { ...success, creations: [] };
const error = (err_code: string) => ({ ...open, state: "failed", err_code });
const { hook, poll } = examplesOf(id, path);
const inState = (state: unknown) => ({ ...open, state });

const TEXT_TO_VIDEO = "/text2video";
const submitted = answersAt(TEXT_TO_VIDEO);
const job = { id, endpoint: null };
const call: Omit<SubmitCall, "path"> = {
  body: {
    model: "viduq3-pro",
    prompt: "a fox",
    duration: 5,
    seed: 7,
    aspect_ratio: "16:9",
    resolution: "720p",
    audio: true,
  },
  model: "viduq3-pro",
  endpoint: null,
  metadata: { seed: 7, ratio: "16:9", duration: 5, resolution: "720p", generate_audio: true },
  answer: "job",
  takesMultipart: false,
};
const modelCalls = [
  "/img2video",
  "/reference2video",
  "/start-end2video",
  "/multiframe",
  "/extend",
  "/reference2image",
  "/text2audio",
  "/timing2audio",
].map((other): SubmitCall => ({
  ...call,
  path: other,
  body: { model: "viduq2", duration: 5 },
  model: "viduq2",
  metadata: { duration: 5 },
}));
const created = {
  task_id: id,
  state: "created",
  model: "viduq3-pro",
  payload: "",
  credits: 4,
  created_at: "2026-01-01T00:00:00Z",
};
const fault = (code: number, reason: string) => ({ code, reason, message: "", metadata: {} });

const submits: SubmitExamples = {
  calls: [
    { ...call, path: TEXT_TO_VIDEO },
    ...modelCalls,
    {
      ...call,
      path: "/lip-sync",
      body: { video_url: url, audio_url: "https://example.com/fox.mp3" },
      model: "lip-sync",
      metadata: {},
    },
    {
      ...call,
      path: "/template-story",
      body: { story: "monkey_king", images: ["https://example.com/fox.png"] },
      model: "template-story",
      metadata: {},
    },
  ],
  otherPaths: [
    path,
    `/tasks/${id}/cancel`,
    "/audio-tts",
    "/audio-clone",
    "/subjects",
    "/credits",
    "/ent/v2/text2video",
  ],
  accepted: submitted("a new task", created, { job }),
  result: { exempt: "Vidu answers before the task runs." },
  refused: submitted(
    "an account without credits",
    fault(400, "CreditInsufficient"),
    { refused: "funds" },
    400,
  ),
  limited: submitted("too many requests", fault(429, "TooManyRequests"), { refused: "rate" }, 429),
  outage: submitted("an outage", fault(500, "InternalServerFailure"), "unclear", 500),
  withoutId: submitted("no id", { state: "created" }, "unclear"),
  others: [
    submitted(
      "a task that has failed before the answer",
      { ...created, state: "failed", err_code: "TaskPromptPolicyViolation" },
      { job, result: using({ credits: 4 }, failed("moderation", '"TaskPromptPolicyViolation"')) },
    ),
    submitted("an id of the wrong type", { ...created, task_id: { id } }, "unclear"),
  ],
};

const cancels: CancelExamples = {
  job: { id: "790002", endpoint: null },
  request: { method: "POST", path: "/tasks/790002/cancel", body: { id: "790002" } },
  onlyWhile: null,
  forgetsCanceled: false,
  answers: [
    ["the task was canceled", 200, {}, "canceled"],
    [
      "the task is scheduled",
      400,
      { code: 400, message: "task state is scheduled, can not cancel" },
      "refused",
    ],
    [
      "the task has ended",
      400,
      { code: 400, message: "task state is success, can not cancel" },
      "ended",
    ],
    ["another error", 400, { code: 400, message: "bad request" }, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "vidu",
  hooks: {
    success: hook("a success", charged, done),
    noOutput: hook("a success without URL", open, NO_OUTPUT),
    moderation: hook(
      "a stop by moderation of the prompt",
      error("TaskPromptPolicyViolation"),
      failed("moderation", '"TaskPromptPolicyViolation"'),
    ),
    failure: hook(
      "wrong input",
      error("FaceDetectFailure"),
      failed("invalid_input", '"FaceDetectFailure"'),
    ),
    running: hook("the state processing", inState("processing"), PROCESSING),
    unknownState: hook("an unknown state", inState("paused"), null),
    unreadable: hook("a success without a job id", { ...success, id: null }, "nothing"),
    others: [
      hook(
        "a success whose job id is in task_id, as in the answer to the submit call",
        { ...success, id: undefined, task_id: id },
        completed([url]),
      ),
      hook(
        "a stop by moderation of the result",
        error("AuditFailed"),
        failed("moderation", '"AuditFailed"'),
      ),
      hook("throttling", error("SystemThrottling"), failed("rate_limited", '"SystemThrottling"')),
      hook(
        "a failure that is no moderation",
        error("GenerateFailed"),
        failed("provider", '"GenerateFailed"'),
      ),
      hook(
        "a failure without code that cost nothing",
        { ...error(""), credits: 0 },
        using({ credits: 0 }, endedAs("provider", "failed")),
      ),
      hook("the state queueing", inState("queueing"), QUEUED),
      hook("the state created", inState("created"), QUEUED),
      hook("a state of the wrong type", inState(1), null),
      hook("creations of the wrong type", { ...success, creations: "none" }, NO_OUTPUT),
    ],
  },
  submits,
  polls: {
    success: poll("a success", charged, done),
    noOutput: poll("a success without URL", open, NO_OUTPUT),
    moderation: poll(
      "a failure",
      error("CreationPolicyViolation"),
      failed("moderation", '"CreationPolicyViolation"'),
    ),
    failure: poll(
      "a failure that is no moderation",
      error("GenerateFailed"),
      failed("provider", '"GenerateFailed"'),
    ),
    running: poll("the state processing", inState("processing"), PROCESSING),
    unknownState: poll("an unknown state", inState("paused"), null),
    others: [
      poll("the state created", inState("created"), QUEUED),
      poll("no such task", { code: 404, reason: "TaskNotFound", message: "none" }, "unclear", 404),
    ],
  },
  cancels,
};
