import { type Examples, examplesOf, GATEWAY } from "../shared/examples/report-examples.ts";
import { answersAt, type SubmitExamples } from "../shared/examples/submit-examples.ts";
import { NO_CHANNEL, results } from "../shared/examples/gateway-results.ts";
import {
  completed,
  endedAs,
  failed,
  NO_OUTPUT,
  PROCESSING,
  QUEUED,
  using,
} from "../shared/examples/meanings.ts";

/** Job id as litellm writes it, but without the padding of base64 at its end, which may be missing in answers. */
const UNPADDED = "video_bGl0ZWxsbTpjdXN0b21fbGxtX3Byb3ZpZGVyOm9wZW5haTthYmM";
const ID = `${UNPADDED}==`;
const PATH = `/v1/videos/${UNPADDED}%3D%3D`;
const VIDEO = "https://cdn.example/v.mp4";
const SECOND = "https://cdn.example/w.mp4";
const CREATED_AT = 1767225600;
const COMPLETED_AT = 1767225720000;

function video(fields: object) {
  return { id: ID, object: "video", model: "wan-3.0", created_at: CREATED_AT, ...fields };
}

const ended = { completed_at: COMPLETED_AT / 1000, seconds: "8", size: "1280x720", error: null };
const metadata = { ratio: "16:9", duration: 8, resolution: "720p" };
const success = video({ status: "completed", progress: 100, url: VIDEO, ...ended });
const done = completed([VIDEO], metadata, COMPLETED_AT);
const inState = (status: string) => video({ status, progress: 42 });
const doneAs = (fields: object) => video({ status: "completed", ...fields });
const failure = (message: string, code = "server_error") =>
  video({ status: "failed", error: { code, message } });
const { hook, poll } = examplesOf(ID, PATH);
const head = { object: "event", id: "evt_1", created_at: CREATED_AT };
const event = (type: string, data: object) => ({ ...head, type: `video.${type}`, data });

const VIDEOS = "/v1/videos";
const answer = answersAt(VIDEOS);
const accepted = { job: { id: ID, endpoint: null } };
const fault = (type: string, message: string, code: string | null = null) => ({
  error: { message, type, code },
});

const submits: SubmitExamples = {
  calls: [
    {
      path: VIDEOS,
      body: { model: "veo-3.1", prompt: "a fox", seconds: 8, size: "1280x720", audio: false },
      model: "veo-3.1",
      endpoint: null,
      metadata: { duration: 8, ratio: "16:9", resolution: "720p", generate_audio: false },
      answer: "job",
      takesMultipart: true,
    },
    ...results.calls,
  ],
  otherPaths: [
    `${VIDEOS}/video_1`,
    `${VIDEOS}/video_1/content`,
    `${VIDEOS}/video_1/remix`,
    `${VIDEOS}/edits`,
    "/v1/video/generations",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/audio/translations",
    "/v1/videos/../chat/completions",
    "/v1/files",
    "/v1/batches",
  ],
  accepted: answer("a video in the queue", video({ status: "queued", progress: 0 }), accepted),
  result: results.result,
  refused: answer(
    "a size that the model does not have",
    fault("invalid_request_error", "Invalid size", "invalid_size"),
    { refused: "final" },
    400,
  ),
  limited: answer(
    "too many requests",
    fault("rate_limit_error", "Rate limit reached"),
    { refused: "rate" },
    429,
  ),
  outage: answer("an outage", undefined, "unclear", 502),
  withoutId: answer("no id", { object: "video", status: "queued" }, "unclear"),
  others: [
    answer("a video without a state", video({}), accepted),
    answer("a state that the relay does not know", inState("dreamt"), accepted),
    answer("a success without a link", doneAs({}), accepted),
    answer("a success with a link", success, { ...accepted, result: done }),
    answer("a video that has failed before the answer", failure("No worker is free."), {
      ...accepted,
      result: failed("provider", "No worker is free."),
    }),
    answer("an error", fault("server_error", "Try again."), "unclear"),
    answer(
      "an error with an id of the request",
      { id: "req_1", ...fault("server_error", "Try again.") },
      "unclear",
    ),
    answer("a state of the server", { status: "ok" }, "unclear"),
    answer("a model without a channel", NO_CHANNEL, { refused: "final" }, 503),
    answer("a model that an upstream does not have", NO_CHANNEL, "unclear", 500),
    ...results.others,
  ],
};

