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

const ID = "867283741759111202";
const URL = "https://cdn.klingai.com/bs2/upload/a.mp4";
const MP3 = "https://cdn.klingai.com/bs2/upload/a.mp3";
const WAV = "https://cdn.klingai.com/bs2/upload/a.wav";
const CLASSIC = `/v1/videos/text2video/${ID}`;
const OF_2026 = `/tasks?task_ids=${ID}`;

function classic(fields: object) {
  return {
    task_id: ID,
    task_status_msg: "",
    task_info: { external_task_id: "0f8fad5b-d9cb-469f-a165-70867728950e" },
    created_at: 1767225600000,
    updated_at: 1767225720000,
    ...fields,
  };
}

function of2026(fields: object) {
  return {
    id: ID,
    external_id: "0f8fad5b-d9cb-469f-a165-70867728950e",
    message: "",
    create_time: 1767225600000,
    update_time: 1767225720000,
    ...fields,
  };
}

const classicSuccess = classic({
  task_status: "succeed",
  final_unit_deduction: "1",
  task_result: { videos: [{ id: "v1", url: URL, duration: "5.041" }] },
});

const successOf2026 = of2026({
  status: "succeeded",
  outputs: [
    { type: "image", url: "https://cdn.klingai.com/bs2/upload/cover.png" },
    { type: "video", url: URL, watermark_url: `${URL}?w=1`, duration: "5.1" },
  ],
});

const done = completed([URL], { duration: 5 }, 1767225720000);
const doneOf2026 = completed([URL, `${URL}?w=1`], { duration: 5 }, 1767225720000);

const charged = using({ final_unit_deduction: 1 }, done);

const speech = completed([MP3], { duration: 3 }, 1767225720000);

const REASON = "Failed to pass content moderation";

const data = (task: unknown) => ({ code: 0, message: "SUCCEED", request_id: "r-1", data: task });
const { hook, poll: classicPoll } = examplesOf(ID, CLASSIC, "videos/text2video");
const { poll: pollOf2026 } = examplesOf(ID, OF_2026);
const classicIn = (task_status: string) => classic({ task_status });
const in2026 = (status: string) => of2026({ status });

const TEXT_TO_VIDEO = "/v1/videos/text2video";
const SPEECH = "/v1/audio/tts";
const submitted = answersAt(TEXT_TO_VIDEO);
const submitted2026 = answersAt("/text-to-video/kling-3.0");
const job = { id: ID, endpoint: "videos/text2video" };
const call: Omit<SubmitCall, "path"> = {
  body: {
    model_name: "kling-v3",
    prompt: "a fox",
    duration: "5",
    aspect_ratio: "16:9",
    sound: "on",
  },
  model: "kling-v3",
  endpoint: null,
  metadata: { ratio: "16:9", duration: 5, generate_audio: true },
  answer: "job",
  takesMultipart: false,
};
/** Paths of calls of Kling's classic API in which the model may be left out or cannot be chosen. */
const classicCalls = [
  "videos/image2video",
  "videos/multi-image2video",
  "videos/omni-video",
  "videos/motion-control",
  "videos/multi-elements",
  "videos/video-extend",
  "videos/lip-sync",
  "videos/advanced-lip-sync",
  "videos/avatar/image2video",
  "videos/effects",
  "images/generations",
  "images/omni-image",
  "images/multi-image2image",
  "images/editing/expand",
  "audio/text-to-audio",
  "audio/video-to-audio",
].map((endpoint): SubmitCall => {
  const path = `/v1/${endpoint}`;
  return { ...call, path, body: { prompt: "a fox" }, model: endpoint, endpoint, metadata: {} };
});
const calls2026 = [
  ["text-to-video", "kling-3.0"],
  ["image-to-video", "kling-3.0-turbo"],
  ["omni-video", "kling-3.0-omni"],
  ["motion-control", "kling-2.6"],
].map(([operation, model = ""]): SubmitCall => ({
  ...call,
  path: `/${operation}/${model}`,
  body: { prompt: "a fox", settings: { resolution: "1080p", aspect_ratio: "9:16", duration: 10 } },
  model,
  metadata: { ratio: "9:16", duration: 10, resolution: "1080p" },
}));
const started = classicIn("submitted");
const fault = (code: number, message: string) => ({ code, message, request_id: "r-1" });
const spoken = classic({
  task_status: "succeed",
  task_result: { audios: [{ id: "a1", url: MP3, duration: "3.1" }] },
});

