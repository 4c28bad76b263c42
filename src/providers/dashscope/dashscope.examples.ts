import type { CancelExamples } from "../shared/examples/cancel-examples.ts";
import type { FailureCategory } from "../../core/record/upstream.ts";
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

const ID = "0385dc79-5ff8-4d82-bcb6-a1b2c3d4e5f6";
const URL = "https://dashscope-result-bj.oss-cn-beijing.aliyuncs.com/a.mp4?Expires=1&Signature=x";
const IMAGE = "https://dashscope-result-bj.oss-cn-beijing.aliyuncs.com/a.png?Expires=1&Signature=x";
const { poll } = examplesOf(ID, `/api/v1/tasks/${ID}`);
const REFUSED = {
  code: "DataInspectionFailed",
  message: "Output data may contain inappropriate content.",
};
const VIDEO_USAGE = {
  duration: 5,
  input_video_duration: 3,
  output_video_duration: 6,
  SR: 720,
  fps: 30,
};

function task(task_status: string, output: object = {}, usage?: object) {
  const times = { submit_time: "2026-10-02 10:00:00.123", end_time: "2026-10-02 10:02:10.456" };
  return {
    request_id: "4909100c",
    output: { task_id: ID, task_status, ...times, ...output },
    usage,
  };
}

/** Builds the expected failure of a task whose job has failed with this code and text. */
function failure(code: string, message: string, category: FailureCategory) {
  const answer = task("FAILED", { code, message });
  return poll(`the failure ${code}: ${message}`, answer, failed(category, message));
}

const SERVICES = "/api/v1/services/aigc";
const VIDEO_PATH = `${SERVICES}/video-generation/video-synthesis`;
const MULTIMODAL = `${SERVICES}/multimodal-generation/generation`;
const submitted = answersAt(VIDEO_PATH);
const synchronous = answersAt(MULTIMODAL);
const job = { id: ID, endpoint: null };
const call: Omit<SubmitCall, "path"> = {
  body: {
    model: "wan3.0-video",
    input: { prompt: "a fox" },
    parameters: { resolution: "720P", ratio: "16:9", duration: 5, seed: 7, audio: true },
  },
  model: "wan3.0-video",
  endpoint: null,
  metadata: { seed: 7, ratio: "16:9", duration: 5, resolution: "720p", generate_audio: true },
  answer: "job",
  takesMultipart: false,
};
const imageCall: Omit<SubmitCall, "path"> = {
  ...call,
  body: { model: "wan2.6-t2i", input: { prompt: "a fox" }, parameters: { size: "1280*720" } },
  model: "wan2.6-t2i",
  metadata: { ratio: "16:9", resolution: "720p" },
};
const fault = (code: string, message: string) => ({ code, message, request_id: "4909100c" });
const choice = (content: readonly object[]) => ({
  request_id: "4909100c",
  output: { choices: [{ finish_reason: "stop", message: { role: "assistant", content } }] },
  usage: { image_count: 1 },
});

const submits: SubmitExamples = {
  calls: [
    { ...call, path: VIDEO_PATH },
    {
      ...call,
      path: `${SERVICES}/image2video/video-synthesis`,
      body: { model: "videoretalk", input: { video_url: URL, audio_url: URL } },
      model: "videoretalk",
      metadata: {},
    },
    { ...imageCall, path: `${SERVICES}/image-generation/generation` },
    { ...imageCall, path: `${SERVICES}/text2image/image-synthesis` },
    { ...imageCall, path: `${SERVICES}/image2image/image-synthesis` },
    { ...imageCall, path: `${SERVICES}/image2image/out-painting` },
    {
      ...imageCall,
      path: MULTIMODAL,
      body: { ...imageCall.body, model: "qwen-image-plus" },
      model: "qwen-image-plus",
      answer: "result",
    },
  ],
  otherPaths: [
    `/api/v1/tasks/${ID}`,
    `/api/v1/tasks/${ID}/cancel`,
    `${SERVICES}/text-generation/generation`,
    SERVICES,
    "/api/v1/uploads",
    "/compatible-mode/v1/chat/completions",
    "/services/aigc/video-generation/video-synthesis",
  ],
  accepted: submitted(
    "a task in the queue",
    { output: { task_id: ID, task_status: "PENDING" }, request_id: "4909100c" },
    { job },
  ),
  result: synchronous("an image", choice([{ image: IMAGE }]), {
    job: null,
    result: using({ image_count: 1 }, completed([IMAGE])),
  }),
  refused: submitted(
    "a model that does not exist",
    fault("InvalidParameter", "Model not exist."),
    { refused: "final" },
    400,
  ),
  limited: submitted(
    "too many requests",
    fault("Throttling.RateQuota", "Requests rate limit exceeded, please try again later."),
    { refused: "rate" },
    429,
  ),
  outage: submitted(
    "a fault of Model Studio",
    fault("InternalError", "An internal error has occured."),
    "unclear",
    500,
  ),
  withoutId: submitted("no task", { request_id: "4909100c" }, "unclear"),
  others: [
    synchronous("a text beside an image", choice([{ text: "a fox" }, { image: IMAGE }]), {
      job: null,
      result: using({ image_count: 1 }, completed([IMAGE])),
    }),
    synchronous("a text alone", choice([{ text: "a fox" }]), {
      job: null,
      result: using({ image_count: 1 }, NO_OUTPUT),
    }),
    synchronous("no choice", { request_id: "4909100c", output: {} }, "unclear"),
    submitted("an id of the wrong type", { output: { task_id: { id: ID } } }, "unclear"),
  ],
};

