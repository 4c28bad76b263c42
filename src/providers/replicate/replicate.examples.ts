import { type CancelExamples, NO_BODY } from "../shared/examples/cancel-examples.ts";
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

const id = "ufawqhfynnddngldkgtslldrkq";
const url = "https://replicate.delivery/xezq/abc/out.mp4";
const path = `/v1/predictions/${id}`;
const doneAt = Date.UTC(2026, 0, 1, 0, 0, 42);
const metadata = { seed: 7, ratio: "16:9", duration: 5, resolution: "720p", generate_audio: true };

const succeeded = {
  id,
  model: "bytedance/seedance-1-pro",
  version: "hidden",
  status: "succeeded",
  input: {
    prompt: "a fox",
    duration: 5,
    resolution: "720P",
    aspect_ratio: "16:9",
    seed: 7,
    generate_audio: true,
  },
  output: url,
  error: null,
  logs: "Using seed: 8",
  created_at: "2026-01-01T00:00:00.000Z",
  started_at: "2026-01-01T00:00:01.000Z",
  completed_at: "2026-01-01T00:00:42.000Z",
  urls: { get: `https://api.replicate.com/v1/predictions/${id}` },
  data_removed: false,
};
const metrics = { predict_time: 41.2, total_time: 42 };
const measured = { ...succeeded, metrics: { ...metrics, note: "hidden" } };
const done = using(metrics, completed([url], metadata, doneAt));
const open = { ...succeeded, output: null, logs: "", completed_at: null };
const { hook, poll } = examplesOf(id, path);
const lost = { status: "succeeded", data_removed: true };
const removed = failed(
  "provider",
  "The job succeeded, but Replicate removed its output, which it keeps for an hour.",
);
const inState = (status: string) => ({ ...open, status });
const failure = (error: unknown) => ({ ...open, status: "failed", error });

const VERSION = "5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa";
const PREDICTIONS = "/v1/predictions";
const OF_MODEL = "/v1/models/bytedance/seedance-1-pro/predictions";
const OF_DEPLOYMENT = "/v1/deployments/acme/seedance.eu-1/predictions";
const call: Omit<SubmitCall, "path" | "model"> = {
  body: { input: succeeded.input },
  endpoint: null,
  metadata,
  answer: "job-or-result",
  takesMultipart: false,
};
const job = { id, endpoint: null };
const answer = answersAt(OF_MODEL);
const fault = (title: string, detail: string, status: number) => ({ title, detail, status });

const submits: SubmitExamples = {
  calls: [
    {
      ...call,
      path: PREDICTIONS,
      body: { version: VERSION, input: succeeded.input },
      model: VERSION,
    },
    { ...call, path: OF_MODEL, model: "bytedance/seedance-1-pro" },
    { ...call, path: OF_DEPLOYMENT, model: "acme/seedance.eu-1" },
  ],
  otherPaths: [
    path,
    `${path}/cancel`,
    `${OF_MODEL}/${id}`,
    `/v1/models/${"a".repeat(128)}/b/predictions`,
    `/v1/models/b/${"a".repeat(128)}/predictions`,
    "/v1/models/bytedance/seedance-1-pro",
    "/v1/models/bytedance/seedance-1-pro/versions/1/trainings",
    "/v1/models/../seedance-1-pro/predictions",
    "/v1/models/bytedance/./predictions",
    "/v1/models/bytedance%2Fother/seedance-1-pro/predictions",
    "/v1/models",
    "/v1/deployments",
    "/v1/trainings",
    "/v1/files",
    "/predictions",
  ],
  accepted: answer("a starting prediction", inState("starting"), { job }, 201),
  result: answer(
    "a prediction that has succeeded before the answer",
    measured,
    { job, result: done },
    201,
  ),
  refused: answer(
    "a version that does not exist",
    fault(
      "Invalid version or not permitted",
      "The specified version does not exist (or perhaps you don't have permission to use it?)",
      422,
    ),
    { refused: "final" },
    422,
  ),
  limited: answer(
    "too many predictions",
    fault("Too Many Requests", "Request was throttled.", 429),
    { refused: "rate" },
    429,
  ),
  outage: answer("an outage", undefined, "unclear", 502),
  withoutId: answer("no id", { status: "starting" }, "unclear", 201),
  others: [
    answer(
      "a prediction that has failed before the answer",
      failure("CUDA out of memory"),
      { job, result: failed("provider", "CUDA out of memory") },
      201,
    ),
    answer(
      "a processing prediction with its output",
      { ...measured, status: "processing" },
      { job },
      201,
    ),
    answer("a success without a link", { ...measured, output: "a fox" }, { job }, 201),
    answer("an unknown state", inState("dreamt"), { job }, 201),
  ],
};