const submits: SubmitExamples = {
  calls: [
    { ...call, path: TEXT_TO_VIDEO, endpoint: "videos/text2video" },
    ...classicCalls,
    ...calls2026,
    {
      ...call,
      path: SPEECH,
      body: { text: "a fox", voice_id: "oversea_male1", voice_language: "en" },
      model: "audio/tts",
      metadata: {},
      answer: "result",
    },
  ],
  otherPaths: [
    CLASSIC,
    "/tasks",
    "/v1/videos/identify-face",
    "/v1/videos/image-recognize",
    "/v1/videos/multi-elements/init-selection",
    "/v1/general/ai-multi-shot",
    "/v1/general/custom-elements",
    "/v1/text2video",
    "/v1/",
    "/videos/text2video",
    "/v2/videos/text2video",
    "/text-to-video/veo-3",
    "/text-to-video/kling-",
    `/text-to-video/kling-${"3".repeat(65)}`,
    "/solutions/e-commerce/goods_studio",
    "/account/costs",
  ],
  accepted: submitted("a task of the classic API", data(started), { job }),
  result: answersAt(SPEECH)("speech", data(spoken), {
    job: { id: ID, endpoint: null },
    result: completed([MP3], { duration: 3 }, 1767225720000),
  }),
  refused: submitted(
    "a parameter that is not valid",
    fault(1201, "duration is not valid"),
    { refused: "final" },
    400,
  ),
  limited: submitted(
    "too many parallel tasks",
    fault(1303, "parallel task over resource pack limit"),
    { refused: "busy" },
    429,
  ),
  outage: submitted("maintenance", fault(5001, "server busy"), "unclear", 503),
  withoutId: submitted("no task", data({}), "unclear"),
  others: [
    submitted2026("a task of the API of 2026", data(in2026("submitted")), {
      job: { id: ID, endpoint: null },
    }),
    submitted("an empty resource pack, with HTTP 200", fault(1102, "resource pack exhausted"), {
      refused: "funds",
    }),
    submitted("a fault, with HTTP 200", fault(5000, "internal error"), "unclear"),
    submitted(
      "a task that has failed before the answer",
      data(classic({ task_status: "failed", task_status_msg: REASON })),
      {
        job,
        result: failed("moderation", REASON),
      },
    ),
    submitted("an id of the wrong type", data({ ...started, task_id: { id: ID } }), "unclear"),
  ],
};

