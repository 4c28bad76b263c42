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

const id = "b9f1c2d3-0a1b-4c5d-8e6f-7a8b9c0d1e2f";
const url = "https://delivery-eu1.bfl.ai/results/b9/sample.jpeg?se=2026-01-01T00%3A10%3A00Z&sig=x";
const success = {
  id,
  status: "Ready",
  result: {
    sample: url,
    prompt: "a fox",
    seed: 42,
    start_time: 1_790_000_000.1,
    end_time: 1_790_000_004.2,
    duration: 4.1,
  },
  progress: null,
  details: null,
  preview: null,
};
const done = completed([url], { seed: 42 }, 1_790_000_004_200);
const open = { ...success, result: null };
const reasons = { "Moderation Reasons": ["Derivative Works Filter", "Safety Filter"] };
const { hook, poll } = examplesOf(id, `/v1/get_result?id=${id}`);

const inState = (status: string, fields: object = {}) => ({ ...open, status, ...fields });

const FLUX_2 = "/v1/flux-2-pro";
const submitted = answersAt(FLUX_2);
const job = { id, endpoint: null };
const call: Omit<SubmitCall, "path" | "model"> = {
  body: { prompt: "a fox", seed: 42, aspect_ratio: "16:9" },
  endpoint: null,
  metadata: { seed: 42, ratio: "16:9" },
  answer: "job",
  takesMultipart: false,
};
const accepted = {
  id,
  polling_url: `https://api.eu.bfl.ai/v1/get_result?id=${id}`,
  cost: 3,
  input_mp: 0,
  output_mp: 1,
};

const submits: SubmitExamples = {
  calls: [
    { ...call, path: FLUX_2, model: "flux-2-pro" },
    { ...call, path: "/v1/flux-pro-1.1-ultra", model: "flux-pro-1.1-ultra" },
    {
      ...call,
      path: "/v1/flux-3-video",
      model: "flux-3-video",
      body: {
        mode: "t2v",
        prompt: "a fox",
        duration: 8,
        aspect_ratio: "16:9",
        generate_audio: true,
      },
      metadata: { ratio: "16:9", duration: 8, generate_audio: true },
    },
    {
      ...call,
      path: "/v1/flux-tools/outpainting-v1",
      model: "flux-tools/outpainting-v1",
      body: { image: "https://example.com/fox.png" },
      metadata: {},
    },
  ],
  otherPaths: [
    "/v1/get_result",
    "/v1/credits",
    "/v1/finetune",
    "/v1/delete_finetune",
    "/v1/my_finetunes",
    "/v1/flux-tools",
    "/v1/flux-tools/",
    "/v1/flux-",
    "/v1/flux-2-pro/x",
    `/v1/flux-${"a".repeat(127)}`,
    "/flux-2-pro",
  ],
  accepted: submitted("the id of a job", accepted, { job }),
  result: { exempt: "BFL answers before the job runs." },
  refused: submitted(
    "a request without a prompt",
    { detail: [{ loc: ["body", "prompt"], msg: "Field required", type: "missing" }] },
    { refused: "final" },
    422,
  ),
  limited: submitted(
    "too many jobs at once",
    { detail: "Too many requests" },
    { refused: "busy" },
    429,
  ),
  outage: submitted("an outage", undefined, "unclear", 503),
  withoutId: submitted("no id", { polling_url: accepted.polling_url }, "unclear"),
  others: [
    submitted(
      "an account without credits",
      { detail: "Insufficient credits" },
      { refused: "funds" },
      402,
    ),
    submitted("an id of the wrong type", { ...accepted, id: { id } }, "unclear"),
  ],
};

export const examples: Examples = {
  provider: "bfl",
  hooks: {
    success: hook("a success", success, done),
    noOutput: hook("a success without URL", inState("Ready"), NO_OUTPUT),
    moderation: hook(
      "a stop of the output by moderation",
      inState("Content Moderated", { details: reasons }),
      failed("moderation", "Content Moderated: Derivative Works Filter, Safety Filter"),
    ),
    failure: hook(
      "a failure that is no moderation",
      inState("Error", { details: { error: "Worker crashed" } }),
      failed("provider", "Worker crashed"),
    ),
    running: hook("the state Pending", inState("Pending"), PROCESSING),
    unknownState: hook("an unknown state", inState("Polishing"), null),
    unreadable: hook("a success without a job id", { ...success, id: null }, "nothing"),
    others: [
      hook(
        "a success with nothing but its link",
        { id, status: "Ready", result: { sample: url } },
        completed([url]),
      ),
      hook(
        "a success with a list of links",
        { id, status: "Ready", result: { sample: [url, `${url}2`] } },
        completed([url, `${url}2`]),
      ),
      hook(
        "a success with a mask, as the object of a file, before the main output",
        {
          id,
          status: "Ready",
          result: { mask: { url: `${url}2` }, sample: url, input_image: `${url}3` },
        },
        completed([url, `${url}2`]),
      ),
      hook(
        "a failure whose code names moderation",
        inState("Error", { error: "content_policy_violation", message: "The prompt is refused" }),
        failed("moderation", "The prompt is refused"),
      ),
    ],
  },
  submits,
  polls: {
    success: poll("a success", success, done),
    noOutput: poll(
      "a success without URL",
      inState("Ready", { result: { sample: [] } }),
      NO_OUTPUT,
    ),
    moderation: poll(
      "a stop of the request by moderation",
      inState("Request Moderated", { details: reasons }),
      failed("moderation", "Request Moderated: Derivative Works Filter, Safety Filter"),
    ),
    failure: poll("the state Error", inState("Error"), endedAs("provider", "Error")),
    running: poll("the state Pending", inState("Pending", { progress: 0.5 }), PROCESSING),
    unknownState: poll("a job that is not known yet", inState("Task not found"), null),
    others: [
      poll(
        "a success that states its cost and not its job",
        { ...success, id: undefined, cost: 85, input_mp: 0, output_mp: 1.02 },
        using({ cost: 85, input_mp: 0, output_mp: 1.02 }, done),
      ),
      poll(
        "a success, whose state is in another field",
        { ...success, status: null, state: "Ready" },
        done,
      ),
      poll("the state Queued", inState("Queued"), QUEUED),
      poll(
        "a stop by moderation without reasons",
        inState("Content Moderated"),
        endedAs("moderation", "Content Moderated"),
      ),
      poll(
        "the state Failed with a text",
        inState("Failed", { details: "Worker crashed" }),
        failed("provider", "Worker crashed"),
      ),
      poll("an answer without a job", { detail: "Not authenticated" }, "unclear"),
    ],
  },
};