export const examples: Examples = {
  provider: "openai-videos",
  hooks: {
    success: hook("a success", event("completed", success), done),
    noOutput: hook("a success without links", event("completed", doneAs({})), NO_OUTPUT),
    moderation: hook(
      "a stop by moderation",
      event("failed", failure("The prompt was refused.", "moderation_blocked")),
      failed("moderation", "The prompt was refused."),
    ),
    failure: hook(
      "a failure that is no moderation",
      event("failed", failure("No worker is free.")),
      failed("provider", "No worker is free."),
    ),
    running: hook("the state in_progress", event("progress", inState("in_progress")), PROCESSING),
    unknownState: hook("an unknown state", event("completed", inState("dreamt")), null),
    unreadable: hook(
      "another kind of event",
      { ...head, type: "batch.failed", data: {} },
      "nothing",
    ),
    others: [
      hook(
        "a canceled job, which the type of the event calls failed",
        event("failed", inState("canceled")),
        endedAs("canceled", "canceled"),
      ),
      hook(
        "an expired job, which the type of the event calls failed",
        event("failed", inState("expired")),
        endedAs("timeout", "expired"),
      ),
      hook(
        "an event whose job has no state",
        event("failed", video({})),
        endedAs("provider", "failed"),
      ),
      hook(
        "a link without the gateway's host",
        event("completed", doneAs({ url: "/v.mp4" })),
        NO_OUTPUT,
      ),
      hook("fields of wrong types", { ...head, type: 7, data: [success] }, "nothing"),
    ],
  },
  submits,
  polls: {
    success: poll("a success", { ...success, id: UNPADDED }, done),
    noOutput: poll("a success without links", doneAs({}), NO_OUTPUT),
    moderation: poll(
      "a stop by moderation",
      failure("The prompt was refused.", "moderation_blocked"),
      failed("moderation", "The prompt was refused."),
    ),
    failure: poll(
      "a failure that is no moderation",
      failure("No worker is free."),
      failed("provider", "No worker is free."),
    ),
    running: poll("the state in_progress", inState("in_progress"), PROCESSING),
    unknownState: poll("an unknown state", inState("dreamt"), null),
    others: [
      ...["queued", "pending", "submitted", "preparing", "not_start", "created", "unknown"].map(
        (state) => poll(`the state ${state}`, inState(state), QUEUED),
      ),
      ...["processing", "running", "generating"].map((state) =>
        poll(`the state ${state}`, inState(state), PROCESSING),
      ),
      ...["complete", "finished", "success", "succeeded", "done"].map((state) =>
        poll(`the state ${state}`, video({ status: state, url: VIDEO }), completed([VIDEO])),
      ),
      poll("the state error", inState("error"), endedAs("provider", "error")),
      poll("the state cancelled", inState("cancelled"), endedAs("canceled", "cancelled")),
      ...[
        { metadata: { url: VIDEO } },
        { video: { url: VIDEO } },
        { video_url: VIDEO },
        { output_url: VIDEO },
        { content: [{ type: "video", url: VIDEO }] },
        { url: `/v1/videos/${ID}/content`, urls: [VIDEO] },
      ].map((fields) =>
        poll(
          `a success with ${Object.keys(fields).join(" and ")}`,
          doneAs(fields),
          completed([VIDEO]),
        ),
      ),
      poll("two links", doneAs({ urls: [VIDEO, SECOND] }), completed([VIDEO, SECOND])),
      poll(
        "a link relative to the gateway",
        doneAs({ video: { url: "/files/v.mp4", duration: 5.04 } }),
        completed([`${GATEWAY}/files/v.mp4`], { duration: 5 }),
      ),
      poll(
        "a link that needs the gateway's key",
        doneAs({ url: `${GATEWAY}/v1/videos/${ID}/content?variant=video` }),
        NO_OUTPUT,
      ),
      poll("files on the gateway's disk", doneAs({ file_paths: ["/data/v.mp4"] }), NO_OUTPUT),
      poll(
        "a success with its usage",
        doneAs({ url: VIDEO, usage: { cost: 0.4, duration_seconds: 8 } }),
        using({ cost: 0.4, duration_seconds: 8 }, completed([VIDEO], { duration: 8 })),
      ),
      ...results.polls,
      poll("a job without state right after the submit", video({}), QUEUED),
      poll("a job without state, but with a link", video({ url: VIDEO }), null),
      ...["ok", "success", "ready", "error", "fail", "failure"].map((status) =>
        poll(`the state ${status} of an answer that names no job`, { status }, "unclear"),
      ),
      poll("a link without the id of a job", { status: "ok", url: VIDEO }, completed([VIDEO])),
      poll(
        "a failure without the id of a job",
        { status: "failed" },
        endedAs("provider", "failed"),
      ),
      poll(
        "an error of the request with HTTP 200",
        { error: { message: "Try again.", type: "server_error", code: null } },
        "unclear",
      ),
      poll(
        "an id that the gateway does not know",
        { error: { message: "Video not found", type: "invalid_request_error", code: "not_found" } },
        "unclear",
        404,
      ),
    ],
  },
};
