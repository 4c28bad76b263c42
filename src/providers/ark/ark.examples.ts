import type { CancelExamples } from "../shared/examples/cancel-examples.ts";
import { type Examples, examplesOf } from "../shared/examples/report-examples.ts";
import { answersAt, type SubmitExamples } from "../shared/examples/submit-examples.ts";
import {
  completed,
  endedAs,
  failed,
  NO_OUTPUT,
  PROCESSING,
  QUEUED,
  using,
} from "../shared/examples/meanings.ts";

const ID = "cgt-20260101000000-abcde";
const PATH = `/contents/generations/tasks/${ID}`;
const UPDATED_AT = 1767225720000;
const URL = "https://x.tos-cn-beijing.volces.com/a.mp4?X-Tos-Algorithm=TOS4-HMAC-SHA256";
const LAST_FRAME = "https://x.tos-cn-beijing.volces.com/a.png";
const FILE = "https://x.tos-cn-beijing.volces.com/a.zip";

function task(fields: object) {
  return {
    id: ID,
    model: "doubao-seedance-2-0-260128",
    created_at: 1767225600,
    updated_at: 1767225720,
    ...fields,
  };
}

const succeeded = task({
  status: "succeeded",
  error: null,
  content: { video_url: URL, last_frame_url: LAST_FRAME },
  seed: 41485,
  resolution: "720p",
  ratio: "16:9",
  duration: 5,
  framespersecond: 24,
  generate_audio: true,
  draft: false,
  service_tier: "default",
  execution_expires_after: 172800,
  usage: { completion_tokens: 108900, total_tokens: 108900 },
});

const done = using(
  { completion_tokens: 108900, total_tokens: 108900 },
  completed(
    [URL, LAST_FRAME],
    {
      seed: 41485,
      ratio: "16:9",
      duration: 5,
      resolution: "720p",
      generate_audio: true,
      framespersecond: 24,
    },
    UPDATED_AT,
  ),
);

const framed = task({
  status: "succeeded",
  content: { video_url: URL },
  frames: 57,
  framespersecond: 24,
});

const UNSAFE = "The request failed because the output video may be unsafe.";
const moderated = task({
  status: "failed",
  error: { code: "OutputVideoSensitiveContentDetected", message: UNSAFE },
});

const moderation = failed("moderation", UNSAFE);
const { hook, poll } = examplesOf(ID, PATH);
const inState = (status: string) => task({ status });

const TASKS = "/contents/generations/tasks";
const answer = answersAt(TASKS);
const accepted = { job: { id: ID, endpoint: null } };
const fault = (code: string, message: string) => ({ error: { code, message } });

const IMAGES = "/images/generations";
const imaged = answersAt(IMAGES);
const IMAGE = "https://x.tos-cn-beijing.volces.com/a.jpeg";
const IMAGE_USAGE = { generated_images: 1, output_tokens: 16280, total_tokens: 16280 };
const images = (...data: readonly object[]) => ({
  model: "doubao-seedream-4-5-251128",
  created: 1767225720,
  data,
  usage: IMAGE_USAGE,
});
const BLOCKED = fault(
  "OutputImageSensitiveContentDetected",
  "The request failed because the output image may contain sensitive information.",
);

const submits: SubmitExamples = {
  calls: [
    {
      path: IMAGES,
      body: { model: "doubao-seedream-4-5-251128", prompt: "a fox", size: "2048x2048", seed: 7 },
      model: "doubao-seedream-4-5-251128",
      endpoint: null,
      metadata: { seed: 7, ratio: "1:1", resolution: "2048p" },
      answer: "result",
      takesMultipart: false,
    },
    {
      path: TASKS,
      body: {
        model: "doubao-seedance-2-0-260128",
        content: [{ type: "text", text: "a fox" }],
        resolution: "720p",
        ratio: "16:9",
        duration: 5,
        seed: 11,
        generate_audio: true,
      },
      model: "doubao-seedance-2-0-260128",
      endpoint: null,
      metadata: {
        seed: 11,
        ratio: "16:9",
        duration: 5,
        resolution: "720p",
        generate_audio: true,
      },
      answer: "job",
      takesMultipart: false,
    },
  ],
  otherPaths: [
    PATH,
    `/api/v3${TASKS}`,
    "/contents/generations",
    "/contents/generations/../files",
    "/chat/completions",
    "/files",
    "/images/edits",
  ],
  accepted: answer("the id of a task", { id: ID }, accepted),
  result: imaged("an image with its link", images({ url: IMAGE, size: "1760x2368" }), {
    job: null,
    result: using(
      IMAGE_USAGE,
      completed([IMAGE], { ratio: "3:4", resolution: "1760p" }, UPDATED_AT),
    ),
  }),
  refused: answer(
    "a prompt that moderation refuses",
    fault(
      "InputTextSensitiveContentDetected",
      "The request failed because the input text may contain sensitive information. Request id: 0217…",
    ),
    { refused: "final" },
    400,
  ),
  limited: answer(
    "a used-up quota",
    fault(
      "QuotaExceeded",
      "Your account [2100000000] has exhausted its free trial quota for the [doubao-seedance-2-0] model.",
    ),
    { refused: "funds" },
    429,
  ),
  outage: answer(
    "a fault of Ark",
    fault("InternalServiceError", "The service encountered an unexpected internal error."),
    "unclear",
    500,
  ),
  withoutId: answer("no id", { safety_identifier: "u1" }, "unclear"),
  others: [
    answer("an id beside the identifier of a user", { id: ID, safety_identifier: "u1" }, accepted),
    answer("an id of the wrong type", { id: { id: ID } }, "unclear"),
    answer("an error without an id", fault("InternalServiceError", "Failed."), "unclear"),
    imaged("an image in base64", images({ b64_json: "aGk=", size: "2K" }), {
      job: null,
      result: using(IMAGE_USAGE, NO_OUTPUT),
    }),
    imaged("two images, of which moderation has stopped one", images(BLOCKED, { url: IMAGE }), {
      job: null,
      result: using(IMAGE_USAGE, completed([IMAGE], {}, UPDATED_AT)),
    }),
    imaged("an image that moderation has stopped", images(BLOCKED), {
      job: null,
      result: using(IMAGE_USAGE, failed("moderation", BLOCKED.error.message)),
    }),
    imaged("no image", images(), "unclear"),
  ],
};

