import { type Examples, examplesOf, GATEWAY } from "../shared/examples/report-examples.ts";
import { answersAt, type SubmitExamples } from "../shared/examples/submit-examples.ts";
import { NO_CHANNEL, results } from "../shared/examples/gateway-results.ts";
import type { UpstreamEnd } from "../../core/record/upstream.ts";
import {
  completed,
  endedAs,
  failed,
  NO_OUTPUT,
  PROCESSING,
  QUEUED,
  using,
} from "../shared/examples/meanings.ts";

const ID = "task_LtujSKpBk2vXo9Qm4RzYcWd7Hn1Ea5Tf";
const PATH = `/v1/video/generations/${ID}`;
const VIDEO = "https://cdn.example/v.mp4";
const ARTIFACT = `/v1/tasks/${ID}/artifacts/video/content?access=abc`;
const CONTENT = `${GATEWAY}/v1/videos/${ID}/content`;
const FINISHED_AT = 1788400867000;

/** Answer of Ark as a new-api gateway passes it on. The status in it is outdated. */
const RAW = {
  id: "cgt-20260902000000-abcde",
  status: "running",
  content: { video_url: "https://x.tos-cn-beijing.volces.com/a.mp4" },
  seed: 41485,
  ratio: "16:9",
  duration: 5,
  resolution: "720p",
  usage: { completion_tokens: 108900, total_tokens: 108900 },
};

const USAGE = { quota: 230000, completion_tokens: 108900, total_tokens: 108900 };
const METADATA = { seed: 41485, ratio: "16:9", duration: 5, resolution: "720p" };

function task(fields: object) {
  const base = { id: 7, task_id: ID, platform: "45", quota: 230000, action: "generate" };
  const times = { submit_time: 1788400582, finish_time: 1788400867, progress: "100%" };
  return { code: "success", message: "", data: { ...base, fail_reason: "", ...times, ...fields } };
}

const success = task({ status: "SUCCESS", result_url: VIDEO, data: RAW });
const done = using(USAGE, completed([VIDEO], METADATA, FINISHED_AT));
/**
 * Builds the expected meaning of a report on the end of a job that does not contain the answer of the gateway's own
 * upstream.
 */
const ended = (news: UpstreamEnd) => using({ quota: 230000 }, news);
const linked = (link: string) => ended(completed([link], {}, FINISHED_AT));
const inState = (status: string) => task({ status, finish_time: 0, progress: "50%" });
const refused = "The request failed because the output video may contain sensitive information.";
const { hook, poll } = examplesOf(ID, PATH);
/** Builds an example of a hook that does not state to which job of the gateway it belongs. */
const hint = (name: string, body: unknown, means: Parameters<typeof hook>[2]) =>
  hook(name, body, means, null);
const notice = (status: string, fields: object = {}) => ({ id: ID, status, ...fields });

const GENERATIONS = "/v1/video/generations";
const VIDEOS = "/v1/videos";
const accepted = { job: { id: ID, endpoint: null } };
const answer = answersAt(GENERATIONS);
const video = {
  id: ID,
  task_id: ID,
  object: "video",
  model: "doubao-seedance-2-0-260128",
  status: "queued",
  progress: 0,
  created_at: 1788400582,
};
const fault = (code: string, message: string) => ({ code, message, data: null });

const submits: SubmitExamples = {
  calls: [
    {
      path: GENERATIONS,
      body: {
        model: "doubao-seedance-2-0-260128",
        prompt: "a fox",
        duration: 5,
        metadata: { ratio: "16:9", resolution: "720p", seed: 41485, generate_audio: true },
      },
      model: "doubao-seedance-2-0-260128",
      endpoint: null,
      metadata: {
        duration: 5,
        ratio: "16:9",
        resolution: "720p",
        seed: 41485,
        generate_audio: true,
      },
      answer: "job",
      takesMultipart: true,
    },
    {
      path: VIDEOS,
      body: { model: "wan-3.0", prompt: "a fox", seconds: "8", size: "1280x720" },
      model: "wan-3.0",
      endpoint: null,
      metadata: { duration: 8, ratio: "16:9", resolution: "720p" },
      answer: "job",
      takesMultipart: true,
    },
    ...["text2video", "image2video"].map((kind) => ({
      path: `/kling/v1/videos/${kind}`,
      body: { model_name: "kling-v3", prompt: "a fox", duration: "5", aspect_ratio: "16:9" },
      model: "kling-v3",
      endpoint: null,
      metadata: { ratio: "16:9", duration: 5 },
      answer: "job" as const,
      takesMultipart: false,
    })),
    ...results.calls,
  ],
  otherPaths: [
    PATH,
    `${VIDEOS}/${ID}`,
    `${VIDEOS}/${ID}/content`,
    `${VIDEOS}/${ID}/remix`,
    "/kling/v1/videos/omni-video",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/audio/translations",
    "/v1/videos/../chat/completions",
    "/v1/files",
    "/api/user/self",
    "/api/token",
  ],
  accepted: answer("a video in the queue", video, accepted),
  result: results.result,
  refused: answer(
    "a request without a prompt",
    fault("invalid_request", "prompt is required"),
    { refused: "final" },
    400,
  ),
  limited: answer(
    "a gateway whose upstreams are busy",
    fault("fail_to_fetch_task", "当前分组上游负载已饱和，请稍后再试"),
    { refused: "busy" },
    429,
  ),
  outage: answer(
    "an upstream that the gateway did not reach",
    fault("do_request_failed", "请求上游地址失败"),
    "unclear",
    500,
  ),
  withoutId: answer("a success without data", { ...fault("success", "") }, "unclear"),
  others: [
    answer("an id in task_id alone", { task_id: ID }, accepted),
    answer("an id in id alone", { ...video, task_id: undefined }, accepted),
    answer(
      "an id in the data of a task",
      { ...fault("success", ""), data: { task_id: ID } },
      accepted,
    ),
    answer("the number of a row", { id: 7, code: "success" }, "unclear"),
    answer(
      "the status of its upstream, which a gateway passes on as an error",
      fault("fail_to_fetch_task", '{"id":"cgt-20260902000000-abcde"}'),
      "unclear",
      202,
    ),
    answer(
      "an error with an id of the request",
      { id: "req_1", error: { code: "busy" } },
      "unclear",
    ),
    answer(
      "a video that has failed before the answer",
      { ...video, status: "failed", error: { code: "bad", message: "Too small" } },
      { ...accepted, result: failed("provider", "Too small") },
    ),
    answer("a model without a channel", NO_CHANNEL, { refused: "final" }, 503),
    answer("a model that an upstream does not have", NO_CHANNEL, "unclear", 500),
    ...results.others,
  ],
};

