import { type CancelExamples, NO_BODY } from "../shared/examples/cancel-examples.ts";
import {
  type ExampleAnswer,
  type Examples,
  examplesOf,
  type PollExample,
} from "../shared/examples/report-examples.ts";
import {
  answersAt,
  type SubmitCall,
  type SubmitExample,
  type SubmitExamples,
} from "../shared/examples/submit-examples.ts";
import {
  completed,
  endedAs,
  failed,
  NEEDS_STORE,
  NO_OUTPUT,
  NOT_A_FILE,
  PROCESSING,
  QUEUED,
  using,
} from "../shared/examples/meanings.ts";

const id = "v1_ChdXS0l4YWZXTk9xbk0xZThQczhEcmlROBIX";
const path = `/v1beta/interactions/${id}`;
const file = "/v1beta/files/bx2q8yq5n0cd";
const url = `https://generativelanguage.googleapis.com${file}:download?alt=media`;
const endedAt = Date.UTC(2026, 9, 30, 9, 0, 31);
const { hook, poll } = examplesOf(id, path);

const inState = (status: string) => ({
  id,
  status,
  object: "interaction",
  model: "gemini-omni-1.1-flash",
  created: "2026-10-30T08:59:02Z",
  updated: "2026-10-30T09:00:31Z",
});
const video = { type: "video", mime_type: "video/mp4", uri: url };
const input = { type: "user_input", content: [{ type: "text", text: "a fox" }] };
const output = (...content: readonly object[]) => ({ type: "model_output", content });
const withSteps = (status: string, ...steps: readonly object[]) => ({
  ...inState(status),
  steps: [input, ...steps],
});
const usage = { total_input_tokens: 4, total_output_tokens: 46_000, total_tokens: 46_004 };
const success = {
  ...withSteps("completed", output({ type: "text", text: "Here it is." }, video)),
  usage: { ...usage, output_tokens_by_modality: [{ modality: "video", tokens: 46_000 }] },
};
const done = using(usage, completed([url], {}, endedAt));
const error = (code: number, status: string, message: string) => ({
  error: { code, message, status },
});
const event = (type: string) => ({
  type: `interaction.${type}`,
  version: "v1",
  timestamp: "2026-10-30T09:00:31Z",
  data: { id },
});

/** Builds an example of a poll that finds a completed job and then also asks for its file. */
function pollWithFile(
  name: string,
  answer: ExampleAnswer,
  means: PollExample["means"],
  body: unknown = success,
): PollExample {
  const first = poll(name, body, means);
  return { ...first, exchanges: [...first.exchanges, { path: file, answer }] };
}

function ofFile(state: string, fields: object = {}): ExampleAnswer {
  return { status: 200, body: { name: "files/bx2q8yq5n0cd", state, ...fields } };
}

const submitted = answersAt("/v1beta/interactions");
const call: Omit<SubmitCall, "path"> = {
  body: {
    model: "gemini-omni-1.1-flash",
    input: "a fox",
    background: true,
    response_format: {
      type: "video",
      aspect_ratio: "16:9",
      resolution: "720p",
      duration: "6s",
      delivery: "uri",
    },
  },
  model: "gemini-omni-1.1-flash",
  endpoint: null,
  metadata: { ratio: "16:9", duration: 6, resolution: "720p" },
  answer: "job",
  takesMultipart: false,
};

const GENERATE = "/v1beta/models/gemini-3-pro-image:generateContent";
const generated = answersAt(GENERATE);
const TOKENS = {
  promptTokenCount: 7,
  candidatesTokenCount: 1_290,
  thoughtsTokenCount: 120,
  totalTokenCount: 1_417,
};
/** Text with which the relay replaces a file in an answer that it has stored. */
const STORED = "relay-output:a1b2:1";
const candidate = (finishReason: string, ...parts: readonly object[]) => ({
  candidates: [{ content: { role: "model", parts }, finishReason, index: 0 }],
  usageMetadata: TOKENS,
});
const made = { job: null, result: using(TOKENS, NO_OUTPUT) };
const withheld = (reason: string) => ({
  job: null,
  result: using(TOKENS, failed("moderation", `"${reason}"`)),
});

