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
} from "../shared/examples/meanings.ts";

const id = "d7e6c0f3-6699-4f6c-bb45-2ad7fd9158ff";
const request = `https://api.higgsfield.ai/requests/${id}`;
const path = `/requests/${id}/status`;
const video = "https://video.url/example.mp4";
const image = "https://image.url/example.jpg";
const model = "https://model.url/example.glb";
const sound = "https://audio.url/example.mp3";
const { hook, poll } = examplesOf(id, path);

const inState = (status: string) => ({
  status,
  request_id: id,
  status_url: `${request}/status`,
  cancel_url: `${request}/cancel`,
});
const ended = (status: string) => ({ ...inState(status), expires_at: "2026-01-08T00:00:00Z" });
const success = { ...ended("completed"), video: { url: video } };
const images = { ...ended("completed"), images: [{ url: image }, { url: `${image}?n=2` }] };
const failure = { status: "failed", request_id: id, error: "Generation fail message" };

const SOUL = "/higgsfield-ai/soul/standard";
const submitted = answersAt(SOUL);
const call: Omit<SubmitCall, "path" | "model"> = {
  body: { prompt: "a fox", aspect_ratio: "16:9", resolution: "720p", duration: 5, seed: 7 },
  endpoint: null,
  metadata: { seed: 7, ratio: "16:9", duration: 5, resolution: "720p" },
  answer: "job",
  takesMultipart: false,
};

const submits: SubmitExamples = {
  calls: [
    { ...call, path: SOUL, model: "higgsfield-ai/soul/standard" },
    {
      ...call,
      path: "/bytedance/seedance/v1/pro/image-to-video",
      model: "bytedance/seedance/v1/pro/image-to-video",
    },
  ],
  otherPaths: [
    path,
    `/requests/${id}/cancel`,
    "/estimate/higgsfield-ai/soul/standard",
    "/files/generate-upload-url",
    "/v1/text2image/soul",
    "/v1/custom-references",
    "/v1/agent/sessions",
    "/models",
    "/Requests/higgsfield-ai",
    `/a/${"b".repeat(200)}`,
  ],
  accepted: submitted("a queued request", inState("queued"), { job: { id, endpoint: null } }),
  result: { exempt: "Higgsfield answers before the request runs." },
  refused: submitted(
    "wrong input",
    { detail: [{ loc: ["body", "prompt"], msg: "Field required", type: "missing" }] },
    { refused: "final" },
    422,
  ),
  limited: submitted("too many requests", { detail: "Too many" }, { refused: "rate" }, 429),
  outage: submitted("an outage", undefined, "unclear", 502),
  withoutId: submitted("no id", { status: "queued" }, "unclear"),
  others: [submitted("too little credit", { detail: "Not enough" }, { refused: "funds" }, 403)],
};

const cancels: CancelExamples = {
  job: { id: "d7e6c0f3-6699", endpoint: null },
  request: { method: "POST", path: "/requests/d7e6c0f3-6699/cancel" },
  onlyWhile: null,
  forgetsCanceled: false,
  answers: [
    ["a queued request was canceled", 202, NO_BODY, "canceled"],
    ["the request has started", 400, { detail: "Request cannot be canceled" }, "refused"],
    ["the request is not known", 404, { detail: "Not found" }, "unknown"],
    ["a page", 200, NO_BODY, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "higgsfield",
  hooks: {
    success: hook("a video", success, completed([video])),
    noOutput: hook("a success without files", ended("completed"), NO_OUTPUT),
    moderation: hook(
      "the state nsfw",
      { status: "nsfw", request_id: id },
      endedAs("moderation", "nsfw"),
    ),
    failure: hook("a failure", failure, failed("provider", "Generation fail message")),
    running: { exempt: "A hook is sent at the end of a request only." },
    unknownState: hook("an unknown state", inState("dreamt"), null),
    unreadable: hook("another kind of event", '{"event":"ping"}', "nothing"),
    others: [
      hook("images", images, completed([image, `${image}?n=2`])),
      hook(
        "a 3D model and a sound, beside the thumbnail of the model",
        {
          ...ended("completed"),
          model_glb: { url: model, thumbnail_url: image },
          audios: [{ url: sound }],
        },
        completed([model, sound]),
      ),
    ],
  },
  submits,
  polls: {
    success: poll("a video", success, completed([video])),
    noOutput: poll("a success without files", { ...success, video: null }, NO_OUTPUT),
    moderation: poll("the state nsfw", ended("nsfw"), endedAs("moderation", "nsfw")),
    failure: poll("a failure", failure, failed("provider", "Generation fail message")),
    running: poll("the state in_progress", inState("in_progress"), PROCESSING),
    unknownState: poll("an unknown state", inState("dreamt"), null),
    others: [
      poll("images", images, completed([image, `${image}?n=2`])),
      poll(
        "images and a video",
        { ...images, ...success },
        completed([video, image, `${image}?n=2`]),
      ),
      poll("the state queued", inState("queued"), QUEUED),
      poll("a request that was canceled", ended("canceled"), endedAs("canceled", "canceled")),
      poll("a failure without a text", ended("failed"), endedAs("provider", "failed")),
      poll("no such request", { detail: "Not found" }, "unclear", 404),
      poll("refused credentials", { detail: "Invalid credentials" }, "unauthorized", 401),
    ],
  },
  cancels,
};