const cancels: CancelExamples = {
  job: { id: "ufawqhfynnddngldkgtslldrkq", endpoint: null },
  request: { method: "POST", path: "/v1/predictions/ufawqhfynnddngldkgtslldrkq/cancel" },
  onlyWhile: null,
  forgetsCanceled: false,
  answers: [
    ["the prediction was canceled", 200, { status: "canceled" }, "canceled"],
    ["it was canceled before it started", 200, { status: "aborted" }, "canceled"],
    ["it still runs", 200, { status: "processing" }, "accepted"],
    ["it still waits", 200, { status: "starting" }, "accepted"],
    ["it has succeeded", 200, { status: "succeeded" }, "ended"],
    ["it has failed", 200, { status: "failed" }, "ended"],
    ["an unknown state", 200, { status: "sleeping" }, "unknown"],
    ["a page", 200, NO_BODY, "unknown"],
    ["an error", 422, { detail: "Prediction cannot be canceled" }, "refused"],
    ["the prediction is not known", 404, { detail: "Not found" }, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "replicate",
  hooks: {
    success: hook("a success", measured, done),
    noOutput: hook("a success without URL", { ...succeeded, output: [] }, NO_OUTPUT),
    moderation: hook(
      "a stop by moderation",
      failure("The input was flagged as sensitive. (E005)"),
      failed("moderation", "The input was flagged as sensitive. (E005)"),
    ),
    failure: hook(
      "a failure that is no moderation",
      failure("CUDA out of memory"),
      failed("provider", "CUDA out of memory"),
    ),
    running: hook("the state processing", inState("processing"), PROCESSING),
    unknownState: hook("an unknown state", inState("dozing"), null),
    unreadable: hook("an envelope", { type: "prediction", data: succeeded }, "nothing"),
    others: [
      hook(
        "a success with a list of outputs",
        { ...succeeded, output: [url, "not a URL", `${url}?2`] },
        completed([url, `${url}?2`], metadata, doneAt),
      ),
      hook(
        "a success with an object of outputs",
        { ...succeeded, output: { video: url, frames: [{ file: `${url}?2` }], score: 1 } },
        completed([url, `${url}?2`], metadata, doneAt),
      ),
      hook(
        "a seed that only the logs tell",
        { ...succeeded, input: {}, logs: "Loading\nUsing seed: 1234\nDone" },
        completed([url], { seed: 1234 }, doneAt),
      ),
      hook(
        "an input that left everything to the model",
        { ...succeeded, input: { seed: -1, duration: -1, aspect_ratio: "adaptive" }, logs: "" },
        completed([url], {}, doneAt),
      ),
      hook(
        "a time that is not one",
        { ...succeeded, completed_at: "5" },
        completed([url], metadata),
      ),
      hook(
        "an error that is an object",
        failure({ message: "Prediction timed out" }),
        failed("timeout", "Prediction timed out"),
      ),
      hook(
        "canceled after some time of work",
        { ...inState("canceled"), metrics: { predict_time: 2.5 } },
        using({ predict_time: 2.5 }, endedAs("canceled", "canceled")),
      ),
      hook("aborted", inState("aborted"), endedAs("timeout", "aborted")),
      hook("starting", inState("starting"), QUEUED),
      hook("output before the end", { ...open, status: "processing", output: url }, PROCESSING),
      hook(
        "a success whose data was removed",
        { ...succeeded, output: null, input: {}, logs: null, data_removed: true },
        removed,
      ),
      hook("an id of the wrong type", { ...succeeded, id: { id } }, "nothing"),
      hook("a state of the wrong type", { ...succeeded, status: 200 }, null),
    ],
  },
  submits,
  polls: {
    success: poll("a success", measured, done),
    noOutput: poll("a success without URL", { ...succeeded, output: [] }, NO_OUTPUT),
    moderation: poll(
      "a stop by moderation",
      failure("The input was flagged as sensitive. (E005)"),
      failed("moderation", "The input was flagged as sensitive. (E005)"),
    ),
    failure: poll("a failure", failure("E1"), failed("provider", "E1")),
    running: poll("the state processing", inState("processing"), PROCESSING),
    unknownState: poll("an unknown state", inState("dozing"), null),
    others: [
      poll("a success whose data was removed", { ...open, ...lost }, removed),
      poll(
        "a job whose data is removed before it starts",
        { ...open, ...lost, status: "starting" },
        QUEUED,
      ),
      poll("still starting", inState("starting"), QUEUED),
      poll(
        "a running job whose logs end with a progress bar",
        { ...inState("processing"), logs: "Using seed: 8\n 76%|███  | 38/50 [00:33<00:10]" },
        PROCESSING,
      ),
      poll("no such prediction", { detail: "Not found", status: 404 }, "unclear", 404),
    ],
  },
  cancels,
};
