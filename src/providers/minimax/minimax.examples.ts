import type { CancelExamples } from "../shared/examples/cancel-examples.ts";
import { type Examples, examplesOf, type PollExample } from "../shared/examples/report-examples.ts";
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

const ID = "115334141465231360";
const FILE = "205258526306433";
const V1 = `/v1/query/video_generation?task_id=${ID}`;
const V2 = `/v2/query/video_generation/${ID}`;
const RETRIEVE = `/v1/files/retrieve?file_id=${FILE}`;
const URL = "https://public-cdn-video-data.s3.example.com/output.mp4?Expires=1767229200";
const OK = { status_code: 0, status_msg: "success" };

function v1(fields: object) {
  return { task_id: ID, file_id: "", base_resp: OK, ...fields };
}

function v2(fields: object) {
  return { task: { id: ID, model: "MiniMax-H3", ...fields } };
}

function refused(code: number, text: string) {
  return { status_code: code, status_msg: text };
}

const v2Success = v2({
  status: "succeeded",
  content: { url: URL },
  resolution: "768P",
  duration: 6,
  ratio: "9:16",
  usage: { output_seconds: 6 },
});

const v2Completed = using(
  { output_seconds: 6 },
  completed([URL], { ratio: "9:16", duration: 6, resolution: "768p" }),
);

const SENSITIVE = "video description involves sensitive content";

const inV1 = (status: string) => v1({ status });
const inV2 = (status: string) => v2({ status });

const { hook, poll: v1Poll } = examplesOf(ID, V1);
const { poll: v2Poll } = examplesOf(ID, V2, "v2");

/** Builds an example of a poll in which MiniMax first reports success, and then gives this answer about the file. */
function filePoll(name: string, body: unknown, means: PollExample["means"]): PollExample {
  const query = v1({ status: "Success", file_id: FILE, video_width: 1366, video_height: 768 });
  const poll = v1Poll(name, query, means);
  const file = { path: RETRIEVE, answer: { status: 200, body } };
  return { ...poll, exchanges: [...poll.exchanges, file] };
}

const V1_VIDEOS = "/v1/video_generation";
const V2_VIDEOS = "/v2/video_generation";
const IMAGES = "/v1/image_generation";
const IMAGE = "https://hailuo-image-algeng-data.s3.example.com/a.jpeg?Expires=1767312000";
const submitted = answersAt(V1_VIDEOS);
const imaged = answersAt(IMAGES);
const call: Omit<SubmitCall, "path"> = {
  body: { model: "MiniMax-Hailuo-2.3", prompt: "a fox", duration: 6, resolution: "768P" },
  model: "MiniMax-Hailuo-2.3",
  endpoint: null,
  metadata: { duration: 6, resolution: "768p" },
  answer: "job",
  takesMultipart: false,
};
const fault = (code: number, text: string) => ({ task_id: "", base_resp: refused(code, text) });
const images = (fields: object) => ({ id: "03ff3cd0", data: fields, base_resp: OK });

