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
} from "../shared/examples/meanings.ts";

const ID = "123e4567-e89b-12d3-a456-426614174000";
const PATH = `/generations/${ID}`;
const VIDEO = "https://storage.cdn-luma.com/dream_machine/a.mp4";
const IMAGE = "https://storage.cdn-luma.com/dream_machine/a.png";

function generation(fields: object) {
  return {
    id: ID,
    generation_type: "video",
    failure_reason: null,
    created_at: "2026-01-01T00:00:00Z",
    model: "ray-2",
    assets: null,
    request: {
      generation_type: "video",
      model: "ray-2",
      prompt: "a fox",
      aspect_ratio: "16:9",
      duration: "5s",
      resolution: "720p",
      loop: false,
    },
    ...fields,
  };
}

const success = generation({
  state: "completed",
  assets: { video: VIDEO, image: IMAGE, progress_video: `${VIDEO}?progress` },
});

const done = completed([VIDEO], { ratio: "16:9", duration: 5, resolution: "720p" });

const moderated = generation({ state: "failed", failure_reason: "Advanced moderation failed" });
const moderation = failed("moderation", "Advanced moderation failed");
const { hook, poll } = examplesOf(ID, PATH);
const inState = (state: string) => generation({ state });

function agents(fields: object) {
  const base = { id: ID, type: "video", model: "ray-3.2", created_at: "2026-10-02T08:00:00Z" };
  return { ...base, output: [], failure_reason: null, failure_code: null, ...fields };
}

function agentsFailure(
  code: string,
  reason: string,
  category: FailureCategory,
  isRetryable?: boolean,
) {
  const answer = agents({ state: "failed", failure_code: code, failure_reason: reason });
  const meaning = failed(category, reason, isRetryable);
  return poll(`Luma Agents: the failure ${code}`, answer, meaning);
}

const VIDEOS = "/generations/video";
const IMAGES = "/generations/image";
const submitted = answersAt(VIDEOS);
const job = { id: ID, endpoint: null };
const call: Omit<SubmitCall, "path"> = {
  body: {
    model: "ray-2",
    prompt: "a fox",
    aspect_ratio: "16:9",
    duration: "5s",
    resolution: "720p",
  },
  model: "ray-2",
  endpoint: null,
  metadata: { ratio: "16:9", duration: 5, resolution: "720p" },
  answer: "job",
  takesMultipart: false,
};
const imageCall: Omit<SubmitCall, "path"> = {
  ...call,
  body: { model: "photon-1", prompt: "a fox", aspect_ratio: "1:1" },
  model: "photon-1",
  metadata: { ratio: "1:1" },
  answer: "job-or-result",
};
const image = generation({
  generation_type: "image",
  state: "completed",
  model: "photon-1",
  assets: { image: IMAGE },
  request: { generation_type: "image", model: "photon-1", prompt: "a fox", aspect_ratio: "1:1" },
});

const submits: SubmitExamples = {
  calls: [
    {
      ...call,
      path: "/generations",
      body: {
        model: "ray-3.2",
        type: "video",
        prompt: "a fox",
        aspect_ratio: "16:9",
        video: { resolution: "720p", duration: "5s" },
      },
      model: "ray-3.2",
    },
    { ...call, path: VIDEOS },
    { ...call, path: `${VIDEOS}/modify` },
    { ...call, path: `${VIDEOS}/reframe` },
    { ...imageCall, path: IMAGES },
    { ...imageCall, path: `${IMAGES}/reframe` },
  ],
  otherPaths: [
    PATH,
    `${PATH}/audio`,
    `${PATH}/upscale`,
    "/generations/concepts/list",
    "/generations/camera_motion/list",
    "/credits",
    "/files",
    "/dream-machine/v1/generations",
  ],
  accepted: submitted("a generation in the queue", inState("queued"), { job }, 201),
  result: answersAt(IMAGES)(
    "an image that is finished before the answer",
    image,
    { job, result: completed([IMAGE], { ratio: "1:1" }) },
    201,
  ),
  refused: submitted(
    "an account without credits",
    { detail: "Insufficient credits" },
    { refused: "funds" },
    400,
  ),
  limited: submitted(
    "too many requests",
    { detail: "Too many requests" },
    { refused: "rate" },
    429,
  ),
  outage: submitted("an outage", undefined, "unclear", 503),
  withoutId: submitted("no id", { state: "queued" }, "unclear", 201),
  others: [
    answersAt("/generations")(
      "a generation of Luma Agents",
      agents({ state: "queued" }),
      { job },
      201,
    ),
    submitted(
      "a generation that has failed before the answer",
      moderated,
      { job, result: moderation },
      201,
    ),
  ],
};

export const examples: Examples = {
  provider: "luma",
  hooks: {
    success: hook("a success", success, done),
    noOutput: hook(
      "a video of which there is only the thumbnail",
      generation({ state: "completed", assets: { image: IMAGE } }),
      NO_OUTPUT,
    ),
    moderation: hook("stopped by moderation", moderated, moderation),
    failure: hook(
      "a failure that is no moderation",
      generation({ state: "failed", failure_reason: "Could not load the keyframe" }),
      failed("provider", "Could not load the keyframe"),
    ),
    running: hook("the state dreaming", inState("dreaming"), PROCESSING),
    unknownState: hook("an unknown state", inState("asleep"), null),
    unreadable: hook(
      "a success without a job id",
      { state: "completed", assets: { video: VIDEO } },
      "nothing",
    ),
    others: [
      hook(
        "an image of a generation whose type is not stated",
        generation({ generation_type: undefined, state: "completed", assets: { image: IMAGE } }),
        completed([IMAGE], { ratio: "16:9", duration: 5, resolution: "720p" }),
      ),
      hook(
        "an image",
        generation({
          generation_type: "image",
          state: "completed",
          assets: { image: IMAGE },
          request: { aspect_ratio: "1:1" },
        }),
        completed([IMAGE], { ratio: "1:1" }),
      ),
      hook("a failure without a reason", inState("failed"), endedAs("provider", "failed")),
      hook("the state queued", inState("queued"), QUEUED),
      hook("fields of wrong types", { id: null, state: {}, assets: VIDEO }, "nothing"),
    ],
  },
  submits,
  polls: {
    success: poll("a success", success, done),
    noOutput: poll("a success without assets", inState("completed"), NO_OUTPUT),
    moderation: poll("stopped by moderation", moderated, moderation),
    failure: agentsFailure("generation_failed", "The generation failed", "provider"),
    running: poll("the state dreaming", inState("dreaming"), PROCESSING),
    unknownState: poll("an unknown state", inState("asleep"), null),
    others: [
      poll("the state queued", inState("queued"), QUEUED),
      poll(
        "Luma Agents: a success",
        agents({
          state: "completed",
          output: [
            { type: "video", thumbnail_url: IMAGE, url: VIDEO },
            { type: "preview", url: `${VIDEO}?preview` },
          ],
        }),
        completed([VIDEO]),
      ),
      poll("Luma Agents: a success without output", agents({ state: "completed" }), NO_OUTPUT),
      poll("Luma Agents: the state processing", agents({ state: "processing" }), PROCESSING),
      agentsFailure("content_moderated", "The prompt was refused", "moderation"),
      agentsFailure("corrupt_input", "The image timed out while it was decoded", "invalid_input"),
      agentsFailure("budget_exhausted", "The budget is used up", "provider", false),
      agentsFailure("rate_limited", "Too much at once", "rate_limited"),
      poll("an id that Luma does not know", { detail: "Generation not found" }, "unclear", 404),
    ],
  },
};
