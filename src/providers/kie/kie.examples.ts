import { type Examples, examplesOf } from "../shared/examples/report-examples.ts";
import type { JsonObject } from "../../core/json.ts";
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

const id = "e989621f54392584b05867f87b160672";
const url = "https://tempfile.aiquickdraw.com/v/out.mp4";
const path = `/api/v1/jobs/recordInfo?taskId=${id}`;
const doneAt = 1_755_599_644_000;
const metadata = { seed: 7, ratio: "16:9", duration: 5, resolution: "480p", generate_audio: true };
const input = {
  prompt: "a fox",
  aspect_ratio: "16:9",
  resolution: "480p",
  duration: "5",
  seed: 7,
  generate_audio: true,
};
const success = {
  taskId: id,
  model: "bytedance/seedance-2",
  state: "success",
  param: JSON.stringify({ model: "bytedance/seedance-2", callBackUrl: "https://x.example", input }),
  resultJson: JSON.stringify({ resultUrls: [url] }),
  failCode: null,
  failMsg: null,
  remainedCredits: 2_510_330,
  costTime: 8,
  createTime: 1_755_599_634_000,
  updateTime: doneAt,
  completeTime: doneAt,
};
const answer = (data: unknown) => ({ code: 200, message: "success", data });
const charged = answer({ ...success, consumeCredits: 100 });
const done = using({ consumeCredits: 100 }, completed([url], metadata, doneAt));
const open = { ...success, resultJson: "", completeTime: 0 };

const { hook, poll } = examplesOf(id, path);
const inState = (state: string) => ({ ...open, state });
const failure = (failCode: unknown, failMsg: string) => ({ ...inState("fail"), failCode, failMsg });
const refusal = (failCode: unknown, failMsg: string) => ({
  code: 501,
  msg: "Playground task failed.",
  data: { ...failure(failCode, failMsg), resultJson: undefined },
});

/** Builds examples of polls of a job of one of kie.ai's older APIs. Each of these APIs has its own path. */
const family = (endpoint: string, query: string) =>
  examplesOf(id, `/api/v1/${query}?taskId=${id}`, endpoint).poll;
const veo = family("veo", "veo/record-info");
const suno = family("suno", "generate/record-info");
const flagged = (successFlag: number, fields: object = {}) =>
  answer({ taskId: id, successFlag, errorCode: null, errorMessage: "", ...fields });
const sung = (status: string, response: unknown) =>
  answer({ taskId: id, status, response, errorCode: null, errorMessage: null });
const song = (callbackType: string) =>
  answer({ callbackType, task_id: id, data: [{ audio_url: url, image_url: `${url}.png` }] });
const songAt = (link: string) => ({
  audio_url: link,
  source_audio_url: `${link}.source`,
  stream_audio_url: `${link}.stream`,
  source_stream_audio_url: `${link}.source.stream`,
  image_url: `${link}.png`,
  source_image_url: `${link}.source.png`,
});

const CREATE_TASK = "/api/v1/jobs/createTask";
const submitted = answersAt(CREATE_TASK);
const job = { id, endpoint: null };
const call: Omit<SubmitCall, "path"> = {
  body: { model: "bytedance/seedance-2", input },
  model: "bytedance/seedance-2",
  endpoint: null,
  metadata,
  answer: "job",
  takesMultipart: false,
};
/**
 * Builds an example of a call of one of kie.ai's older APIs. The model is the one in the body or, if the body has none,
 * `endpoint`.
 */
function olderCall(
  endpoint: string,
  part: string,
  body: JsonObject,
  fields: Partial<SubmitCall> = {},
): SubmitCall {
  const { model = endpoint, ...rest } = fields;
  return { ...call, path: `/api/v1/${part}`, body, model, endpoint, metadata: {}, ...rest };
}
const songCall = { prompt: "a fox", model: "V5", customMode: false, instrumental: true };
const songs = [
  "extend",
  "upload-cover",
  "upload-extend",
  "add-instrumental",
  "add-vocals",
  "mashup",
];
const started = (taskId: unknown) => answer({ taskId });
const fault = (code: number, msg: string) => ({ code, msg, data: null });

