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

const id = "a1b2c3d4e5f60718293a4b5c6d7e8f90";
const url = "https://static.atlascloud.ai/media/videos/out.mp4";
const path = `/api/v1/model/prediction/${id}`;
const success = {
  id,
  model: "bytedance/seedance-2.0/text-to-video",
  status: "completed",
  outputs: [url],
  error: "",
};
const event = {
  session_id: id,
  event_type: "video.task.terminal",
  status: "OK",
  payload: success,
  error: null,
};
const { hook, poll } = examplesOf(id, path);
const answer = (data: unknown) => ({ code: 200, message: "success", data });
const inState = (status: string) => ({ ...success, status, outputs: [] });
const ended = (status: string) => ({ ...event, payload: inState(status) });
const refused = (error: string, payload: object | null = { status: "failed", outputs: [] }) => ({
  ...event,
  status: "ERROR",
  payload,
  error,
});

const MODELS = "/api/v1/model";
const GENERATE_IMAGE = `${MODELS}/generateImage`;
const job = { id, endpoint: null };
const call: Omit<SubmitCall, "path"> = {
  body: {
    model: "bytedance/seedance-2.0/text-to-video",
    prompt: "a fox",
    duration: 5,
    resolution: "1080p",
    aspect_ratio: "16:9",
    seed: 7,
    generate_audio: true,
  },
  model: "bytedance/seedance-2.0/text-to-video",
  endpoint: null,
  metadata: { seed: 7, ratio: "16:9", duration: 5, resolution: "1080p", generate_audio: true },
  answer: "job",
  takesMultipart: false,
};
const submitted = answersAt(`${MODELS}/generateVideo`);
const fault = (code: number, message: string) => ({ code, message, data: null });

const submits: SubmitExamples = {
  calls: [
    { ...call, path: `${MODELS}/generateVideo` },
    {
      ...call,
      path: GENERATE_IMAGE,
      body: { model: "google/nano-banana-2/text-to-image", prompt: "a fox", aspect_ratio: "1:1" },
      model: "google/nano-banana-2/text-to-image",
      metadata: { ratio: "1:1" },
      answer: "job-or-result",
    },
    {
      ...call,
      path: `${MODELS}/generateAudio`,
      body: { model: "minimax/speech", text: "a fox" },
      model: "minimax/speech",
      metadata: {},
    },
  ],
  otherPaths: [path, `${MODELS}/uploadMedia`, MODELS, "/api/v1/models", "/v1/chat/completions"],
  accepted: submitted("a prediction in the queue", answer(inState("processing")), { job }),
  result: answersAt(GENERATE_IMAGE)(
    "a prediction that has succeeded before the answer",
    answer(success),
    { job, result: completed([url]) },
  ),
  refused: submitted(
    "an account without balance, with HTTP 200",
    fault(402, "insufficient balance"),
    { refused: "funds" },
  ),
  limited: submitted("too many requests", fault(429, "rate limited"), { refused: "rate" }, 429),
  outage: submitted("an outage", undefined, "unclear", 502),
  withoutId: submitted("no prediction", answer(null), "unclear"),
  others: [
    submitted("a fault, with HTTP 200", fault(500, "internal error"), "unclear"),
    submitted(
      "a prediction that has failed before the answer",
      answer({ ...inState("failed"), error: "Worker crashed" }),
      { job, result: failed("provider", "Worker crashed") },
    ),
  ],
};

export const examples: Examples = {
  provider: "atlascloud",
  hooks: {
    success: hook("a success", event, completed([url])),
    noOutput: hook(
      "a success without URL",
      { ...event, payload: { ...success, outputs: null } },
      NO_OUTPUT,
    ),
    moderation: hook(
      "a stop by moderation",
      refused("content policy violation"),
      failed("moderation", "content policy violation"),
    ),
    failure: hook(
      "a failure that is no moderation",
      refused("Worker crashed"),
      failed("provider", "Worker crashed"),
    ),
    running: { exempt: "A hook is sent at the end of a job only." },
    unknownState: hook("an unknown state", ended("polishing"), null),
    unreadable: hook("a success without a job id", { ...event, session_id: "" }, "nothing"),
    others: [
      hook(
        "a success of an image job with two outputs",
        {
          ...event,
          event_type: "image.task.terminal",
          payload: { ...success, outputs: [url, `${url}?2`] },
        },
        completed([url, `${url}?2`]),
      ),
      hook("OK without a prediction", { ...event, payload: null }, NO_OUTPUT),
      hook(
        "a failure without a prediction, whose error is an object",
        { ...refused("", null), error: { message: "Worker crashed" } },
        failed("provider", "Worker crashed"),
      ),
      hook(
        "a failure whose error is in the prediction",
        { ...event, payload: { ...inState("failed"), error: "Worker crashed" } },
        failed("provider", "Worker crashed"),
      ),
      hook("OK with a prediction that timed out", ended("timeout"), endedAs("timeout", "timeout")),
      hook(
        "OK with a prediction that was cancelled",
        ended("cancelled"),
        endedAs("canceled", "cancelled"),
      ),
      hook("ERROR with an unknown state", refused("", inState("polishing")), null),
    ],
  },
  submits,
  polls: {
    success: poll("a success", answer(success), completed([url])),
    noOutput: poll("a success without URL", answer({ ...success, outputs: [] }), NO_OUTPUT),
    moderation: poll(
      "a stop by moderation",
      answer({ ...inState("failed"), error: "content policy violation" }),
      failed("moderation", "content policy violation"),
    ),
    failure: poll(
      "a failure",
      answer({ ...inState("failed"), error: "E1" }),
      failed("provider", "E1"),
    ),
    running: poll("the state processing", answer(inState("processing")), PROCESSING),
    unknownState: poll("an unknown state", answer(inState("polishing")), null),
    others: [
      ...["created", "queued", "starting"].map((state) =>
        poll(`the state ${state}`, answer(inState(state)), QUEUED),
      ),
      poll(
        "a success with its video in another member, its id in task_id, and its cost",
        {
          task_id: id,
          status: "completed",
          output: { video_url: url, duration: 10 },
          usage: { cost: 0.222, model: "seedance-v1.5-pro" },
        },
        using({ cost: 0.222 }, completed([url], { duration: 10 })),
      ),
      poll(
        "a success whose outputs are a list as JSON, beside calls about it",
        answer({
          ...success,
          outputs: JSON.stringify([url, `${url}?2`]),
          urls: { result: `${url}?3` },
        }),
        completed([url, `${url}?2`]),
      ),
      poll("the state timeout", answer(inState("timeout")), endedAs("timeout", "timeout")),
      poll("the state canceled", answer(inState("canceled")), endedAs("canceled", "canceled")),
      poll("a key that is refused", { code: 401, message: "unauthorized" }, "unauthorized"),
      poll("too many requests", { code: 429, message: "slow down" }, "limited"),
      poll("no such prediction", { code: 404, message: "not found", data: null }, "unclear"),
    ],
  },
};