export const examples: Examples = {
  provider: "kling",
  hooks: {
    success: hook("classic API: a success", classicSuccess, charged),
    noOutput: hook("classic API: a success without output", classicIn("succeed"), NO_OUTPUT),
    moderation: hook(
      "classic API: stopped by moderation",
      classic({ task_status: "failed", task_status_msg: REASON }),
      failed("moderation", REASON),
    ),
    failure: hook(
      "classic API: a failure without a reason",
      classicIn("failed"),
      endedAs("provider", "failed"),
    ),
    running: hook("classic API: the state processing", classicIn("processing"), PROCESSING),
    unknownState: hook("classic API: an unknown state", classicIn("paused"), null),
    unreadable: hook("no state", classic({}), "nothing"),
    others: [
      hook(
        "classic API: a success with images",
        classic({ task_status: "succeed", task_result: { images: [{ index: 0, url: URL }] } }),
        completed([URL], {}, 1767225720000),
      ),
      hook(
        "classic API: a success with audio in two formats beside a video",
        classic({
          task_status: "succeed",
          task_result: {
            videos: [{ id: "v1", url: URL, duration: "5.041" }],
            audios: [{ id: "a1", url_mp3: MP3, url_wav: WAV, duration_mp3: "5.04" }],
          },
        }),
        completed([URL, MP3, WAV], { duration: 5 }, 1767225720000),
      ),
      hook(
        "classic API: a success with speech",
        classic({
          task_status: "succeed",
          task_result: { audios: [{ url: MP3, duration: "3.2" }] },
        }),
        speech,
      ),
      hook(
        "classic API: a success with a series of images beside their copies with a watermark, and the images of the call",
        classic({
          task_status: "succeed",
          task_info: { images: [{ url: `${URL}?asked` }] },
          task_result: {
            series_images: [
              { watermark_url: `${URL}?w=1`, url: `${URL}?n=1` },
              { watermark_url: `${URL}?w=2`, url: `${URL}?n=2` },
            ],
          },
        }),
        completed([`${URL}?n=1`, `${URL}?n=2`, `${URL}?w=1`, `${URL}?w=2`], {}, 1767225720000),
      ),
      hook(
        "classic API: an element, which repeats the images of the call",
        classic({
          task_status: "succeed",
          task_result: {
            elements: [{ element_id: 1, element_image_list: { frontal_image: `${URL}?asked` } }],
          },
        }),
        NO_OUTPUT,
      ),
      hook("classic API: the state submitted", classicIn("submitted"), QUEUED),
      hook("2026 API: a success", successOf2026, doneOf2026),
      hook("2026 API: a success in an envelope", data(successOf2026), doneOf2026),
      hook(
        "2026 API: a success with an output without a type",
        of2026({ status: "succeeded", outputs: [{ url: URL }] }),
        completed([URL], {}, 1767225720000),
      ),
      hook(
        "2026 API: a failure",
        of2026({ status: "failed", message: "Model is busy" }),
        failed("rate_limited", "Model is busy"),
      ),
      hook("2026 API: the state submitted", in2026("submitted"), QUEUED),
      hook("2026 API: the state processing", in2026("processing"), PROCESSING),
      hook(
        "an id as a number that JavaScript cannot hold",
        { task_id: Number(ID), task_status: "processing" },
        PROCESSING,
        String(Number(ID)),
      ),
      hook("fields of wrong types", { task_id: [ID], task_status: 3, data: [] }, "nothing"),
    ],
  },
  submits,
  polls: {
    success: classicPoll("classic API: a success", data(classicSuccess), charged),
    noOutput: classicPoll(
      "classic API: a success without output",
      data(classicIn("succeed")),
      NO_OUTPUT,
    ),
    moderation: classicPoll(
      "classic API: a failure",
      data(classic({ task_status: "failed", task_status_msg: REASON })),
      failed("moderation", REASON),
    ),
    failure: pollOf2026(
      "2026 API: a failure",
      data([of2026({ status: "failed", message: "Model is busy" })]),
      failed("rate_limited", "Model is busy"),
    ),
    running: classicPoll(
      "classic API: the state processing",
      data(classicIn("processing")),
      PROCESSING,
    ),
    unknownState: classicPoll("classic API: a new state", data(classicIn("paused")), null),
    others: [
      classicPoll(
        "classic API: an id that Kling does not know",
        { code: 1201, message: "Task not found", request_id: "r-1" },
        "unclear",
        400,
      ),
      pollOf2026(
        "2026 API: the job among others",
        data([of2026({ id: "1", status: "failed" }), successOf2026]),
        doneOf2026,
      ),
      pollOf2026(
        "2026 API: a success with audio in two formats",
        data([
          of2026({
            status: "succeeded",
            outputs: [{ type: "audio", mp3_url: MP3, wav_url: WAV, mp3_duration: "3.2" }],
          }),
        ]),
        completed([MP3, WAV], { duration: 3 }, 1767225720000),
      ),
      pollOf2026("2026 API: the state queued", data([in2026("submitted")]), QUEUED),
      pollOf2026(
        "2026 API: other jobs only",
        data([of2026({ id: "1", status: "succeeded" })]),
        "unclear",
      ),
      pollOf2026("2026 API: an empty list", data([]), "unclear"),
    ],
  },
};
