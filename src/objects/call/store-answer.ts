import { mediaTypeOf } from "../../core/output-metadata/media-type.ts";
import type { UnreadReason } from "../../core/record/unread-answer.ts";
import { SourceFault, SourceReader } from "../output/store-copy.ts";
import { AnswerFault } from "./answer-fault.ts";
import { type AnswerFile, AnswerFiles, type FilesTarget } from "./answer-files.ts";
import { AnswerScanner, type ScannedPart } from "./answer-scanner.ts";
import { type EventPart, EventStream } from "./event-stream.ts";

/** Largest length in bytes of an answer, with its files as the upstream encodes them. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const EVENTS_TYPE = "text/event-stream";
const JSON_TYPE = "application/json";
const JSON_TYPES = /^(?:application|text)\/(?:[^/]{1,64}\+)?json$/;
/** Types that servers state when they do not know the type of an answer, so that it may be JSON. */
const VAGUE_TYPES: readonly string[] = ["", "application/octet-stream", "text/plain"];
/** Types of text that are kept as stated, because browsers run nothing in them. */
const TEXT_TYPES = /^(?:text\/(?:csv|markdown|plain|srt|vtt)|application\/(?:x-)?(?:srt|subrip))$/;
const FILE_TYPES = /^(?:(?:audio|image|model|video)\/|application\/(?:pdf|zip)$)/;

/**
 * Pattern of the names and types of those events that contain a picture which is not ready, in streams of OpenAI's
 * images and responses. Ark's `image_generation.partial_succeeded` is not one: it has one of several pictures.
 */
const UNREADY = /partial_image/;

/**
 * Result of reading an answer. In each case, files with the numbers from 1 to `begun` may be in the bucket.
 */
export type ReadResult =
  | {
      readonly kind: "read";
      /** The answer without its files, as JSON. Null when the answer as a whole is a file. */
      readonly skeleton: string | null;
      readonly contentType: string;
      /** The files of the answer. Their numbers are 1, 2, and so on; what else is in the bucket is no part of it. */
      readonly files: readonly AnswerFile[];
      readonly begun: number;
    }
  | { readonly kind: "failed"; readonly reason: UnreadReason; readonly begun: number };

/** Where the files of an answer are stored, the limits for reading it, and the secret of its placeholders. */
export interface AnswerTarget extends FilesTarget {
  /** Text of URL characters in the placeholders (placeholder.ts), which nobody can guess. */
  readonly token: string;
}

/** What is found in an answer: a part of a file, or the skeleton of the answer. */
type AnswerPart = ScannedPart | { readonly kind: "skeleton"; readonly skeleton: string };

/**
 * Reads an answer while it arrives, and stores the files in it. It is read only as fast as its files are stored; of a
 * file, one part is held in memory. Failures are results; the caller then deletes what is in the bucket.
 * @param body the answer, as a stream of bytes.
 * @param contentType the type that the upstream states; empty when it states none.
 */
export async function storeAnswer(
  body: ReadableStream<Uint8Array>,
  contentType: string,
  { token, ...target }: AnswerTarget,
): Promise<ReadResult> {
  const source = new SourceReader(body, { ...target, maxBytes: MAX_ANSWER_BYTES });
  const files = new AnswerFiles(target);
  try {
    const start = await source.read();
    if (start === null) throw new AnswerFault("broken");
    const type = contentType.split(";", 1).join("").trim().toLowerCase();
    const kind = kindOf(type, start);
    const pieces = piecesOf(start, source);
    if (kind === "file") {
      const typeOf = TEXT_TYPES.test(type) ? () => type : typeBeside(contentType);
      await files.store(files.next(""), async () => (await pieces.next()).value ?? null, typeOf);
      return readResult(null, files.list[0]?.mediaType ?? type, files);
    }
    const isStream = kind === "events";
    const parts = isStream ? scanEvents(pieces, files, token) : scanJson(pieces, files, token);
    const skeleton = await storeFiles(parts, files);
    return readResult(skeleton, isStream || contentType === "" ? JSON_TYPE : contentType, files);
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    return { kind: "failed", reason, begun: files.begun };
  } finally {
    source.leave();
  }
}

function readResult(
  skeleton: string | null,
  contentType: string,
  { list, begun }: AnswerFiles,
): ReadResult {
  return { kind: "read", skeleton, contentType, files: list, begun };
}

/** Returns the reason why an answer cannot be read; null for an error that is a fault of the relay. */
function reasonOf(error: unknown): UnreadReason | null {
  if (error instanceof AnswerFault) return error.reason;
  if (!(error instanceof SourceFault)) return null;
  const { result } = error;
  return result.kind === "failed" && result.reason === "too_large" ? "too_large" : "unreachable";
}

