import { type CancelExamples, NO_BODY } from "../../../shared/examples/cancel-examples.ts";
import { type Examples, examplesOf } from "../../../shared/examples/report-examples.ts";
import { answersAt, type SubmitCall } from "../../../shared/examples/submit-examples.ts";
import {
  completed,
  endedAs,
  failed,
  NEEDS_STORE,
  NO_OUTPUT,
  PROCESSING,
  QUEUED,
  using,
} from "../../../shared/examples/meanings.ts";

const id = "c80ffee4-f315-4e25-a146-0f3d98cf024b-e1";
const url = "https://cdn.example.com/out/a.mp4";
const open = { delayTime: 970, executionTime: 62_414, id, workerId: "gzbl9llf0c80n4" };
const success = { ...open, output: { video_url: url }, status: "COMPLETED" };
const amounts = { execution_ms: 62_414, delay_ms: 970 };
const done = using(amounts, completed([url]));
const used = <T extends object>(news: T) => ({ ...news, usage: amounts });
const nothing = used(NO_OUTPUT);
const inState = (status: string) => ({ ...open, status });
const { hook, poll } = examplesOf(id, `/status/${id}`);
const submitted = answersAt("/run");
const job = { id, endpoint: null };
const call: Omit<SubmitCall, "path"> = {
  body: { input: { prompt: "a fox" } },
  model: "runpod",
  endpoint: null,
  metadata: {},
  answer: "job-or-result",
  takesMultipart: false,
};
const moderated = { ...inState("FAILED"), error: "The prompt was flagged by the NSFW filter" };
const broken = { ...inState("FAILED"), error: "CUDA out of memory" };

/**
 * Builds an answer of worker-comfyui, a program that runs on RunPod, with one image
 * (https://github.com/runpod-workers/worker-comfyui).
 */
function imagesOf(type: string, data: string) {
  return { ...success, output: { images: [{ filename: "ComfyUI_00001_.png", type, data }] } };
}

/**
 * Examples of the answers of a RunPod endpoint to a cancellation
 * (https://docs.runpod.io/serverless/endpoints/send-requests).
 */
const cancels: CancelExamples = {
  job: { id: "c80ffee4-e1", endpoint: null },
  request: { method: "POST", path: "/cancel/c80ffee4-e1" },
  onlyWhile: null,
  forgetsCanceled: false,
  answers: [
    ["the job was canceled", 200, { id: "c80ffee4-e1", status: "CANCELLED" }, "canceled"],
    ["it still runs", 200, { id: "c80ffee4-e1", status: "IN_PROGRESS" }, "accepted"],
    ["it has ended", 200, { id: "c80ffee4-e1", status: "COMPLETED" }, "ended"],
    ["an unknown state", 200, { id: "c80ffee4-e1", status: "WARMING" }, "unknown"],
    ["a page", 200, NO_BODY, "unknown"],
    ["a refusal", 400, { error: "cannot cancel" }, "refused"],
    ["the job is not known", 404, {}, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "runpod",
  hooks: {
    success: hook("a success", success, done),
    noOutput: hook("a success without output", { ...success, output: {} }, nothing),
    moderation: hook(
      "a stop by the worker's own filter",
      moderated,
      used(failed("moderation", moderated.error)),
    ),
    failure: hook("a failure", broken, used(failed("provider", broken.error))),
    running: hook("a job at work", inState("IN_PROGRESS"), PROCESSING),
    unknownState: hook("an unknown state", inState("WARMING"), null),
    unreadable: hook("a text", '"done"', "nothing"),
    others: [hook("a hook without a state", { id }, null)],
  },
  submits: {
    calls: [
      { ...call, path: "/run" },
      { ...call, path: "/runsync" },
    ],
    otherPaths: [`/status/${id}`, `/cancel/${id}`, "/purge-queue", "/health", "/run/x"],
    accepted: submitted("a new job", { id, status: "IN_QUEUE" }, { job }),
    result: {
      ...answersAt("/runsync")("a job that has ended before the answer", success, {
        job,
        result: done,
      }),
    },
    refused: submitted("wrong input", { error: "input is required" }, { refused: "final" }, 400),
    limited: submitted("too many requests", undefined, { refused: "rate" }, 429),
    outage: submitted("an outage", undefined, "unclear", 502),
    withoutId: submitted("no job", { status: "IN_QUEUE" }, "unclear"),
    others: [],
  },
  polls: {
    success: poll("a success", success, done),
    noOutput: poll("a success without output", { ...success, output: {} }, nothing),
    moderation: poll(
      "a stop by the worker's own filter",
      moderated,
      used(failed("moderation", moderated.error)),
    ),
    failure: poll("a failure", broken, used(failed("provider", broken.error))),
    running: poll("a job at work", inState("IN_PROGRESS"), PROCESSING),
    unknownState: poll("an unknown state", inState("WARMING"), null),
    others: [
      poll("a job in the queue", { id, status: "IN_QUEUE" }, QUEUED),
      poll("a job that was canceled", inState("CANCELLED"), used(endedAs("canceled", "CANCELLED"))),
      poll("a job that took too long", inState("TIMED_OUT"), used(endedAs("timeout", "TIMED_OUT"))),
      poll("an answer without a job", {}, "unclear"),
      poll("images of worker-comfyui in a bucket", imagesOf("s3_url", url), done),
      poll(
        "images of worker-comfyui in base64",
        imagesOf("base64", "iVBORw0KGgo".repeat(40)),
        used(NEEDS_STORE),
      ),
    ],
  },
  cancels,
};
