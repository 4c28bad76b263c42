import { type CancelExamples, NO_BODY } from "../shared/examples/cancel-examples.ts";
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

const ID = "17f20503-6c24-4c16-946b-35dbbce2af2f";
const URL = "https://dnznrvs05pmza.cloudfront.net/a.mp4?_jwt=x";
const { poll } = examplesOf(ID, `/v1/tasks/${ID}`);
const task = (fields: object) => ({ id: ID, createdAt: "2026-01-01T00:00:00.000Z", ...fields });
const inState = (status: string) => task({ status });

/** Builds the expected failure of a task whose job has failed with this message. */
function failure(name: string, failureCode: string, text: string, category: FailureCategory) {
  const answer = task({ status: "FAILED", failure: text, failureCode });
  return poll(name, answer, failed(category, text));
}

const IMAGE_TO_VIDEO = "/v1/image_to_video";
const submitted = answersAt(IMAGE_TO_VIDEO);
const job = { id: ID, endpoint: null };
const call: Omit<SubmitCall, "path"> = {
  body: {
    model: "gen4.5",
    promptImage: "https://example.com/fox.png",
    promptText: "a fox",
    ratio: "1280:720",
    duration: 5,
    seed: 7,
    audio: true,
  },
  model: "gen4.5",
  endpoint: null,
  metadata: { seed: 7, ratio: "16:9", duration: 5, resolution: "720p", generate_audio: true },
  answer: "job",
  takesMultipart: false,
};
const bareCalls = [
  "text_to_video",
  "video_to_video",
  "video_upscale",
  "video_to_hdr",
  "video_to_audio",
  "character_performance",
  "avatar_videos",
  "text_to_image",
  "image_upscale",
  "text_to_speech",
  "speech_to_speech",
  "sound_effect",
  "voice_dubbing",
  "voice_isolation",
].map((path): SubmitCall => ({
  ...call,
  path: `/v1/${path}`,
  body: { model: "act_two" },
  model: "act_two",
  metadata: {},
}));
const routedCalls = ["video", "image", "audio"].map((kind): SubmitCall => ({
  ...call,
  path: `/v1/generate/${kind}`,
  body: { configId: "cheapest", input: { promptText: "a fox", aspectRatio: "16:9", duration: 5 } },
  model: "cheapest",
  metadata: { ratio: "16:9", duration: 5 },
}));
const recipeCalls = [
  "ad_localization",
  "marketing_stock_image",
  "multi_shot_video",
  "product_ad",
  "product_campaign_image",
  "product_swap",
  "product_ugc",
].map((recipe): SubmitCall => ({
  ...call,
  path: `/v1/recipes/${recipe}`,
  body: { version: "2026-06" },
  model: `recipes/${recipe}`,
  metadata: {},
}));

const submits: SubmitExamples = {
  calls: [{ ...call, path: IMAGE_TO_VIDEO }, ...bareCalls, ...routedCalls, ...recipeCalls],
  otherPaths: [
    `/v1/tasks/${ID}`,
    "/v1/workflows/abc",
    "/v1/uploads",
    "/v1/documents",
    "/v1/avatars",
    "/v1/voices",
    "/v1/voices/preview",
    "/v1/realtime_sessions",
    "/v1/routers",
    "/v1/organization/usage",
    "/v1/recipes",
    "/image_to_video",
  ],
  accepted: submitted("the id of a task", { id: ID, estimatedCost: { credits: 60 } }, { job }),
  result: { exempt: "Runway answers before the task runs." },
  refused: submitted(
    "a ratio that the model does not have",
    { error: "Validation of body failed", issues: [{ path: ["ratio"], message: "Invalid" }] },
    { refused: "final" },
    400,
  ),
  limited: submitted(
    "a used-up daily limit",
    { error: "You have exceeded your daily task limit." },
    { refused: "rate" },
    429,
  ),
  outage: submitted("an outage", undefined, "unclear", 500),
  withoutId: submitted("no id", { estimatedCost: { credits: 60 } }, "unclear"),
  others: [submitted("an id of the wrong type", { id: { id: ID } }, "unclear")],
};

const cancels: CancelExamples = {
  job: { id: "17f20503-6c24", endpoint: null },
  request: { method: "DELETE", path: "/v1/tasks/17f20503-6c24" },
  onlyWhile: ["queued", "processing"],
  forgetsCanceled: true,
  answers: [
    ["the task was canceled or deleted", 204, NO_BODY, "canceled"],
    ["the task is not known", 404, { error: "Task not found" }, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "runway",
  hooks: null,
  submits,
  polls: {
    success: poll(
      "a success",
      task({ status: "SUCCEEDED", output: [URL], cost: { credits: 25 } }),
      using({ credits: 25 }, completed([URL])),
    ),
    noOutput: poll(
      "a success without output",
      task({ status: "SUCCEEDED", output: [] }),
      NO_OUTPUT,
    ),
    moderation: failure(
      "input stopped by moderation",
      "SAFETY.INPUT.TEXT",
      "The prompt was rejected.",
      "moderation",
    ),
    failure: failure(
      "a failure of Runway while it read the input",
      "INPUT_PREPROCESSING.INTERNAL",
      "The input was not valid.",
      "provider",
    ),
    running: poll("the state running", task({ status: "RUNNING", progress: 0.4 }), PROCESSING),
    unknownState: poll("an unknown state", inState("PAUSED"), null),
    others: [
      poll(
        "a success with two outputs, one of which is no URL",
        task({ status: "SUCCEEDED", output: [URL, "a.mp4"] }),
        completed([URL]),
      ),
      poll("the state waiting", inState("PENDING"), QUEUED),
      poll("over the limit of concurrent tasks", inState("THROTTLED"), QUEUED),
      failure(
        "output stopped by moderation",
        "SAFETY.OUTPUT.VIDEO",
        "The output was rejected.",
        "moderation",
      ),
      failure(
        "input stopped before it was used",
        "INPUT_PREPROCESSING.SAFETY.TEXT",
        "The prompt was rejected.",
        "moderation",
      ),
      failure(
        "an asset that cannot be used",
        "ASSET.INVALID",
        "Timed out while the image was fetched.",
        "invalid_input",
      ),
      failure(
        "a failure of Runway",
        "INTERNAL.BAD_OUTPUT.CODE01",
        "An error occurred.",
        "provider",
      ),
      poll(
        "a failure with a code only",
        task({ status: "FAILED", failure: "", failureCode: "INTERNAL" }),
        failed("provider", '"INTERNAL"'),
      ),
      poll("a task that was cancelled", inState("CANCELLED"), endedAs("canceled", "CANCELLED")),
      poll("a task that was deleted", { error: "Task not found" }, "unclear", 404),
      poll("fields of wrong types", { id: [ID], status: ["SUCCEEDED"] }, "unclear"),
    ],
  },
  cancels,
};