const cancels: CancelExamples = {
  job: { id: "13b1848b-5493", endpoint: null },
  request: { method: "POST", path: "/api/v1/tasks/13b1848b-5493/cancel" },
  onlyWhile: null,
  forgetsCanceled: false,
  answers: [
    ["a pending task was canceled", 200, { request_id: "45ac7f13" }, "canceled"],
    [
      "the task is not pending",
      400,
      { request_id: "45ac7f13", code: "UnsupportedOperation", message: "Failed to cancel" },
      "refused",
    ],
    ["another error code", 400, { code: "InvalidParameter" }, "unknown"],
    ["an error code with the status of a success", 200, { code: "Throttling" }, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "dashscope",
  hooks: null,
  submits,
  polls: {
    success: poll(
      "a video",
      task(
        "SUCCEEDED",
        { orig_prompt: "a fox", video_url: URL },
        { ...VIDEO_USAGE, size: "1280*720", ratio: "16:9" },
      ),
      using(
        VIDEO_USAGE,
        completed([URL], { ratio: "16:9", duration: 6, resolution: "720p", framespersecond: 30 }),
      ),
    ),
    noOutput: poll("a success without output", task("SUCCEEDED", { video_url: "" }), NO_OUTPUT),
    moderation: poll(
      "images, all of which moderation has stopped",
      task("SUCCEEDED", { results: [REFUSED, REFUSED] }),
      failed("moderation", REFUSED.message),
    ),
    failure: poll("a job that was cancelled", task("CANCELED"), endedAs("canceled", "CANCELED")),
    running: poll("a running job", task("RUNNING"), PROCESSING),
    unknownState: poll("an unknown state", task("PAUSED"), null),
    others: [
      poll(
        "a talking head",
        task(
          "SUCCEEDED",
          { results: { video_url: URL } },
          { video_duration: 10.23, video_ratio: "standard" },
        ),
        using({ video_duration: 10.23 }, completed([URL], { duration: 10 })),
      ),
      poll(
        "a restyled video",
        task("SUCCEEDED", { output_video_url: URL }, { duration: 5, SR: 540 }),
        using({ duration: 5, SR: 540 }, completed([URL], { duration: 5, resolution: "540p" })),
      ),
      poll(
        "two images, one of which moderation has stopped",
        task("SUCCEEDED", { results: [REFUSED, { url: IMAGE }] }, { image_count: 1 }),
        using({ image_count: 1 }, completed([IMAGE])),
      ),
      poll(
        "images in the form of a chat, with their size in pixels",
        task(
          "SUCCEEDED",
          { choices: [{ message: { content: [{ text: "a fox" }, { image: IMAGE }] } }] },
          { size: "1280*1280", image_count: 1 },
        ),
        using({ image_count: 1 }, completed([IMAGE], { ratio: "1:1", resolution: "1280p" })),
      ),
      poll("a waiting job", task("PENDING"), QUEUED),
      poll("a job that is suspended for a while", task("SUSPENDED"), PROCESSING),
      failure(REFUSED.code, REFUSED.message, "moderation"),
      failure("DataInspectionFailed", "The input did not pass.", "moderation"),
      failure("IPInfringementSuspect", "The input may infringe rights.", "moderation"),
      failure("InternalError.Algo", "Green net check failed for input text", "moderation"),
      failure("InvalidParameter.DataInspection", "Unable to download the media.", "invalid_input"),
      failure("InvalidURL", "The request URL timed out.", "invalid_input"),
      failure("Throttling.RateQuota", "Please try again later.", "rate_limited"),
      failure("InternalError.Timeout", "An error occurred.", "timeout"),
      failure("InternalError", "An error occurred.", "provider"),
      poll(
        "a failure that only a part of the results explains",
        task("FAILED", { results: [{ ...REFUSED, code: "FILE_DOWNLOAD_FAILED", message: "no" }] }),
        failed("invalid_input", "no"),
      ),
      poll("a job that the provider no longer keeps", task("UNKNOWN"), "unclear: UNKNOWN"),
      poll("an answer without a job", { request_id: "4909100c", output: {} }, "unclear"),
      poll("fields of wrong types", { output: { task_id: [ID], task_status: 7 } }, "unclear"),
      poll("a wrong key", { code: "InvalidApiKey", message: "Invalid API-key." }, "unauthorized"),
      poll("too many requests", { code: "Throttling.RateQuota", message: "…" }, "limited"),
    ],
  },
  cancels,
};
