import { type Examples, examplesOf } from "../../../shared/examples/report-examples.ts";
import { answersAt } from "../../../shared/examples/submit-examples.ts";
import { completed, failed, PROCESSING, QUEUED, using } from "../../../shared/examples/meanings.ts";

const id = "019a0068-794a-7213-90f6-cc4eb62e3da7";
const url = "https://api.together.ai/shrt/DwlaBdSakNRFlBxN";
const open = { id, object: "video", model: "minimax/video-01-director", created_at: 1_767_225_600 };
const ended = { ...open, seconds: "5", size: "1366x768", completed_at: 1_767_225_700 };
const success = { ...ended, status: "completed", outputs: { cost: 0.28, video_url: url } };
const metadata = { duration: 5, ratio: "16:9", resolution: "768p" };
const done = using({ cost: 0.28 }, completed([url], metadata, 1_767_225_700_000));
const inState = (status: string) => ({ ...open, status });
const failedWith = (code: string, message: string) => ({
  ...inState("failed"),
  error: { code, message },
});
const { poll } = examplesOf(id, `/v2/videos/${id}`);
const submitted = answersAt("/v2/videos");

/** Examples of the answers of Together (https://docs.together.ai/reference/get-videos-id), which sends no hooks. */
export const examples: Examples = {
  provider: "together",
  hooks: null,
  submits: {
    calls: [
      {
        path: "/v2/videos",
        body: { model: "minimax/video-01-director", prompt: "a fox", seconds: "5", seed: 7 },
        model: "minimax/video-01-director",
        endpoint: null,
        metadata: { duration: 5, seed: 7 },
        answer: "job",
        takesMultipart: false,
      },
    ],
    otherPaths: [`/v2/videos/${id}`, "/v2/images", "/v1/videos"],
    accepted: submitted("a new job", inState("in_progress"), { job: { id, endpoint: null } }),
    result: { exempt: "The answer to a submission is never the end of the job." },
    refused: submitted("wrong input", { error: {} }, { refused: "final" }, 400),
    limited: submitted("too many requests", undefined, { refused: "rate" }, 429),
    outage: submitted("an outage", undefined, "unclear", 503),
    withoutId: submitted("no job", { object: "video" }, "unclear"),
    others: [],
  },
  polls: {
    success: poll("a success", success, done),
    noOutput: poll(
      "a success without output",
      { ...success, outputs: { cost: 0.28 } },
      { status: "no_output", usage: { cost: 0.28 } },
    ),
    moderation: poll(
      "a stop by moderation",
      failedWith("content_policy", "The prompt violates the content policy."),
      failed("moderation", "The prompt violates the content policy."),
    ),
    failure: poll(
      "a failure",
      failedWith("internal", "The model crashed."),
      failed("provider", "The model crashed."),
    ),
    running: poll("a job at work", inState("in_progress"), PROCESSING),
    unknownState: poll("an unknown state", inState("warming"), null),
    others: [poll("a job in the queue", inState("queued"), QUEUED)],
  },
};
