import type { RefusalClass } from "../../core/record/refusal.ts";
import { DAY_MS, HOUR_MS } from "../../core/time.ts";
import { isSuccess, type Answer } from "../provider-answer.ts";
import type { CancelReading } from "../cancel.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, isoMsAt, listAt, textAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import { outputLinks } from "../output-search.ts";
import type { JobPath } from "../job-calls.ts";
import { phaseOf } from "../phase.ts";
import { readingOfStatus } from "../poll-answer.ts";
import {
  noSignature,
  type Reading,
  readingOf,
  UNCLEAR,
  type UpstreamProvider,
} from "../provider.ts";
import {
  jobReadingOf,
  membersAt,
  resultReadingOf,
  type SubmitReading,
  type SubmitTarget,
} from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import { unlinkedOutputIn } from "../unlinked-output.ts";
import { amountsAt } from "../usage.ts";
import { withheldIn } from "../withheld-output.ts";

const INTERACTIONS = "/v1beta/interactions";
/**
 * Paths at which a `POST` starts a job (Google: creates an interaction). Google's SDK uses the first one, its
 * documentation the second.
 */
const SUBMIT_PATHS: readonly JobPath[] = ["/v1/interactions", INTERACTIONS];
const TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: membersAt("/response_format", ["aspect_ratio", "duration", "resolution"]),
  answer: "job",
  // Only an interaction in the background answers with its id at once, and only stored ones can be asked for.
  required: { "/background": true },
  // Without `delivery` the file stands in the answer as base64.
  inline: { linked: { "/response_format/delivery": "uri" } },
  unreadable: { "/store": [false], "/stream": [true] },
  // Google's JSON takes both spellings of a name (https://protobuf.dev/programming-guides/json).
  hidden: {
    isHiddenIn: null,
    pointers: ["/responseFormat", "/generationConfig", "/serviceTier", "/webhookConfig"],
  },
};
/**
 * Pattern of the paths at which a model answers a `POST` with its result; it captures the name of the model
 * (https://ai.google.dev/api/generate-content).
 */
const GENERATE_PATH = /^\/v1(?:beta)?\/models\/([A-Za-z0-9][\w.-]*):generateContent$/;
/**
 * Values of `finishReason` with which a filter has withheld what a model has made
 * (https://ai.google.dev/api/generate-content#FinishReason).
 */
const FILTERED: readonly (string | null)[] = [
  "SAFETY",
  "RECITATION",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
];
/** Values of `finishReason` with which a model has made a call of a tool that is not valid. */
const BAD_CALL: readonly (string | null)[] = [
  "MALFORMED_FUNCTION_CALL",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
];
/** Values of `finishReason` with which a model has made no image although it was to make one. */
const WITHOUT_IMAGE: readonly (string | null)[] = ["NO_IMAGE", "IMAGE_OTHER"];
/**
 * Pattern of the paths of files at Google; it captures the name of the file. The files can be read only with the API
 * key (https://ai.google.dev/gemini-api/docs/files).
 */
const FILE_PATH = /^\/v1(?:beta)?\/files\/([A-Za-z0-9_-]{1,128})(?::download)?$/;
/** Parameters of calls that generate images, by the names under which they are stored with the task. */
const IMAGE_CONFIG = {
  aspect_ratio: "/generationConfig/imageConfig/aspectRatio",
  resolution: "/generationConfig/imageConfig/imageSize",
};
/** Types of content in Google's description of a job that are files. */
const MEDIA: readonly unknown[] = ["video", "image", "audio"];
/**
 * Members of Google's description of a job that repeat the last file of each type; the same file also stands in the
 * member `steps`.
 */
const REPEATED: readonly string[] = ["output_video", "output_image", "output_audio"];
/** States in which a job at Google waits for another request of its client. The relay sends no such request. */
const WAITING: readonly (string | null)[] = ["requires_action", "requires_continuation"];
const BLOCKED = "The prompt has been blocked.";
const WITHHELD: UpstreamError = {
  code: null,
  text: "The interaction has ended without a file, as one does that a safety filter has stopped.",
  category: "moderation",
};

