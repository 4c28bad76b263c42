import { SECOND_MS } from "../../core/time.ts";
import type { UpstreamError } from "../failure.ts";
import { at, idAt, listAt, numberAt, textAt } from "../json-fields.ts";
import type { JobPath } from "../job-calls.ts";
import type { Observation } from "../observation.ts";
import { phaseOf } from "../phase.ts";
import type { Endpoint } from "../provider.ts";
import {
  jobReadingOf,
  membersAt,
  resultReadingOf,
  type SubmitReading,
  type SubmitTarget,
} from "../submit.ts";
import { amountsAt } from "../usage.ts";
import { openLinks } from "./gateway-links.ts";

/** A path of OpenAI's API at which the answer itself is the result, which gateways have too. */
interface ResultPath {
  readonly target: SubmitTarget;
  /**
   * Returns the meaning of an answer in JSON, which may be the last event of a stream. Files in base64 may have been
   * replaced by other texts, which are no links.
   */
  readonly read: (body: unknown, baseUrl: string) => SubmitReading;
}

const UNCLEAR: SubmitReading = { kind: "unclear" };
const TARGET = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: {},
  answer: "result",
} as const satisfies SubmitTarget;
const SIZE = membersAt("", ["size"]);
/**
 * Pattern of the next image in a text of Markdown. With such texts gateways answer chats of models that make images
 * (https://docs.apiyi.com/api-capabilities/gpt-image-2-all/chat-completions).
 */
const MARKDOWN_IMAGE = /\s*!\[[^\]]*\]\(([^()\s]+)\)\s*/gy;

/**
 * Paths at which the answer is the result (https://platform.openai.com/docs/api-reference). The last event of a stream
 * is the whole answer, except for chat, whose events have one piece of the text each, and for speech. A response in the
 * background is a job, which the relay does not poll.
 */
const RESULT_PATHS: ReadonlyMap<string, ResultPath> = new Map<string, ResultPath>([
  [
    "/v1/images/generations",
    {
      target: {
        ...TARGET,
        parameters: SIZE,
        needsCall: { "/response_format": ["b64_json"], "/stream": [true] },
      },
      read: (body, baseUrl) => imageJobIn(body) ?? readImages(body, baseUrl),
    },
  ],
  [
    "/v1/images/edits",
    {
      target: { ...TARGET, parameters: SIZE, takesMultipart: true, needsCall: true },
      read: (body, baseUrl) => imageJobIn(body) ?? readImages(body, baseUrl),
    },
  ],
  [
    "/v1/audio/speech",
    {
      target: {
        ...TARGET,
        needsCall: true,
        unreadable: { "/stream_format": ["sse"] },
        plainTypes: /^(?:audio\/.+|application\/octet-stream)$/,
      },
      read: (body) => failureIn(body, [body]),
    },
  ],
  [
    "/v1/audio/transcriptions",
    {
      target: {
        ...TARGET,
        takesMultipart: true,
        needsCall: true,
        plainTypes: /^(?:text\/(?!html$|event-stream$).+|application\/x-subrip)$/,
      },
      read: readTranscription,
    },
  ],
  [
    "/v1/chat/completions",
    {
      target: { ...TARGET, needsCall: true, unreadable: { "/stream": [true] } },
      read: readChat,
    },
  ],
  [
    "/v1/responses",
    {
      target: { ...TARGET, needsCall: true, unreadable: { "/background": [true] } },
      read: readResponse,
    },
  ],
]);

/** Names of the numbers that answers at these paths state as `usage`. */
export const RESULT_USAGE = [
  "input_tokens",
  "output_tokens",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "seconds",
] as const;

/** Returns the description of a call to a path at which the answer is the result. Null for any other path. */
export function resultTargetOf(path: string): SubmitTarget | null {
  return RESULT_PATHS.get(path)?.target ?? null;
}

/** Returns the meaning of the answer to a call for which `resultTargetOf` has returned a description. */
export function readResult(body: unknown, path: string, baseUrl: string): SubmitReading {
  return RESULT_PATHS.get(path)?.read(body, baseUrl) ?? UNCLEAR;
}

/** Paths at which gateways are polled for jobs that a call for images has started. */
export const IMAGE_JOB_READS = [
  "/v1/tasks/{id}",
  "/v1/images/generations/{id}",
] as const satisfies JobPath[];
/** Rules for the endpoint of such a job: the part between `/v1` and its id. */
export const IMAGE_JOB_ENDPOINT = {
  isRequired: false,
  meaning: "tasks or images/generations, for a job that a call for images has started",
  pattern: /^(?:tasks|images\/generations)$/,
} as const satisfies Endpoint;

/**
 * Returns the job with which some gateways answer a call for images: APIMart (https://docs.apimart.ai) in `data`, and
 * EvoLink (https://docs.evolink.ai) and ToAPIs (https://github.com/basketikun/infinite-canvas/issues/231) as an object
 * whose kind says where it is polled. Null for any other answer.
 */