const cancels: CancelExamples = {
  job: { id: "cgt-20261126-abcde", endpoint: null },
  request: { method: "DELETE", path: "/contents/generations/tasks/cgt-20261126-abcde" },
  onlyWhile: ["queued"],
  forgetsCanceled: false,
  answers: [
    ["a queued task was canceled", 200, {}, "canceled"],
    ["the task is running", 409, { error: { code: "InvalidAction.RunningTask" } }, "refused"],
    ["the task is not known", 404, { error: { code: "ResourceNotFound" } }, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "ark",
  hooks: {
    success: hook("a success with all metadata", succeeded, done),
    noOutput: hook(
      "a success without a video",
      task({ status: "succeeded", content: {} }),
      NO_OUTPUT,
    ),
    moderation: hook("output stopped by moderation", moderated, moderation),
    failure: hook(
      "a failure that is no moderation",
      task({ status: "failed", error: { code: "InternalServiceError", message: "Try again." } }),
      failed("provider", "Try again."),
    ),
    running: hook("a running task", inState("running"), PROCESSING),
    unknownState: hook("an unknown state", inState("dreamt"), null),
    unreadable: hook(
      "a success without a job id",
      { status: "succeeded", content: { video_url: URL } },
      "nothing",
    ),
    others: [
      hook(
        "a success whose duration is given in frames",
        framed,
        completed([URL], { duration: 2, framespersecond: 24 }, UPDATED_AT),
      ),
      hook(
        "an expired task, which has no error",
        task({ status: "expired", error: null }),
        endedAs("timeout", "expired"),
      ),
      hook("a queued task", inState("queued"), QUEUED),
      hook("a task without a state", task({}), null),
      hook("fields of wrong types", { id: { id: ID }, status: 7, content: "none" }, "nothing"),
    ],
  },
  submits,
  polls: {
    success: poll("a success", succeeded, done),
    noOutput: poll(
      "a success without a video",
      task({ status: "succeeded", content: null }),
      NO_OUTPUT,
    ),
    moderation: poll("output stopped by moderation", moderated, moderation),
    failure: poll(
      "a task that was cancelled, which consumed no tokens",
      task({ status: "cancelled", usage: { completion_tokens: 0, total_tokens: 0 } }),
      using({ completion_tokens: 0, total_tokens: 0 }, endedAs("canceled", "cancelled")),
    ),
    running: poll("a running task", inState("running"), PROCESSING),
    unknownState: poll("an unknown state", inState("dreamt"), null),
    others: [
      poll(
        "a success with a file of a 3D model, and with a ratio left to the model",
        task({ status: "succeeded", content: { file_url: FILE }, ratio: "adaptive" }),
        completed([FILE], {}, UPDATED_AT),
      ),
      poll(
        "files as objects, and a picture before the video",
        task({
          status: "succeeded",
          content: { mask: { url: LAST_FRAME }, video_url: { url: URL } },
        }),
        completed([URL, LAST_FRAME], {}, UPDATED_AT),
      ),
      poll(
        "a success without output that repeats the content of the call",
        task({
          status: "succeeded",
          content: [{ type: "image_url", image_url: { url: LAST_FRAME } }],
        }),
        NO_OUTPUT,
      ),
      poll(
        "an id that Ark does not know",
        { error: { code: "ResourceNotFound", message: "The task is not found." } },
        "unclear",
        404,
      ),
    ],
  },
  cancels,
};
