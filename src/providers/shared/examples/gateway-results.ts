import type { JsonObject } from "../../../core/json.ts";
import { examplesOf, GATEWAY, type PollExample } from "./report-examples.ts";
import { answersAt, type SubmitCall, type SubmitExample } from "./submit-examples.ts";
import { completed, failed, NO_OUTPUT, using } from "./meanings.ts";

const PATH = "/v1/images/generations";
const IMAGE = "https://cdn.example/a.png";
const CREATED_AT = 1767225720;
const FOX = "aGVsbG8=";
/** Text with which the relay replaces a file in an answer that it has stored. */
const STORED = "relay-output:a1b2:1";
const SQUARE = { ratio: "1:1", resolution: "1024p" };
const TOKENS = { total_tokens: 100, input_tokens: 50, output_tokens: 50 };
const CHAT_TOKENS = { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 };
const noOutput = { job: null, result: NO_OUTPUT };
const answer = answersAt(PATH);
const edited = answersAt("/v1/images/edits");
const spoken = answersAt("/v1/audio/speech");
const heard = answersAt("/v1/audio/transcriptions");
const chat = answersAt("/v1/chat/completions");
const responded = answersAt("/v1/responses");
const made = (...data: readonly object[]) => ({ created: CREATED_AT, data });
const jobAt = (id: string, endpoint: string) => ({ job: { id, endpoint } });

function callOf(
  path: string,
  body: JsonObject & { readonly model: string },
  takesMultipart = false,
): SubmitCall {
  const metadata = "size" in body ? SQUARE : {};
  return {
    path,
    body,
    model: body.model,
    endpoint: null,
    metadata,
    answer: "result",
    takesMultipart,
  };
}

const calls: readonly SubmitCall[] = [
  callOf(PATH, { model: "seedream-5-0", prompt: "a fox", size: "1024x1024", n: 1 }),
  callOf(
    "/v1/images/edits",
    {
      model: "gpt-image-2",
      prompt: "a red fox",
      size: "1024x1024",
      images: [{ image_url: IMAGE }],
    },
    true,
  ),
  callOf("/v1/audio/speech", { model: "gpt-4o-mini-tts", input: "A fox.", voice: "alloy" }),
  callOf("/v1/audio/transcriptions", { model: "gpt-4o-transcribe", language: "en" }, true),
  callOf("/v1/chat/completions", { model: "gpt-5.4", messages: [{ role: "user", content: "Hi" }] }),
  callOf("/v1/responses", { model: "gpt-5.4", input: "Tell me a story." }),
];

const result: SubmitExample = answer("an image with its link", made({ url: IMAGE }), {
  job: null,
  result: completed([IMAGE], {}, CREATED_AT * 1000),
});

const ofImages: readonly SubmitExample[] = [
  answer(
    "two images, one of them with a path on the gateway",
    made({ url: IMAGE, revised_prompt: "a red fox" }, { url: "/files/b.png" }),
    {
      job: null,
      result: completed([IMAGE, `${GATEWAY}/files/b.png`], {}, CREATED_AT * 1000),
    },
  ),
  answer(
    "an image in base64, with its size and usage",
    { ...made({ b64_json: FOX }), size: "1024x1024", usage: TOKENS },
    { job: null, result: using(TOKENS, NO_OUTPUT) },
  ),
  answer(
    "a stored image, with usage",
    { ...made({ url: STORED }), usage: TOKENS },
    { job: null, result: using(TOKENS, NO_OUTPUT) },
  ),
  answer(
    "an image with its link and in base64, with its size and without a time",
    { created: 0, data: [{ url: IMAGE, b64_json: FOX }], size: "1024x1024" },
    { job: null, result: completed([IMAGE], SQUARE) },
  ),
  edited(
    "the last event of a stream",
    { type: "image_edit.completed", url: STORED, created_at: CREATED_AT, usage: TOKENS },
    { job: null, result: using(TOKENS, NO_OUTPUT) },
  ),
  answer("images without links and data", made({ revised_prompt: "a red fox" }), "unclear"),
  answer(
    "a task in place of an image, in a list",
    { code: 200, data: [{ status: "submitted", task_id: "task_1" }] },
    jobAt("task_1", "tasks"),
  ),
  answer(
    "a task in place of an image",
    { id: "task_2", object: "generation.task", status: "queued", progress: 0 },
    jobAt("task_2", "images/generations"),
  ),
  answer(
    "a task whose kind names the image",
    { id: "task_3", object: "image.generation.task", status: "pending", type: "image" },
    jobAt("task_3", "tasks"),
  ),
  answer("a task without an id", { object: "generation.task", status: "queued" }, "unclear"),
  answer("no images", made(), "unclear"),
  answer(
    "an error in place of images",
    { error: { code: "content_policy_violation", message: "The prompt was refused." } },
    { job: null, result: failed("moderation", "The prompt was refused.") },
  ),
];