const results: readonly SubmitExample[] = [
  generated(
    "an image and a text",
    candidate("STOP", { text: "A fox." }, { inlineData: { mimeType: "image/png", data: "aGk=" } }),
    made,
  ),
  generated(
    "a stored image",
    candidate("STOP", { fileData: { mimeType: "image/png", fileUri: STORED } }),
    made,
  ),
  generated("a text that a limit has cut", candidate("MAX_TOKENS", { text: "A fox." }), made),
  generated(
    "an image that a filter has withheld",
    candidate("IMAGE_SAFETY"),
    withheld("IMAGE_SAFETY"),
  ),
  generated(
    "a text in place of an image that a filter has withheld",
    candidate("PROHIBITED_CONTENT", { text: "I cannot make that." }),
    withheld("PROHIBITED_CONTENT"),
  ),
  generated("no image", candidate("NO_IMAGE", { text: "What a fox!" }), {
    job: null,
    result: using(TOKENS, failed("provider", '"NO_IMAGE"')),
  }),
  generated(
    "thoughts alone",
    candidate("OTHER", { text: "The user wants a fox.", thought: true }),
    { job: null, result: using(TOKENS, failed("provider", '"OTHER"')) },
  ),
  generated(
    "a blocked prompt",
    { promptFeedback: { blockReason: "PROHIBITED_CONTENT" }, usageMetadata: TOKENS },
    withheld("PROHIBITED_CONTENT"),
  ),
  generated("no candidates", { candidates: [] }, "unclear"),
];

const submits: SubmitExamples = {
  calls: [
    { ...call, path: "/v1beta/interactions" },
    { ...call, path: "/v1/interactions" },
    {
      path: GENERATE,
      body: {
        contents: [{ parts: [{ text: "a fox" }] }],
        generationConfig: { imageConfig: { aspectRatio: "16:9", imageSize: "2K" } },
      },
      model: "gemini-3-pro-image",
      endpoint: null,
      metadata: { ratio: "16:9", resolution: "2k" },
      answer: "result",
      takesMultipart: false,
    },
  ],
  otherPaths: [
    path,
    `${path}/cancel`,
    "/v1beta/models/veo-3.1-generate-preview:predictLongRunning",
    "/v1beta/models/gemini-3-flash:streamGenerateContent",
    "/v1beta/models/gemini-3-flash:countTokens",
    "/v1beta/models/..:generateContent",
    "/v1beta/tunedModels/a:generateContent",
    "/v1beta/files",
    "/upload/v1beta/files",
    "/v1beta/webhooks",
    "/interactions",
    "/v1alpha/interactions",
  ],
  accepted: submitted("an interaction in the background", inState("in_progress"), {
    job: { id, endpoint: null },
  }),
  result: { exempt: "Only a call that the relay makes itself is answered with the result." },
  refused: submitted(
    "an unknown model",
    error(404, "NOT_FOUND", "Model not found"),
    { refused: "final" },
    404,
  ),
  limited: submitted(
    "too many requests",
    error(429, "RESOURCE_EXHAUSTED", "Quota exceeded"),
    { refused: "rate" },
    429,
  ),
  outage: submitted(
    "an outage",
    error(503, "UNAVAILABLE", "The model is overloaded"),
    "unclear",
    503,
  ),
  withoutId: submitted("no id", { status: "in_progress" }, "unclear"),
  others: results,
};

const cancels: CancelExamples = {
  job: { id: "v1_ChdXS0l4", endpoint: null },
  request: { method: "POST", path: "/v1beta/interactions/v1_ChdXS0l4/cancel" },
  onlyWhile: null,
  forgetsCanceled: false,
  answers: [
    ["the interaction was canceled", 200, { status: "cancelled" }, "canceled"],
    ["it still runs", 200, { status: "in_progress" }, "accepted"],
    ["it has completed", 200, { status: "completed" }, "ended"],
    ["it has failed", 200, { status: "failed" }, "ended"],
    ["a page", 200, NO_BODY, "unknown"],
    ["it is not running", 400, { error: { status: "FAILED_PRECONDITION" } }, "refused"],
    ["it is not known", 404, { error: { status: "NOT_FOUND" } }, "unknown"],
  ],
};

