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

const ID = "d97415a1-5796-b7ec-379f-4e6819e08fdf";
const URL = "https://vidgen.x.ai/xai-vidgen-bucket/xai-video-d97415a1.mp4";
const { poll } = examplesOf(ID, `/v1/videos/${ID}`);
const USAGE = { cost_in_usd_ticks: 500000000 };
const REJECTED = "Generated video rejected by content moderation.";
const video = { url: URL, duration: 5, respect_moderation: true };
const done = {
  status: "done",
  model: "grok-imagine-video-1.5",
  progress: 100,
  video,
  usage: USAGE,
};
const moderated = endedAs("moderation", "failed");
const error = (code: string, message: string) => ({ status: "failed", error: { code, message } });

const GENERATIONS = "/v1/videos/generations";
const IMAGES = "/v1/images/generations";
const IMAGE = "https://imgen.x.ai/xai-imgen/xai-tmp-imgen-d97415a1.jpeg";
const submitted = answersAt(GENERATIONS);
const imaged = answersAt(IMAGES);
const job = { id: ID, endpoint: null };
const call: Omit<SubmitCall, "path"> = {
  body: {
    model: "grok-imagine-video-1.5",
    prompt: "a fox",
    duration: 5,
    aspect_ratio: "16:9",
    resolution: "720p",
  },
  model: "grok-imagine-video-1.5",
  endpoint: null,
  metadata: { ratio: "16:9", duration: 5, resolution: "720p" },
  answer: "job",
  takesMultipart: false,
};
const imageCall: Omit<SubmitCall, "path"> = {
  ...call,
  body: { model: "grok-imagine-image", prompt: "a fox", n: 2, aspect_ratio: "1:1" },
  model: "grok-imagine-image",
  metadata: { ratio: "1:1" },
  answer: "result",
};
const images = (...data: readonly object[]) => ({ data, usage: USAGE });
const withheld = { url: "", respect_moderation: false };

const submits: SubmitExamples = {
  calls: [
    { ...call, path: GENERATIONS },
    { ...call, path: "/v1/videos/edits" },
    { ...call, path: "/v1/videos/extensions" },
    { ...imageCall, path: IMAGES },
    { ...imageCall, path: "/v1/images/edits" },
  ],
  otherPaths: [
    `/v1/videos/${ID}`,
    "/v1/videos",
    "/v1/files",
    "/v1/chat/completions",
    "/v1/responses",
    "/videos/generations",
  ],
  accepted: submitted("the id of a request", { request_id: ID }, { job }),
  result: imaged("two images", images({ url: IMAGE }, { url: `${IMAGE}?2` }), {
    job: null,
    result: using(USAGE, completed([IMAGE, `${IMAGE}?2`])),
  }),
  refused: submitted(
    "a prompt that moderation refuses",
    { code: "invalid-argument", error: "The prompt violates the content policy." },
    { refused: "final" },
    400,
  ),
  limited: submitted(
    "too many requests",
    { code: "resource-exhausted", error: "Too many requests" },
    { refused: "rate" },
    429,
  ),
  outage: submitted("an outage", undefined, "unclear", 503),
  withoutId: submitted("no id", {}, "unclear"),
  others: [
    submitted("an id of the wrong type", { request_id: { id: ID } }, "unclear"),
    imaged("an image beside one that moderation withholds", images({ url: IMAGE }, withheld), {
      job: null,
      result: using(USAGE, completed([IMAGE])),
    }),
    imaged("images that moderation withholds", images(withheld), {
      job: null,
      result: using(USAGE, moderated),
    }),
    imaged("an image in base64", images({ b64_json: "aGk=" }), {
      job: null,
      result: using(USAGE, NO_OUTPUT),
    }),
    imaged("no image", images(), "unclear"),
  ],
};

export const examples: Examples = {
  provider: "xai",
  hooks: null,
  foreignJob: { exempt: "The answers of xAI do not contain the id of the job." },
  submits,
  polls: {
    success: poll("a success", done, using(USAGE, completed([URL], { duration: 5 }))),
    noOutput: poll(
      "a success whose link is no URL",
      { ...done, video: { ...video, url: "a.mp4" } },
      using(USAGE, NO_OUTPUT),
    ),
    moderation: poll(
      "a success whose link moderation withholds",
      { ...done, video: { ...video, url: "" } },
      using(USAGE, moderated),
    ),
    failure: poll(
      "a failure by wrong input",
      error("invalid_argument", "The image cannot be read."),
      failed("invalid_input", "The image cannot be read."),
    ),
    running: poll("a waiting job", { status: "pending", progress: 40 }, PROCESSING, 202),
    unknownState: poll("an unknown state", { status: "paused", video }, null),
    others: [
      poll("a success without a state", { video }, completed([URL], { duration: 5 })),
      poll("a waiting job, with HTTP 200", { status: "pending" }, QUEUED),
      poll("a job at work", { status: "pending", progress: 20 }, PROCESSING),
      poll("an empty answer with HTTP 202", undefined, PROCESSING, 202),
      poll("an answer with HTTP 202 and without a state", { request_id: ID }, PROCESSING, 202),
      poll("a success without a video", { status: "done" }, moderated),
      poll("a success in another word and format", { status: "completed", url: URL }, NO_OUTPUT),
      poll(
        "a success that violates the rules of moderation",
        { ...done, video: { ...video, respect_moderation: false } },
        using(USAGE, moderated),
      ),
      poll(
        "a success that violates the rules of moderation, as the whole answer says",
        { status: "done", video: { url: URL }, respect_moderation: false },
        moderated,
      ),
      poll(
        "HTTP 400 for a video that moderation has stopped",
        { code: "imagine:content-moderated", error: REJECTED, usage: USAGE },
        using(USAGE, failed("moderation", REJECTED)),
        400,
      ),
      poll(
        "HTTP 400 for a video that moderation has stopped, in older words",
        { code: "Client specified an invalid argument", error: REJECTED },
        failed("moderation", REJECTED),
        400,
      ),
      poll(
        "HTTP 400 for a wrong key",
        {
          code: "Client specified an invalid argument",
          error: "Incorrect API key provided: xa***01. You can obtain an API key from the console.",
        },
        "unauthorized",
        400,
      ),
      poll(
        "HTTP 400 for another reason",
        { code: "invalid-argument", error: "Try again." },
        "unclear: invalid-argument",
        400,
      ),
      poll("HTTP 400 without a body", undefined, "unclear", 400),
      poll(
        "a failure by moderation",
        error("invalid_argument", REJECTED),
        failed("moderation", REJECTED),
      ),
      poll(
        "a failure of xAI",
        error("internal_error", "An error occurred."),
        failed("provider", "An error occurred."),
      ),
      poll("a failure without a reason", { status: "failed" }, endedAs("provider", "failed")),
      poll("a job that xAI gave up", { status: "expired" }, endedAs("timeout", "expired")),
      poll("an unknown state with HTTP 202", { status: "paused" }, null, 202),
      poll("neither a state nor a video", { model: "grok-imagine-video" }, "unclear"),
      poll(
        "a video that xAI has stored, with nothing but its lasting link",
        { status: "done", video: { file_output: { public_url: URL } } },
        completed([URL]),
      ),
      poll("fields of wrong types", { status: 7, video: [7] }, "unclear"),
    ],
  },
};