const submits: SubmitExamples = {
  calls: [
    { ...call, path: V1_VIDEOS },
    {
      ...call,
      path: V2_VIDEOS,
      body: {
        model: "MiniMax-H3",
        content: [{ type: "text", text: "a fox" }],
        resolution: "768P",
        ratio: "9:16",
        duration: 6,
      },
      model: "MiniMax-H3",
      endpoint: "v2",
      metadata: { ratio: "9:16", duration: 6, resolution: "768p" },
    },
    {
      ...call,
      path: IMAGES,
      body: { model: "image-01", prompt: "a fox", aspect_ratio: "16:9", seed: 7 },
      model: "image-01",
      metadata: { seed: 7, ratio: "16:9" },
      answer: "result",
    },
  ],
  otherPaths: [
    "/v1/video_template_generation",
    "/v1/query/video_generation",
    "/v1/files/upload",
    "/v1/t2a_async_v2",
    "/v1/music_generation",
    "/v1/text/chatcompletion_v2",
    "/v3/video_generation",
  ],
  accepted: submitted(
    "the id of a task",
    { task_id: ID, base_resp: OK },
    { job: { id: ID, endpoint: null } },
  ),
  result: imaged("two images", images({ image_urls: [IMAGE, `${IMAGE}&2`] }), {
    job: null,
    result: completed([IMAGE, `${IMAGE}&2`]),
  }),
  refused: submitted(
    "an account without balance, with HTTP 200",
    fault(1008, "insufficient balance"),
    { refused: "funds" },
  ),
  limited: submitted("too many requests, with HTTP 200", fault(1002, "rate limit"), {
    refused: "rate",
  }),
  outage: submitted("an outage", undefined, "unclear", 502),
  withoutId: submitted("a success without an id", fault(0, "success"), "unclear"),
  others: [
    answersAt(V2_VIDEOS)(
      "the id of a task of API v2",
      { task_id: ID },
      { job: { id: ID, endpoint: "v2" } },
    ),
    submitted("a prompt that moderation refuses", fault(1026, SENSITIVE), { refused: "final" }),
    submitted(
      "no balance, with HTTP 500",
      fault(1008, "insufficient balance"),
      { refused: "funds" },
      500,
    ),
    submitted("a fault, with HTTP 200", fault(1000, "unknown error"), "unclear"),
    imaged("images in base64", images({ image_base64: ["aGk="] }), {
      job: null,
      result: NO_OUTPUT,
    }),
    imaged("a fault in place of images", { base_resp: refused(1000, "unknown error") }, "unclear"),
  ],
};