const submits: SubmitExamples = {
  calls: [
    { ...call, path: CREATE_TASK },
    olderCall("suno", "generate", songCall, { model: "V5" }),
    ...songs.map((part) => olderCall("suno", `generate/${part}`, songCall, { model: "V5" })),
    olderCall("suno", "generate/replace-section", { taskId: id, prompt: "a fox" }),
    olderCall(
      "veo",
      "veo/generate",
      { prompt: "a fox", model: "veo3_fast", aspectRatio: "16:9", resolution: "720p", duration: 8 },
      { model: "veo3_fast", metadata: { ratio: "16:9", resolution: "720p", duration: 8 } },
    ),
    olderCall("veo", "veo/extend", { taskId: id, prompt: "a fox" }),
    olderCall(
      "runway",
      "runway/generate",
      { prompt: "a fox", duration: 5, quality: "720p", aspectRatio: "16:9" },
      { metadata: { ratio: "16:9", resolution: "720p", duration: 5 } },
    ),
    olderCall(
      "runway",
      "runway/extend",
      { taskId: id, prompt: "a fox", quality: "720p" },
      {
        metadata: { resolution: "720p" },
      },
    ),
    olderCall("aleph", "aleph/generate", { prompt: "a fox", videoUrl: url }),
    olderCall(
      "4o-image",
      "gpt4o-image/generate",
      { prompt: "a fox", size: "1:1" },
      {
        metadata: { ratio: "1:1" },
      },
    ),
    olderCall(
      "flux-kontext",
      "flux/kontext/generate",
      { prompt: "a fox", model: "flux-kontext-pro", aspectRatio: "16:9" },
      { model: "flux-kontext-pro", metadata: { ratio: "16:9" } },
    ),
  ],
  otherPaths: [
    "/api/v1/jobs/recordInfo",
    "/api/v1/lyrics",
    "/api/v1/wav/generate",
    "/api/v1/vocal-removal/generate",
    "/api/v1/generate/generate-persona",
    "/api/v1/generate/get-timestamped-lyrics",
    "/api/v1/veo/get-4k-video",
    "/api/v1/chat/credit",
    "/api/v1/common/download-url",
    "/jobs/createTask",
  ],
  accepted: submitted("the id of a task", started(id), { job }),
  result: { exempt: "kie.ai answers before the job runs." },
  refused: submitted(
    "an account without credits, with HTTP 200",
    fault(402, "Credits insufficient : The current credits balance is not enough."),
    { refused: "funds" },
  ),
  limited: submitted("too many requests, with HTTP 200", fault(429, "Rate Limited"), {
    refused: "rate",
  }),
  outage: submitted("an outage", undefined, "unclear", 502),
  withoutId: submitted("a success without an id", answer({}), "unclear"),
  others: [
    submitted("wrong input, with HTTP 200", fault(422, "model not supported"), {
      refused: "final",
    }),
    submitted("maintenance, with HTTP 200", fault(455, "Service Unavailable"), { refused: "rate" }),
    submitted("a fault, with HTTP 200", fault(500, "Server Error"), "unclear"),
    submitted("a time limit, with HTTP 200", fault(408, "Upstream timed out"), "unclear"),
    answersAt("/api/v1/veo/generate")("the id of a job of an older API", started(id), {
      job: { id, endpoint: "veo" },
    }),
    answersAt("/api/v1/generate")("the id of a song", started(id), {
      job: { id, endpoint: "suno" },
    }),
    submitted("an id of the wrong type", started({ id }), "unclear"),
  ],
};