/**
 * Adapter for the Interactions API of Google's Gemini API, which generates videos, images and sounds
 * (https://ai.google.dev/gemini-api/docs/interactions-overview). Google calls a job an interaction. A hook names only
 * the job and its state. The signature of a hook proves nothing: Google's keys are the same for all customers, and the
 * signatures are made in another way than the documentation says
 * (https://github.com/googleapis/python-genai/issues/2927).
 */
export const gemini = {
  name: "gemini",
  variables: { key: "GEMINI_API_KEY", baseUrl: "GEMINI_BASE_URL" },
  baseUrls: ["https://generativelanguage.googleapis.com"],
  hooks: {
    assurance: "capability-url",
    parameter: "webhook_config.uris[]",
    idParameter: null,
    authenticate: noSignature,
    read: readHook,
  },
  // https://ai.google.dev/gemini-api/docs/files: files are kept for 48 hours.
  linkLife: { minMs: 48 * HOUR_MS, maxMs: 48 * HOUR_MS },
  usageNames: [
    "total_input_tokens",
    "total_output_tokens",
    "total_tokens",
    "promptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
  ],
  needsKey: ({ pathname }) => FILE_PATH.test(pathname),
  polls: {
    gapMs: 1_000,
    // Interactions are kept for 55 days with a paid key, and for one day with a free one, which makes no videos.
    maxAgeMs: 55 * DAY_MS,
    endpoint: null,
    keyHeader: { name: "x-goog-api-key", schemes: [] },
    headers: async (key) => ({ "x-goog-api-key": key }),
    path: ({ id }) => `${INTERACTIONS}/${encodeURIComponent(id)}`,
    readsEveryStatus: true,
    read: readInteraction,
    statesCreation: true,
  },
  submits: {
    target: targetOf,
    refusal: submitRefusalOf,
    readAnswer: (body, path) =>
      GENERATE_PATH.test(path) ? readGenerated(body) : jobReadingOf(idAt(body, "id"), null),
  },
  // https://googleapis.github.io/js-genai: the call is only for interactions in the background that still run, and its
  // answer is the interaction.
  cancels: {
    request: ({ id }) => ({
      method: "POST",
      path: `${INTERACTIONS}/${encodeURIComponent(id)}/cancel`,
    }),
    read: readCancellation,
  },
  // `@google/genai` 3.3.0 reads an interaction at the version of the API at which it has created it. Errors have a code in
  // small letters (https://github.com/googleapis/js-genai, src/gaos/models/errors); that of other SDKs is `status`.
  jobCalls: {
    read: SUBMIT_PATHS.map((path): JobPath => `${path}/{id}`),
    query: { include_input: ["true", "false"] },
    // `@google/genai` 3.3.0: the answer is the interaction.
    cancel: {
      method: "POST",
      paths: SUBMIT_PATHS.map((path): JobPath => `${path}/{id}/cancel`),
      answer: { read: `${INTERACTIONS}/{id}` },
    },
    errorBody: (status, message) => {
      const code = ERROR_CODES.get(status) ?? "internal";
      return { error: { code, message, status: code.toUpperCase() } };
    },
  },
} as const satisfies UpstreamProvider;

function targetOf(path: string): SubmitTarget | null {
  if (SUBMIT_PATHS.some((each) => each === path)) return TARGET;
  const name = GENERATE_PATH.exec(path)?.[1];
  if (name === undefined) return null;
  return {
    model: { name },
    endpoint: null,
    parameters: IMAGE_CONFIG,
    answer: "result",
    needsCall: true,
  };
}

/** Codes in Google's style that the relay writes into its own errors about a call, by the HTTP status of the error. */
const ERROR_CODES: ReadonlyMap<number, string> = new Map([
  [404, "not_found"],
  [429, "resource_exhausted"],
  [504, "deadline_exceeded"],
]);

/**
 * Returns the meaning of an answer to `generateContent`. No candidates come only if there is something
 * wrong with the prompt (https://ai.google.dev/api/generate-content). Files are in `inlineData`
 * or, once they are stored elsewhere, in `fileData`.
 */
