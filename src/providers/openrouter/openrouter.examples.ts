import { type Examples, examplesOf, GATEWAY } from "../shared/examples/report-examples.ts";
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

const id = "gen-vid-1767225600-abc";
const url = `https://openrouter.ai/api/v1/videos/${id}/content?index=0`;
const signed = "https://storage.example/out.mp4?signature=abc";
const path = `/api/v1/videos/${id}`;
const createdAt = Date.UTC(2026, 0, 1);

const success = {
  id,
  status: "completed",
  generation_id: "gen-1",
  model: "google/veo-3.1",
  unsigned_urls: [url],
};
const charged = { ...success, urls: [signed], usage: { cost: 0.5, is_byok: false } };
const failure = (error: unknown) => ({ id, status: "failed", error });
const inState = (status: string) => ({ id, status });
const { hook, poll } = examplesOf(id, path);
const head = { created_at: "2026-01-01T00:00:00.000Z" };
const event = (type: string, data: object) => ({ ...head, type: `video.generation.${type}`, data });

const VIDEOS = "/api/v1/videos";
const submitted = answersAt(VIDEOS);
const job = { id, endpoint: null };
const fault = (code: number, message: string) => ({ error: { code, message } });

const submits: SubmitExamples = {
  calls: [
    {
      path: VIDEOS,
      body: {
        model: "google/veo-3.1",
        prompt: "a fox",
        duration: 8,
        resolution: "720p",
        aspect_ratio: "16:9",
        seed: 7,
        generate_audio: false,
      },
      model: "google/veo-3.1",
      endpoint: null,
      metadata: { seed: 7, ratio: "16:9", duration: 8, resolution: "720p", generate_audio: false },
      answer: "job",
      takesMultipart: false,
    },
  ],
  otherPaths: [
    path,
    `${path}/content`,
    `${VIDEOS}/models`,
    "/api/v1/images",
    "/api/v1/chat/completions",
    "/v1/videos",
  ],
  accepted: submitted(
    "a job in the queue",
    { id, polling_url: path, status: "pending" },
    { job },
    202,
  ),
  result: { exempt: "OpenRouter answers before the job runs." },
  refused: submitted(
    "an account without credits",
    fault(402, "Insufficient credits"),
    { refused: "funds" },
    402,
  ),
  limited: submitted(
    "too many requests",
    fault(429, "Rate limit exceeded"),
    { refused: "rate" },
    429,
  ),
  outage: submitted("an outage", fault(500, "Internal Server Error"), "unclear", 500),
  withoutId: submitted("no id", { status: "pending" }, "unclear", 202),
  others: [
    submitted(
      "a job that has failed before the answer",
      failure("Blocked by the safety filter"),
      { job, result: failed("moderation", "Blocked by the safety filter") },
      202,
    ),
  ],
};

export const examples: Examples = {
  provider: "openrouter",
  hooks: {
    success: hook(
      "a success with signed URLs",
      event("completed", charged),
      using({ cost: 0.5 }, completed([signed], {}, createdAt)),
    ),
    noOutput: hook(
      "a success without URL",
      event("completed", { ...success, unsigned_urls: [] }),
      NO_OUTPUT,
    ),
    moderation: hook(
      "a stop by moderation",
      event("failed", failure("Blocked by the safety filter")),
      failed("moderation", "Blocked by the safety filter"),
    ),
    failure: hook(
      "a failure that is no moderation",
      event("failed", failure({ message: "Provider returned an error", code: "upstream" })),
      failed("provider", "Provider returned an error"),
    ),
    running: hook("the state in progress", event("progress", inState("in_progress")), PROCESSING),
    unknownState: hook("an unknown state", event("progress", inState("dreamt")), null),
    unreadable: hook("another kind of event", '{"type":"workspace.created","data":{}}', "nothing"),
    others: [
      hook("a success", event("completed", success), completed([url], {}, createdAt)),
      hook(
        "a failure so early that there is no job",
        event("failed", { id: null, status: "failed", generation_id: null, error: "No provider" }),
        failed("provider", "No provider"),
        null,
      ),
      hook(
        "a failure that only the type of the event shows",
        event("failed", { id }),
        endedAs("provider", "failed"),
      ),
      hook(
        "the state cancelled",
        event("cancelled", inState("cancelled")),
        endedAs("canceled", "cancelled"),
      ),
      hook(
        "the state expired",
        event("expired", inState("expired")),
        endedAs("timeout", "expired"),
      ),
      hook("the state pending", event("progress", inState("pending")), QUEUED),
      hook("data of the wrong type", '{"data":["completed"]}', "nothing"),
    ],
  },
  submits,
  polls: {
    success: poll("a success", charged, using({ cost: 0.5 }, completed([signed]))),
    noOutput: poll("a success without URL", { ...success, unsigned_urls: [] }, NO_OUTPUT),
    moderation: poll(
      "a stop by moderation",
      failure("Blocked by the safety filter"),
      failed("moderation", "Blocked by the safety filter"),
    ),
    failure: poll("a failure", failure("E1"), failed("provider", "E1")),
    running: poll("the state in progress", inState("in_progress"), PROCESSING),
    unknownState: poll("an unknown state", inState("dreamt"), null),
    others: [
      poll("the state pending", inState("pending"), QUEUED),
      poll(
        "a success without signed URLs",
        success,
        completed([`${GATEWAY}${path}/content?index=0`]),
      ),
      poll(
        "two videos behind paths that need the key",
        { ...success, unsigned_urls: [`${path}/content?index=0`, `${path}/content?index=1`] },
        completed([`${GATEWAY}${path}/content?index=0`, `${GATEWAY}${path}/content?index=1`]),
      ),
      poll("no such job", { error: { code: 404, message: "Not found" } }, "unclear", 404),
    ],
  },
};