const ofOthers: readonly SubmitExample[] = [
  spoken(
    "an error in place of speech",
    { error: { message: "No voice is free." } },
    {
      job: null,
      result: failed("provider", "No voice is free."),
    },
  ),
  spoken("JSON in place of speech", { status: "ok" }, "unclear"),
  heard(
    "a transcription billed by its duration",
    { text: "A fox.", usage: { type: "duration", seconds: 9 } },
    { job: null, result: using({ seconds: 9 }, NO_OUTPUT) },
  ),
  heard("a transcription without speech", { text: "" }, noOutput),
  heard("no transcription", { language: "english" }, "unclear"),
  chat(
    "a text",
    { choices: [{ message: { content: "A fox." }, finish_reason: "stop" }], usage: CHAT_TOKENS },
    { job: null, result: using(CHAT_TOKENS, NO_OUTPUT) },
  ),
  chat(
    "a stored image and one with a link",
    {
      choices: [
        {
          finish_reason: "stop",
          message: {
            content: "https://example.com/about-foxes",
            images: [{ image_url: { url: STORED } }, { image_url: { url: IMAGE } }],
          },
        },
      ],
    },
    { job: null, result: completed([IMAGE]) },
  ),
  chat(
    "a text that a filter has stopped",
    { choices: [{ message: { content: "A" }, finish_reason: "content_filter" }] },
    { job: null, result: failed("moderation", '"content_filter"') },
  ),
  chat(
    "an error of the upstream in the only choice",
    { choices: [{ finish_reason: "error", error: { code: 502, message: "It went away." } }] },
    { job: null, result: failed("provider", "It went away.") },
  ),
  chat(
    "an error of the upstream, with HTTP 200",
    { error: { code: 502, message: "Provider returned error" } },
    { job: null, result: failed("provider", "Provider returned error") },
  ),
  chat("no choices", { choices: [] }, "unclear"),
  responded(
    "a response",
    { object: "response", status: "completed", error: null, output: [], usage: TOKENS },
    { job: null, result: using(TOKENS, NO_OUTPUT) },
  ),
  responded(
    "the last event of a stream",
    { type: "response.completed", response: { status: "completed", usage: TOKENS } },
    { job: null, result: using(TOKENS, NO_OUTPUT) },
  ),
  responded(
    "a failed response",
    { status: "failed", error: { code: "server_error", message: "The model has crashed." } },
    { job: null, result: failed("provider", "The model has crashed.") },
  ),
  responded(
    "a response that a filter has stopped",
    { status: "incomplete", error: null, incomplete_details: { reason: "content_filter" } },
    { job: null, result: failed("moderation", '"content_filter"') },
  ),
  responded(
    "a response that its own limit has stopped",
    { status: "incomplete", error: null, incomplete_details: { reason: "max_output_tokens" } },
    { job: null, result: failed("invalid_input", '"max_output_tokens"') },
  ),
  responded(
    "an error as the last event of a stream",
    { type: "error", code: "rate_limit_exceeded", message: "Too many requests." },
    { job: null, result: failed("rate_limited", "Too many requests.") },
  ),
  responded("a response that goes on", { status: "in_progress", error: null }, "unclear"),
];

const polls: readonly PollExample[] = [
  examplesOf("task_1", "/v1/tasks/task_1", "tasks").poll(
    "a job for an image, below /v1/tasks",
    {
      code: 200,
      data: { id: "task_1", status: "completed", result: { images: [{ url: [IMAGE] }] } },
    },
    completed([IMAGE]),
  ),
  examplesOf("task_2", `${PATH}/task_2`, "images/generations").poll(
    "a job for an image, below the path of the call",
    { id: "task_2", status: "completed", result: { data: [{ url: IMAGE }] } },
    completed([IMAGE]),
  ),
];

/**
 * Examples of the calls whose answers are the results at a gateway with OpenAI's paths, and of the answers to them
 * and to polls of the jobs that they start. They are the same for every gateway.
 */
export const results = { calls, result, others: [...ofImages, ...ofOthers], polls };

/** Example of the answer of a gateway that has no upstream for the requested model. Its HTTP status is 503. */
export const NO_CHANNEL = {
  error: {
    code: "model_not_found",
    message: "No available channel for model wan-3.0 under group default (distributor)",
    type: "new_api_error",
  },
};