function readGenerated(body: unknown): SubmitReading {
  const usage = amountsAt(body, "usageMetadata");
  const candidates = listAt(body, "candidates");
  if (candidates.length === 0) {
    const feedback = at(body, "promptFeedback");
    if (feedback == null && at(body, "usageMetadata") == null) return { kind: "unclear" };
    return resultReadingOf({ state: "failed", error: blockOf(feedback), usage });
  }
  const parts = candidates
    .flatMap((candidate) => listAt(candidate, "content", "parts"))
    .filter((part) => at(part, "thought") !== true);
  const hasFile = parts.some((part) => (at(part, "inlineData") ?? at(part, "fileData")) != null);
  const error = hasFile ? null : candidateErrorIn(candidates[0], parts.length > 0);
  if (error !== null) return resultReadingOf({ state: "failed", error, usage });
  const main = parts.map((part) => at(part, "fileData", "fileUri"));
  return resultReadingOf({ urls: outputLinks({ main }), usage });
}

/** Returns the error of a blocked prompt. */
function blockOf(feedback: unknown): UpstreamError {
  const code = textAt(feedback, "blockReason");
  const text = textAt(feedback, "blockReasonMessage") ?? (code === null ? BLOCKED : null);
  return { code, text, category: "moderation" };
}

/** Returns the error of a candidate without a file. Null when its text is the result. */
function candidateErrorIn(candidate: unknown, hasParts: boolean): UpstreamError | null {
  const code = textAt(candidate, "finishReason");
  const text = textAt(candidate, "finishMessage");
  if (FILTERED.includes(code)) return { code, text, category: "moderation" };
  if (BAD_CALL.includes(code)) return { code, text, category: "provider" };
  return !hasParts || WITHOUT_IMAGE.includes(code) ? { code, text } : null;
}

/** Returns the report in a hook: the job, and its state from the event's type, e.g. `interaction.completed`. */
function readHook(body: unknown): Observation | null {
  const state = /^interaction\.(.+)$/.exec(textAt(body, "type") ?? "")?.[1] ?? null;
  const jobId = idAt(body, "data", "id");
  return state === null || jobId === null ? null : { ...nothing(state), jobId };
}

function readInteraction(answer: Answer): Reading {
  const refusal = refusalOf(answer);
  if (refusal !== null) return refusal;
  const observation = observe(answer.body);
  const name = phaseOf(observation?.state ?? null) === "completed" ? fileIn(observation) : null;
  if (observation === null || name === null) return readingOf(observation);
  return {
    kind: "next",
    path: `/v1beta/files/${name}`,
    read: (file) => readFile(file, observation),
    readsEveryStatus: true,
  };
}

/**
 * Returns the meaning of Google's answer about the first file of a completed job. A video can be downloaded only when
 * the state of its file is `ACTIVE`.
 */
function readFile({ status, body }: Answer, observation: Observation): Reading {
  if (status === 429) return { kind: "limited" };
  const state = textAt(body, "state");
  const { jobId } = observation;
  if (status === 200 && state === "ACTIVE") return { kind: "observed", observation };
  if (status === 200 && state === "PROCESSING") {
    return { kind: "observed", observation: { ...nothing("processing"), jobId } };
  }
  if (status === 200 && state === "FAILED") {
    const error = { code: null, text: textAt(body, "error", "message") };
    return { kind: "observed", observation: { ...nothing("failed"), jobId, error } };
  }
  // A file that is not there has the status 403, which says nothing about the key.
  return { ...UNCLEAR, word: state ?? textAt(body, "error", "status") };
}

/**
 * Returns the class of the refusal with which Google answers a submission. 402 means that the prepaid credits are used
 * up (https://discuss.ai.google.dev/t/183654). A limit of 0 in the answer means that only accounts that pay can use the
 * model (https://ai.google.dev/gemini-api/docs/rate-limits). 403 means that the key lacks a permission, unless the
 * answer is about a missing file to which the call refers (https://ai.google.dev/gemini-api/docs/troubleshooting). 503
 * is no refusal: Google documents that the service may be overloaded or down, but not that nothing was started.
 */
function submitRefusalOf(status: number, body: unknown): RefusalClass | null {
  const message = textAt(body, "error", "message") ?? "";
  if (status === 429 && /\blimit: 0\b/.test(message)) return "funds";
  const isForbidden = status === 403 && !/\bfile\b/i.test(message);
  return isForbidden || isKeyRefused(status, message) ? "key" : refusalOfStatus(status);
}

/** Tells whether an answer of Google refuses the API key. The HTTP status for a wrong key is 400. */
function isKeyRefused(status: number, message: string): boolean {
  return status === 400 && /api key (not valid|expired)/i.test(message);
}