const cancels: CancelExamples = {
  job: { id: "106916112212032", endpoint: "v2" },
  request: { method: "DELETE", path: "/v2/video_generation/106916112212032" },
  onlyWhile: ["queued"],
  forgetsCanceled: false,
  answers: [
    ["a queued task was canceled", 200, { base_resp: { status_code: 0 } }, "canceled"],
    ["an error code with status 200", 200, { base_resp: { status_code: 2013 } }, "refused"],
    ["an error code with status 400", 400, { base_resp: { status_code: 2013 } }, "refused"],
    ["the task is not known", 404, {}, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "minimax",
  hooks: {
    success: hook(
      "API v1: a success with the URL of a video",
      v1({ status: "Success", video_url: URL }),
      completed([URL]),
    ),
    noOutput: hook(
      "API v1: a success with a file id and no URL",
      v1({ status: "success", file_id: FILE }),
      NO_OUTPUT,
    ),
    moderation: hook(
      "API v1: output stopped by moderation",
      v1({ status: "Fail", base_resp: refused(1027, SENSITIVE) }),
      failed("moderation", SENSITIVE),
    ),
    failure: hook(
      "API v1: a failure whose request succeeded",
      inV1("failed"),
      endedAs("provider", "failed"),
    ),
    running: hook("API v1: the state processing", inV1("processing"), PROCESSING),
    unknownState: hook("API v1: an unknown state", inV1("Paused"), null),
    unreadable: hook(
      "API v1: a code instead of a state",
      v1({ base_resp: refused(1000, "x") }),
      "nothing",
    ),
    others: [
      hook(
        "API v1: input stopped by moderation, without a state",
        { task_id: ID, base_resp: refused(1026, "input new_sensitive") },
        failed("moderation", "input new_sensitive"),
      ),
      hook(
        "API v1: a failure that is no moderation",
        v1({ status: "Fail", base_resp: refused(2013, "invalid params") }),
        failed("invalid_input", "invalid params"),
      ),
      hook("API v1: the state preparing", inV1("Preparing"), QUEUED),
      hook("API v1: the state queueing", inV1("Queueing"), QUEUED),
      hook("API v2: a success", v2Success, v2Completed),
      hook("API v2: a success without an envelope", v2Success.task, v2Completed),
      hook("API v2: a success without a video", inV2("succeeded"), NO_OUTPUT),
      hook(
        "API v2: a failure",
        v2({ status: "failed", error: { code: "1026", message: SENSITIVE } }),
        failed("moderation", SENSITIVE),
      ),
      hook("API v2: a cancelled task", inV2("cancelled"), endedAs("canceled", "cancelled")),
      hook("API v2: the state queued", inV2("queued"), QUEUED),
      hook("API v2: the state running", inV2("running"), PROCESSING),
      hook(
        "an id as a number that JavaScript cannot hold",
        { task_id: Number(ID), status: "processing" },
        PROCESSING,
        String(Number(ID)),
      ),
      hook("fields of wrong types", { task_id: {}, status: 1, base_resp: [] }, "nothing"),
    ],
  },
  submits,
  polls: {
    success: filePoll(
      "API v1: a success",
      { file: { file_id: FILE, download_url: URL }, base_resp: OK },
      completed([URL], { ratio: "16:9", resolution: "768p" }),
    ),
    noOutput: filePoll(
      "API v1: a file without a link",
      { file: { file_id: FILE }, base_resp: OK },
      NO_OUTPUT,
    ),
    moderation: v1Poll(
      "API v1: output stopped by moderation",
      v1({ status: "Fail", base_resp: refused(1027, SENSITIVE) }),
      failed("moderation", SENSITIVE),
    ),
    failure: v2Poll(
      "API v2: a failure without a reason",
      inV2("failed"),
      endedAs("provider", "failed"),
    ),
    running: v1Poll("API v1: the state processing", inV1("Processing"), PROCESSING),
    unknownState: v1Poll("API v1: an unknown state", inV1("Paused"), null),
    others: [
      filePoll("API v1: no file", { base_resp: refused(1000, "unknown error") }, "unclear"),
      filePoll("API v1: no JSON for the file", undefined, "unclear"),
      filePoll(
        "API v1: a key without access to files",
        { base_resp: refused(1004, "login fail") },
        "unauthorized",
      ),
      filePoll("API v1: too many files", { base_resp: refused(1002, "rate limit") }, "limited"),
      filePoll(
        "API v1: a file with a second link",
        { file: { file_id: FILE, other_url: `${URL}?b`, download_url: URL }, base_resp: OK },
        completed([URL, `${URL}?b`], { ratio: "16:9", resolution: "768p" }),
      ),
      v1Poll(
        "API v1: a success that has the link of its file",
        v1({ status: "Success", file_id: FILE, download_url: URL }),
        completed([URL]),
      ),
      v1Poll(
        "API v1: a success with its URL",
        v1({ status: "Success", file_id: FILE, video_url: URL }),
        completed([URL]),
      ),
      v1Poll("API v1: a success with neither file id nor URL", inV1("Success"), NO_OUTPUT),
      v1Poll(
        "API v1: input stopped by moderation, without a state",
        { base_resp: refused(1026, SENSITIVE) },
        failed("moderation", SENSITIVE),
      ),
      v1Poll("API v1: a wrong key", { base_resp: refused(1004, "login fail") }, "unauthorized"),
      v1Poll("API v1: an invalid key", { base_resp: refused(2049, "invalid key") }, "unauthorized"),
      v1Poll("API v1: too many requests", { base_resp: refused(1002, "rate limit") }, "limited"),
      v1Poll("API v1: no balance", { task_id: ID, base_resp: refused(1008, "balance") }, "unclear"),
      v2Poll("API v2: a success", v2Success, v2Completed),
      v2Poll("API v2: the state running", inV2("running"), PROCESSING),
      v2Poll(
        "API v2: an id that MiniMax does not know",
        { type: "error", error: { type: "bad_request_error", message: "invalid task_id (2013)" } },
        "unclear",
        400,
      ),
    ],
  },
  cancels,
};