/**
 * Returns how an answer is read. A transcript that is stated as text may begin with a bracket, e.g. `[Music]`, so only
 * an object counts as JSON there.
 * @throws AnswerFault when the answer is of a type that no result has, e.g. HTML.
 */
function kindOf(type: string, start: Uint8Array): "events" | "json" | "file" {
  if (type === EVENTS_TYPE) return "events";
  if (JSON_TYPES.test(type)) return "json";
  if (VAGUE_TYPES.includes(type) && isObjectStart(start)) return "json";
  if (VAGUE_TYPES.includes(type) || TEXT_TYPES.test(type) || FILE_TYPES.test(type)) return "file";
  throw new AnswerFault("broken");
}

/** Tells whether JSON with these bytes at its beginning is an object. */
function isObjectStart(json: Uint8Array): boolean {
  return /^\s*\{/.test(new TextDecoder().decode(json.subarray(0, 256)));
}

async function* piecesOf(
  start: Uint8Array,
  source: SourceReader,
): AsyncGenerator<Uint8Array, undefined> {
  for (let piece: Uint8Array | null = start; piece !== null; piece = await source.read()) {
    yield piece;
  }
}

/** Yields what is found in an answer in JSON. */
async function* scanJson(
  pieces: AsyncGenerator<Uint8Array, undefined>,
  files: AnswerFiles,
  token: string,
): AsyncGenerator<AnswerPart, undefined> {
  const scanner = new AnswerScanner(token, () => files.next(""));
  for await (const piece of pieces) yield* scanner.push(piece);
  yield { kind: "skeleton", skeleton: scanner.end() };
}

/**
 * Yields what is found in the events of a stream. The last event with an object as its data is the answer. Files in
 * events of one type belong together, because some upstreams send an event for each picture; those of a later type
 * replace them, because an event that ends a stream contains what came before once more.
 */
async function* scanEvents(
  pieces: AsyncGenerator<Uint8Array, undefined>,
  files: AnswerFiles,
  token: string,
): AsyncGenerator<AnswerPart, undefined> {
  let event: ScannedEvent | null = null;
  for await (const part of eventPartsOf(pieces)) {
    if (part.kind === "data") {
      event ??= new ScannedEvent(part.name, part.bytes, files, token);
      yield* event.push(part.bytes);
    } else {
      yield* event?.end(part.name) ?? [];
      event = null;
    }
  }
}

async function* eventPartsOf(
  pieces: AsyncGenerator<Uint8Array, undefined>,
): AsyncGenerator<EventPart, undefined> {
  const stream = new EventStream();
  for await (const piece of pieces) yield* stream.push(piece);
  yield* stream.end();
}

/** An event of a stream while it is read. */
class ScannedEvent {
  readonly #files: AnswerFiles;
  readonly #filesBefore: readonly AnswerFile[];
  readonly #scanner: AnswerScanner;
  /** False when the data are no object, e.g. `[DONE]`. */
  readonly #isObject: boolean;

  constructor(name: string, start: Uint8Array, files: AnswerFiles, token: string) {
    this.#files = files;
    this.#filesBefore = files.list;
    this.#isObject = isObjectStart(start);
    this.#scanner = new AnswerScanner(token, () =>
      this.#isUnready(name) ? null : files.next(name || this.#scanner.type),
    );
  }

  *push(data: Uint8Array): Generator<AnswerPart, undefined> {
    if (this.#isObject) yield* this.#scanner.push(data);
  }

  /** Yields the skeleton of the event, after its last data, if it can be the answer. */
  *end(name: string): Generator<AnswerPart, undefined> {
    if (!this.#isObject) return;
    const skeleton = this.#scanner.end();
    if (this.#isUnready(name)) this.#files.keepOnly(this.#filesBefore);
    else yield { kind: "skeleton", skeleton };
  }

  #isUnready(name: string): boolean {
    return UNREADY.test(name) || UNREADY.test(this.#scanner.type);
  }
}

/** Returns a function that returns the media type of a file beside which a type is stated. */
function typeBeside(stated: string | null): (start: Uint8Array) => string {
  return (start) => mediaTypeOf(start, stated);
}

/** Stores the files in an answer, and returns its last skeleton. */
async function storeFiles(
  parts: AsyncGenerator<AnswerPart, undefined>,
  files: AnswerFiles,
): Promise<string> {
  let skeleton: string | null = null;
  const read = async () => {
    const { value } = await parts.next();
    return value?.kind === "bytes" ? value.bytes : null;
  };
  for await (const part of parts) {
    if (part.kind === "file") await files.store(part.number, read, typeBeside(part.mediaType));
    if (part.kind === "withdrawn") {
      files.keepOnly(files.list.filter(({ number }) => number < part.from));
    }
    if (part.kind === "skeleton") ({ skeleton } = part);
  }
  if (skeleton === null) throw new AnswerFault("broken");
  return skeleton;
}