/**
 * Returns the refusal or the error that the HTTP status of an answer states. Null for
 * a status from 200 to 299.
 */
function refusalOf(answer: Answer): Reading | null {
  const { status, body } = answer;
  if (isKeyRefused(status, textAt(body, "error", "message") ?? "")) {
    return { kind: "unauthorized" };
  }
  const reading = readingOfStatus(answer);
  return reading?.kind === "unclear"
    ? { ...reading, word: textAt(body, "error", "status") }
    : reading;
}

function observe(body: unknown): Observation | null {
  const jobId = idAt(body, "id");
  if (jobId === null) return null;
  const state = textAt(body, "status");
  const outputs = outputsIn(body);
  const files = outputs.flat();
  const urls = outputLinks({
    // The files of the last step are the model's answer; those of earlier steps come after them.
    main: (outputs.at(-1) ?? []).map((file) => at(file, "uri")),
    part: files,
  });
  const lack = phaseOf(state) === "completed" && urls.length === 0 ? lackOf(body, files) : null;
  const hasFailed = lack !== null || WAITING.includes(state);
  return {
    jobId,
    state: hasFailed ? "failed" : state,
    urls,
    metadata: {},
    completedAt: isoMsAt(body, "updated"),
    error: lack ?? errorOf(body, state),
    usage: amountsAt(body, "usage"),
    model: textAt(body, "model"),
    submittedAt: isoMsAt(body, "created"),
  };
}

/**
 * Returns the files in each part of a job's description that contains outputs of the model. These parts are the steps,
 * `outputs` (which Google used until June 2026), and the members that repeat the last file. Steps that show the request
 * once more, and those that are thoughts or calls of tools, are left out.
 */
function outputsIn(body: unknown): readonly (readonly unknown[])[] {
  const older = listAt(body, "outputs");
  const made = [...older, ...listAt(body, "steps")].filter(isModelOutput);
  const repeated = REPEATED.map((name) => at(body, name));
  const contents = made.map((step) => listAt(step, "content"));
  return [repeated, older, ...contents]
    .map((files) => files.filter(isMedia))
    .filter(({ length }) => length > 0);
}

function isModelOutput(step: unknown): boolean {
  return at(step, "type") === "model_output";
}

function isMedia(content: unknown): boolean {
  return MEDIA.includes(at(content, "type"));
}

/**
 * Returns the error of a completed job without links: Google has withheld its file. Null when the job has another
 * output, and when the answer contains no steps, because the links may then be elsewhere.
 */
function lackOf(body: unknown, linked: readonly unknown[]): UpstreamError | null {
  if (linked.length > 0 || !Array.isArray(at(body, "steps"))) return null;
  const { files, isText } = unlinkedOutputIn(body);
  return files.length > 0 || isText ? null : (withheldIn(body) ?? WITHHELD);
}

function errorOf(body: unknown, state: string | null): UpstreamError | null {
  if (WAITING.includes(state))
    return { code: state, text: `The interaction has ended as "${state}".` };
  const [reported = null] = listAt(body, "errors");
  const failed = listAt(body, "steps").findLast((step) => at(step, "error") != null);
  const error = reported ?? at(failed, "error") ?? at(body, "error");
  const [code, text] = [textAt(error, "code"), textAt(error, "message")];
  return code === null && text === null ? null : { code, text };
}

/** Returns the name of the first file of a job at Google; null when the job has no link to such a file. */
function fileIn(observation: Observation | null): string | null {
  const [link = ""] = observation?.urls ?? [];
  return FILE_PATH.exec(URL.parse(link)?.pathname ?? "")?.[1] ?? null;
}

/** Returns a report that contains only the state of a job. */
function nothing(state: string): Observation {
  return { jobId: null, state, urls: [], metadata: {}, completedAt: null, error: null };
}

function readCancellation(answer: Answer): CancelReading {
  if (!isSuccess(answer)) return answer.status === 404 ? "unknown" : "refused";
  const state = textAt(answer.body, "status");
  if (state === "cancelled") return "canceled";
  switch (phaseOf(state)) {
    case "completed":
    case "failed":
      return "ended";
    case "queued":
    case "processing":
      return "accepted";
    case null:
      return "unknown";
  }
}