export const examples: Examples = {
  provider: "newapi",
  hooks: {
    success: hint(
      "a success that a reseller reports",
      notice("succeed", { output: { video_url: VIDEO } }),
      completed([VIDEO]),
    ),
    noOutput: hint("a success without a link", notice("succeed"), NO_OUTPUT),
    moderation: hint(
      "a stop by moderation",
      notice("failed", {
        error: { code: "OutputVideoSensitiveContentDetected", message: refused },
      }),
      failed("moderation", refused),
    ),
    failure: hint("a failure without a reason", notice("failed"), endedAs("provider", "failed")),
    running: hint("the field task_status", { task_status: "processing" }, PROCESSING),
    unknownState: hint("an unknown state", notice("dreamt"), null),
    unreadable: hint("no state", { id: ID }, "nothing"),
    others: [
      hint(
        "a success in the native format of Ark",
        { ...RAW, status: "succeeded" },
        using(RAW.usage, completed([RAW.content.video_url], METADATA)),
      ),
      hint("a success in the format of polls", success, done),
      hint("a queued job", notice("queued"), QUEUED),
      hint("a state of the wrong type", { status: { a: 1 }, data: [7] }, "nothing"),
    ],
  },
  submits,
  polls: {
    success: poll("a success", success, done),
    noOutput: poll("a success without a link", task({ status: "SUCCESS" }), ended(NO_OUTPUT)),
    moderation: poll(
      "a stop by moderation",
      task({ status: "FAILURE", fail_reason: refused }),
      ended(failed("moderation", refused)),
    ),
    failure: poll(
      "a failure that is no moderation",
      task({ status: "FAILURE", fail_reason: "task timeout" }),
      ended(failed("timeout", "task timeout")),
    ),
    running: poll("the state IN_PROGRESS", inState("IN_PROGRESS"), PROCESSING),
    unknownState: poll("an unknown state", inState("DREAMT"), null),
    others: [
      poll(
        "a success whose link an older release writes into fail_reason",
        task({ status: "SUCCESS", fail_reason: VIDEO }),
        linked(VIDEO),
      ),
      poll(
        "a success with the path of a file that carries its own access",
        task({ status: "SUCCESS", result_url: ARTIFACT }),
        linked(`${GATEWAY}${ARTIFACT}`),
      ),
      poll(
        "a success whose link stands beside the task, with the code in capitals",
        { ...task({ status: "SUCCESS" }), code: "SUCCESS", url: VIDEO },
        linked(VIDEO),
      ),
      poll(
        "a success with a link that needs the key, beside that of the upstream",
        task({ status: "SUCCESS", result_url: CONTENT, data: RAW }),
        using(USAGE, completed([RAW.content.video_url], METADATA, FINISHED_AT)),
      ),
      poll(
        "a success whose only links need the key",
        task({ status: "SUCCESS", result_url: CONTENT, url: "/v1/videos/a/content" }),
        ended(NO_OUTPUT),
      ),
      poll(
        "a success whose fail_reason is a text",
        task({ status: "SUCCESS", fail_reason: "none" }),
        ended(NO_OUTPUT),
      ),
      poll(
        "a success in the flat form",
        { task_id: ID, status: "completed", url: "", format: "mp4", metadata: { url: VIDEO } },
        completed([VIDEO]),
      ),
      poll(
        "a failure in the flat form",
        { task_id: ID, status: "failed", error: { code: "bad", message: "Too small" } },
        failed("provider", "Too small"),
      ),
      ...results.polls,
      ...["NOT_START", "SUBMITTED", "QUEUED", "UNKNOWN", "queued", "unknown"].map((state) =>
        poll(`the state ${state}`, inState(state), QUEUED),
      ),
      ...["in_progress", "processing"].map((state) =>
        poll(`the state ${state}`, inState(state), PROCESSING),
      ),
      poll(
        "a running job whose upstream has finished",
        task({ status: "IN_PROGRESS", data: { ...RAW, status: "succeeded" } }),
        PROCESSING,
      ),
      poll("no state", task({ data: { ...RAW, status: "succeeded" } }), null),
      ...["ok", "SUCCESS", "error"].map((status) =>
        poll(`the state ${status} of an answer that names no job`, { status }, "unclear"),
      ),
      poll(
        "a passing failure with HTTP 200",
        { ...task({ status: "FAILURE" }), code: "Do_request_failed" },
        "unclear: Do_request_failed",
      ),
      poll(
        "an id that the user of the key does not have",
        { code: "task_not_exist", message: "task_not_exist", data: null },
        "unclear: task_not_exist",
        400,
      ),
    ],
  },
};