export const examples: Examples = {
  provider: "kie",
  hooks: {
    success: hook("a success", charged, done),
    noOutput: hook("a success without URL", answer({ ...success, resultJson: "{}" }), NO_OUTPUT),
    moderation: hook(
      "a stop by moderation",
      refusal("400", "Your prompt was flagged by content moderation."),
      failed("moderation", "Your prompt was flagged by content moderation."),
    ),
    failure: hook(
      "a failure that is no moderation",
      refusal("500", "Internal Error"),
      failed("provider", "Internal Error"),
    ),
    running: hook("the state generating", answer(inState("generating")), PROCESSING),
    unknownState: hook("an unknown state", answer(inState("polishing")), null),
    unreadable: hook("a success without a job id", answer({ ...success, taskId: null }), "nothing"),
    others: [
      hook(
        "a success whose job id is in task_id instead of taskId",
        answer({ ...success, taskId: undefined, task_id: id }),
        completed([url], metadata, doneAt),
      ),
      hook(
        "parameters that are no JSON",
        answer({ ...success, param: "{" }),
        completed([url], {}, doneAt),
      ),
      hook(
        "a success without a time of completion",
        answer({ ...success, param: undefined, completeTime: 0 }),
        completed([url]),
      ),
      hook("a result that is no JSON", answer({ ...success, resultJson: "[" }), NO_OUTPUT),
      hook("a failure with nothing but a code", refusal(500, ""), failed("provider", '"500"')),
      hook("the state failed", answer(inState("failed")), endedAs("provider", "failed")),
      hook("the state waiting", answer(inState("waiting")), QUEUED),
      hook("the state queuing", answer(inState("queuing")), QUEUED),
      hook("Runway: a success", answer({ task_id: id, video_url: url }), completed([url])),
      hook(
        "a video with its last frame, in a result that is no text",
        answer({
          ...success,
          param: "",
          resultJson: { lastFrameUrl: `${url}?l`, resultUrls: [url] },
        }),
        completed([url, `${url}?l`], {}, doneAt),
      ),
      hook("Veo: a success", answer({ taskId: id, info: { resultUrls: [url] } }), completed([url])),
      hook(
        "Veo: a stop by moderation",
        { code: 400, msg: "Flagged as violating content policies.", data: { taskId: id } },
        failed("moderation", "Flagged as violating content policies."),
      ),
      hook(
        "Veo: an image that cannot be fetched",
        { code: 451, msg: "Failed to fetch the image", data: { taskId: id } },
        failed("invalid_input", "Failed to fetch the image"),
      ),
      hook(
        "4o image: a success",
        answer({ taskId: id, info: { result_urls: [url] } }),
        completed([url]),
      ),
      hook("Aleph: a success", answer({ task_id: id, result_video_url: url }), completed([url])),
      hook(
        "Aleph: a failure, whose id is not in the data",
        { code: 500, msg: "Internal Error", taskId: id, data: null },
        failed("provider", "Internal Error"),
      ),
      hook("Suno: the step text", song("text"), PROCESSING),
      hook("Suno: the step first", song("first"), PROCESSING),
      hook("Suno: the step complete", song("complete"), completed([url])),
      hook(
        "Suno: two songs with their streams, their places at Suno and their covers",
        answer({ callbackType: "complete", task_id: id, data: [songAt(url), songAt(`${url}?2`)] }),
        completed([url, `${url}?2`, `${url}.stream`, `${url}?2.stream`]),
      ),
      hook(
        "Suno: separated voices beside the song that they are from",
        answer({
          task_id: id,
          vocal_removal_info: {
            instrumental_url: `${url}?i`,
            origin_url: url,
            vocal_url: `${url}?v`,
          },
        }),
        completed([`${url}?i`, `${url}?v`]),
      ),
      hook("Suno: an unknown step", song("encore"), null),
      hook(
        "Suno: audio that matches an existing work",
        {
          code: 413,
          msg: "Existing work",
          data: { callbackType: "error", task_id: id, data: null },
        },
        failed("moderation", "Existing work"),
      ),
      hook("an older API: a success without output", answer({ task_id: id }), null),
      hook("data of the wrong type", '{"code":200,"data":[]}', "nothing"),
    ],
  },
  submits,
  polls: {
    success: poll("a success", charged, done),
    noOutput: poll("a success without URL", answer({ ...success, resultJson: "{}" }), NO_OUTPUT),
    moderation: suno(
      "Suno: a stop by moderation",
      sung("SENSITIVE_WORD_ERROR", null),
      failed("moderation", '"SENSITIVE_WORD_ERROR"'),
    ),
    failure: poll("a failure", answer(failure("500", "E1")), failed("provider", "E1")),
    running: poll("the state generating", answer(inState("generating")), PROCESSING),
    unknownState: veo("Veo: an unknown flag", flagged(7), null),
    others: [
      poll("the state waiting", answer(inState("waiting")), QUEUED),
      family("runway", "runway/record-detail")(
        "Runway: a success",
        answer({ taskId: id, state: "success", videoInfo: { videoUrl: url } }),
        completed([url]),
      ),
      family("runway", "runway/record-detail")(
        "Runway: a success with the cover and without the video",
        answer({
          taskId: id,
          state: "success",
          videoInfo: { videoUrl: "", imageUrl: `${url}.png` },
        }),
        NO_OUTPUT,
      ),
      family("runway", "runway/record-detail")(
        "Runway: the state wait",
        answer({ taskId: id, state: "wait" }),
        QUEUED,
      ),
      veo("Veo: a success", flagged(1, { response: { resultUrls: [url], resolution: "1080p" } }), {
        ...completed([url], { resolution: "1080p" }),
      }),
      veo("Veo: the flag of a running job", flagged(0), PROCESSING),
      ...[2, 3].map((flag) =>
        veo(
          `Veo: the flag ${flag} of a failure`,
          flagged(flag, { errorCode: 501, errorMessage: "Model gone" }),
          failed("provider", "Model gone"),
        ),
      ),
      family("aleph", "aleph/record-info")(
        "Aleph: a success with an ISO time",
        flagged(1, { response: { resultVideoUrl: url }, completeTime: "2026-01-01T00:00:00Z" }),
        completed([url], {}, Date.UTC(2026, 0, 1)),
      ),
      family("4o-image", "gpt4o-image/record-info")(
        "4o image: a success",
        flagged(1, { response: { resultUrls: [url] } }),
        completed([url]),
      ),
      family("flux-kontext", "flux/kontext/record-info")(
        "Flux Kontext: a success",
        flagged(1, { response: { resultImageUrl: url } }),
        completed([url]),
      ),
      suno("Suno: a success", sung("SUCCESS", { sunoData: [{ audioUrl: url }] }), completed([url])),
      suno(
        "Suno: a success in snake case whose hook failed",
        sung("CALLBACK_EXCEPTION", { data: [{ audio_url: url }] }),
        completed([url]),
      ),
      suno("Suno: a failed hook without output", sung("CALLBACK_EXCEPTION", null), null),
      suno("Suno: the state FIRST_SUCCESS", sung("FIRST_SUCCESS", null), PROCESSING),
      suno(
        "Suno: a failure",
        sung("GENERATE_AUDIO_FAILED", null),
        failed("provider", '"GENERATE_AUDIO_FAILED"'),
      ),
      poll("a key that is refused", { code: 401, msg: "no access" }, "unauthorized"),
      poll("too many requests", { code: 429, msg: "slow down" }, "limited"),
      poll("no such task", { code: 422, msg: "recordInfo is null", data: null }, "unclear"),
    ],
  },
};