export const examples: Examples = {
  provider: "gemini",
  hooks: {
    success: { exempt: "A hook has no links." },
    noOutput: hook("a success, whose links only a poll finds", event("completed"), NO_OUTPUT),
    moderation: { exempt: "A hook does not say why an interaction has failed." },
    failure: hook("a failure", event("failed"), endedAs("provider", "failed")),
    running: { exempt: "A hook is sent at the end of an interaction, or when it needs an action." },
    unknownState: hook("the need for an action", event("requires_action"), null),
    unreadable: hook("another kind of event", '{"type":"batch.succeeded","data":{}}', "nothing"),
    others: [hook("an event without a job", { ...event("completed"), data: {} }, "nothing")],
  },
  submits,
  polls: {
    success: pollWithFile("a video", ofFile("ACTIVE"), done),
    noOutput: poll("a success without steps", inState("completed"), NO_OUTPUT),
    moderation: poll(
      "a success without a file",
      withSteps("completed", { type: "thought", summary: [] }),
      failed(
        "moderation",
        "The interaction has ended without a file, as one does that a safety filter has stopped.",
      ),
    ),
    failure: poll(
      "a failure",
      { ...inState("failed"), errors: [{ code: "internal", message: "Generation crashed" }] },
      failed("provider", "Generation crashed"),
    ),
    running: poll("the state in_progress", inState("in_progress"), PROCESSING),
    unknownState: poll("an unknown state", inState("dreaming_on"), null),
    others: [
      poll("the state queued", inState("queued"), QUEUED),
      pollWithFile("a video that is still processed", ofFile("PROCESSING"), PROCESSING),
      pollWithFile(
        "a video whose processing has failed",
        ofFile("FAILED", { error: { code: 13, message: "Transcoding failed" } }),
        failed("provider", "Transcoding failed"),
      ),
      pollWithFile("a file in an unknown state", ofFile("PONDERING"), "unclear: PONDERING"),
      pollWithFile(
        "a file that is not there",
        { status: 403, body: error(403, "PERMISSION_DENIED", "You do not have permission") },
        "unclear: PERMISSION_DENIED",
      ),
      pollWithFile(
        "too many requests for files",
        { status: 429, body: error(429, "RESOURCE_EXHAUSTED", "Quota exceeded") },
        "limited",
      ),
      pollWithFile(
        "two images in the last output of the model, and one in an earlier output",
        ofFile("ACTIVE"),
        completed([url, `${url}&n=2`, "https://example.com/draft.png"], {}, endedAt),
        withSteps(
          "completed",
          output({ type: "image", mime_type: "image/png", uri: "https://example.com/draft.png" }),
          output(
            { type: "image", mime_type: "image/png", uri: url },
            { type: "image", mime_type: "image/png", uri: `${url}&n=2` },
          ),
          { type: "thought", summary: [] },
        ),
      ),
      pollWithFile(
        "a video in outputs, which interactions had before steps",
        ofFile("ACTIVE"),
        completed([url], {}, endedAt),
        { ...inState("completed"), outputs: [{ type: "text", text: "Here." }, video] },
      ),
      poll(
        "a sound at another place than Google's files",
        withSteps(
          "completed",
          output({ type: "audio", mime_type: "audio/wav", uri: "https://example.com/a.wav" }),
        ),
        completed(["https://example.com/a.wav"], {}, endedAt),
      ),
      poll(
        "a video in Google Cloud Storage, whose link no client can open",
        withSteps(
          "completed",
          output({ type: "video", mime_type: "video/mp4", uri: "gs://bucket/a.mp4" }),
        ),
        NO_OUTPUT,
      ),
      poll(
        "a video in base64",
        withSteps(
          "completed",
          output({ type: "video", mime_type: "video/mp4", data: "AAAAIGZ0eXA=" }),
        ),
        NEEDS_STORE,
      ),
      poll(
        "words in place of a video",
        withSteps("completed", output({ type: "text", text: "A fox runs." })),
        NOT_A_FILE,
      ),
      poll(
        "a failure that the last step states",
        withSteps("failed", {
          type: "model_output",
          error: { code: 3, message: "The prompt violates the content policy" },
        }),
        failed("moderation", "The prompt violates the content policy"),
      ),
      poll("the state cancelled", inState("cancelled"), endedAs("canceled", "cancelled")),
      poll("the state incomplete", inState("incomplete"), endedAs("provider", "incomplete")),
      poll(
        "the state budget_exceeded",
        inState("budget_exceeded"),
        endedAs("provider", "budget_exceeded"),
      ),
      poll(
        "an interaction that waits for an action of its client",
        inState("requires_action"),
        failed("provider", 'The interaction has ended as "requires_action".'),
      ),
      poll(
        "no such interaction",
        error(404, "NOT_FOUND", "Interaction not found"),
        "unclear: NOT_FOUND",
        404,
      ),
      poll(
        "a wrong API key",
        error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
        "unauthorized",
        400,
      ),
      poll(
        "no permission",
        error(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers"),
        "unauthorized",
        403,
      ),
      poll("an answer about nothing", {}, "unclear"),
    ],
  },
  cancels,
};