function imageJobIn(body: unknown): SubmitReading | null {
  const inData = idAt(listAt(body, "data")[0], "task_id");
  if (inData !== null) return jobReadingOf(inData, "tasks");
  const kind = textAt(body, "object");
  if (kind === "image.generation.task") return jobReadingOf(idAt(body, "id"), "tasks");
  return kind === "generation.task" ? jobReadingOf(idAt(body, "id"), "images/generations") : null;
}

/**
 * Returns the meaning of the answer to a call that generates images, in the form of OpenAI. The last event of a stream
 * is itself an image. Of several images some may have failed.
 */
export function readImages(body: unknown, baseUrl: string): SubmitReading {
  const images = [body, ...listAt(body, "data")];
  const made = images.filter(
    (image) => textAt(image, "url") !== null || textAt(image, "b64_json") !== null,
  );
  if (made.length === 0) return failureIn(body, images);
  const links = made.map((image) => at(image, "url"));
  const createdAt = numberAt(body, "created") ?? numberAt(body, "created_at") ?? 0;
  return resultReadingOf({
    urls: openLinks(links, baseUrl),
    metadata: { ratio: textAt(body, "size") ?? textAt(made[0], "size") },
    completedAt: createdAt > 0 ? createdAt * SECOND_MS : null,
    usage: amountsAt(body, "usage"),
  });
}

/**
 * Returns the meaning of the answer to a call for a transcription. A recording without speech has an empty text.
 */
function readTranscription(body: unknown): SubmitReading {
  if (typeof at(body, "text") !== "string") return failureIn(body, [body]);
  return resultReadingOf({ usage: amountsAt(body, "usage") });
}

/**
 * Returns the meaning of the answer of a chat. Images that a model has made are in `images` of the message
 * (https://openrouter.ai/docs/features/multimodal/image-generation), or are all that its text contains. Links in another
 * text are a part of the text.
 */
function readChat(body: unknown, baseUrl: string): SubmitReading {
  const choices = listAt(body, "choices");
  const usage = amountsAt(body, "usage");
  if (choices.length === 0) return failureIn(body, [body]);
  const [error = null] = choices.map(choiceErrorIn);
  if (choices.every((choice) => choiceErrorIn(choice) !== null)) return failed(error, usage);
  const images = choices.flatMap((choice) => listAt(choice, "message", "images"));
  const texts = choices.map((choice) => textAt(choice, "message", "content") ?? "");
  const links = [
    ...images.map((image) => at(image, "image_url", "url")),
    ...texts.flatMap(imageLinksIn),
  ];
  return resultReadingOf({ urls: openLinks(links, baseUrl), usage });
}

/** Returns the links of images in a text of Markdown that contains nothing else. Empty for any other text. */
function imageLinksIn(text: string): readonly string[] {
  const images = [...text.matchAll(MARKDOWN_IMAGE)];
  const length = images.reduce((sum, [image]) => sum + image.length, 0);
  return length === text.length ? images.map(([, link = ""]) => link) : [];
}

/** Returns the error with which one answer of a chat has ended. Null when it is complete. */
function choiceErrorIn(choice: unknown): UpstreamError | null {
  const reason = textAt(choice, "finish_reason");
  const isEnd = reason === "content_filter" || reason === "error";
  return errorOf(at(choice, "error")) ?? (isEnd ? { code: reason, text: null } : null);
}

/**
 * Returns the meaning of a response. It has failed also if it is incomplete: a filter has stopped it, or its own limit
 * of tokens.
 */
function readResponse(body: unknown): SubmitReading {
  const response = at(body, "response") ?? body;
  const usage = amountsAt(response, "usage");
  switch (phaseOf(textAt(response, "status"))) {
    case "completed":
      return resultReadingOf({ usage });
    case "failed": {
      const reason = textAt(response, "incomplete_details", "reason");
      const error = errorOf(at(response, "error"));
      return failed(error ?? { code: reason, text: null }, usage);
    }
    case "queued":
    case "processing":
    case null:
      return failureIn(body, [body]);
  }
}

/**
 * Returns the failure that an answer without a result states by an error, as OpenRouter does with HTTP 200 once a model
 * has begun (https://openrouter.ai/docs/api/reference/errors-and-debugging). An answer without an error leaves open
 * what has become of the call.
 * @param parts parts of the answer that may have an error.
 */
function failureIn(body: unknown, parts: readonly unknown[]): SubmitReading {
  const ofEvent = textAt(body, "type") === "error" ? errorOf(body) : null;
  const errors = parts.map((part) => errorOf(at(part, "error")));
  const error = errors.find((each) => each !== null) ?? ofEvent;
  return error === null ? UNCLEAR : failed(error, amountsAt(body, "usage"));
}

function failed(error: UpstreamError | null, usage: Observation["usage"] = null): SubmitReading {
  return resultReadingOf({ state: "failed", error, usage });
}

function errorOf(error: unknown): UpstreamError | null {
  const code = idAt(error, "code");
  const text =
    textAt(error, "message") ?? (typeof error === "string" && error !== "" ? error : null);
  return code === null && text === null ? null : { code, text };
}
