import { type Examples, examplesOf } from "../../../shared/examples/report-examples.ts";
import { answersAt } from "../../../shared/examples/submit-examples.ts";
import {
  completed,
  failed,
  NO_OUTPUT,
  PROCESSING,
  QUEUED,
  using,
} from "../../../shared/examples/meanings.ts";

const id = "6533643b-aceb-4c40-967e-d9ba9baac39e";
const url = "https://api.sync.so/v2/generations/a/result.mp4?token=abc";
const open = { id, createdAt: "2026-01-01T00:00:00.000Z", model: "lipsync-2", outputUrl: null };
const success = { ...open, status: "COMPLETED", outputUrl: url, outputDuration: 5.04 };
const done = using({ output_s: 5.04 }, completed([url], { duration: 5 }));
const inState = (status: string) => ({ ...open, status });
const broken = {
  ...inState("FAILED"),
  error: "The audio could not be read.",
  errorCode: "generation_audio_invalid",
};
const { hook, poll } = examplesOf(id, `/v2/generate/${id}`);
const submitted = answersAt("/v2/generate");
const MODERATION = { exempt: "No stop by moderation is documented." };

/** Examples of the answers and hooks of sync.so (https://sync.so/docs/api-reference). */
export const examples: Examples = {
  provider: "sync-so",
  hooks: {
    success: hook("a success", success, done),
    noOutput: hook("a success without output", inState("COMPLETED"), NO_OUTPUT),
    moderation: MODERATION,
    failure: hook("a failure", broken, failed("invalid_input", broken.error)),
    running: hook("a generation at work", inState("PROCESSING"), PROCESSING),
    unknownState: hook("an unknown state", inState("WARMING"), null),
    unreadable: hook("a hook without a state and an id", { model: "lipsync-2" }, "nothing"),
    others: [],
  },
  submits: {
    calls: [
      {
        path: "/v2/generate",
        body: { model: "lipsync-2", input: [] },
        model: "lipsync-2",
        endpoint: null,
        metadata: {},
        answer: "job",
        takesMultipart: false,
      },
    ],
    otherPaths: [`/v2/generate/${id}`, "/v2/batch", "/v2/assets"],
    accepted: submitted(
      "a new generation",
      inState("PENDING"),
      { job: { id, endpoint: null } },
      201,
    ),
    result: { exempt: "The answer to a submission is never the end of the job." },
    refused: submitted("wrong input", { message: "input" }, { refused: "final" }, 400),
    limited: submitted("too many requests", undefined, { refused: "rate" }, 429),
    outage: submitted("an outage", undefined, "unclear", 503),
    withoutId: submitted("no generation", {}, "unclear", 201),
    others: [],
  },
  polls: {
    success: poll("a success", success, done),
    noOutput: poll("a success without output", inState("COMPLETED"), NO_OUTPUT),
    moderation: MODERATION,
    failure: poll("a failure", broken, failed("invalid_input", broken.error)),
    running: poll("a generation at work", inState("PROCESSING"), PROCESSING),
    unknownState: poll("an unknown state", inState("WARMING"), null),
    others: [
      poll("a generation in the queue", inState("PENDING"), QUEUED),
      poll(
        "a generation that was rejected",
        { ...inState("REJECTED"), error: "The input was rejected." },
        failed("invalid_input", "The input was rejected."),
      ),
    ],
  },
};
