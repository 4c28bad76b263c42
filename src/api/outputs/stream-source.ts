import { concatUint8Arrays } from "uint8array-extras";
import { mediaTypeOf, TYPE_BYTES } from "../../core/output-metadata/media-type.ts";
import { SECOND_MS } from "../../core/time.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import { errorText, log } from "../../lib/log.ts";
import { type BudgetPart, SharedBudget } from "../../lib/shared-budget.ts";
import { MAX_UNREAD_MS } from "../../lib/stream.ts";
import type { WaitUntil } from "../../config/runtime.ts";
import { outputKey } from "../../objects/output/output-key.ts";
import {
  type OpenedSource,
  openSource,
  type Source,
  statedBytes,
} from "../../outbound/open-source.ts";
import type { LinkedOutput } from "../../security/output-link.ts";
import { streamToClient } from "../http/client-stream.ts";
import { unavailable } from "../http/object-call.ts";
import { tooManyAtOnce } from "../http/rate-limit.ts";
import { isOneRange } from "./byte-range.ts";
import { contentHeaders, OUTPUT_HEADERS } from "./output-headers.ts";
import { outputGone } from "./output-gone.ts";

/** Longest time in milliseconds for which an upstream may send no bytes of an output. */
const STALL_MS = 30 * SECOND_MS;
/**
 * Size of the pieces in which an output is passed on, in bytes. Without a size of its own, the platform reads pieces of 4
 * KiB, which need ten times as much CPU time.
 */
const PIECE_BYTES = 256 * 1024;
/**
 * Largest number of readers to whom an isolate passes on outputs at the same time. Each needs memory and a connection
 * to the upstream.
 */
const MAX_PASSED_ON = 48;
/** Largest number of readers to whom an isolate passes on the same output at the same time. */
const MAX_READERS = 16;
/**
 * Time in milliseconds for which a client that takes no further piece of an output still counts as a reader
 * (`MAX_READERS`). After this time it no longer counts, because the request of a client that has gone may end without
 * running the code that ends the counting.
 */
const PLACE_LEASE_MS = STALL_MS + MAX_UNREAD_MS + 10 * SECOND_MS;

const places = new SharedBudget(MAX_PASSED_ON, MAX_READERS);

/** Value of the header `Range` for the first bytes of a file, from which its media type is determined. */
const FIRST_BYTES = `bytes=0-${TYPE_BYTES - 1}`;
/** HTTP statuses by which an upstream says that an output no longer exists. */
const GONE_STATUSES: readonly number[] = [404, 410];

/**
 * Media types of outputs that this isolate has passed on, by the key of the output. They are remembered because a
 * player requests an output part by part.
 */
const knownTypes = isolateCache<string>(1_000);

/**
 * Answers a request for an output with the bytes that its upstream sends. A header `Range` is passed on. The first
 * bytes determine the media type; when the requested part does not contain them, they are fetched beforehand. The
 * request to the upstream ends when the client goes away or leaves a piece unread for a minute, and in any case when
 * the upstream has sent nothing for 30 seconds.
 * @throws Problem `output_gone` when the upstream no longer has the output, or the relay must not fetch it;
 * `unavailable` when the upstream does not send it now, or the isolate already passes on as many outputs as it can;
 * `rate_limited` when too many readers are getting this output.
 */
export async function streamSource(
  request: Pick<Request, "method" | "headers">,
  output: LinkedOutput,
  source: Source,
  waitUntil: WaitUntil,
): Promise<Response> {
  const place = takePlace(output);
  try {
    return await answerInPlace(place, request, output, source, waitUntil);
  } catch (error) {
    place.giveBack();
    throw error;
  }
}

/**
 * Counts one more reader to whom this isolate passes on an output.
 * @throws Problem `rate_limited` when too many readers are getting this output; `unavailable` when the isolate already
 * passes on as many outputs as it can.
 */
function takePlace(output: LinkedOutput): BudgetPart {
  const place = places.part([outputKey(output, output.number)], PLACE_LEASE_MS);
  const lack = place.resize(1);
  if (lack === "share") throw tooManyAtOnce("As many readers as may take this output already.");
  if (lack === "total")
    throw unavailable("The relay passes on as many outputs as it can.", "places");
  return place;
}

async function answerInPlace(
  place: BudgetPart,
  request: Pick<Request, "method" | "headers">,
  output: LinkedOutput,
  source: Source,
  waitUntil: WaitUntil,
): Promise<Response> {
  const range = rangeOf(request);
  // A range from the first byte to the end has the first bytes itself.
  const hasStart = range === null || /^bytes=0-$/i.test(range);
  const type = hasStart ? null : await typeOf(output, source);
  const opened = await openAnswer(source, range);
  if (opened === "unsatisfiable") {
    place.giveBack();
    return new Response(null, { status: 416, headers: OUTPUT_HEADERS });
  }
  const { extent, start, rest } = opened;
  const mediaType = type ?? mediaTypeOf(start);
  knownTypes.set(outputKey(output, output.number), mediaType);
  const headers = { ...contentHeaders({ ...output, mediaType }), ...extent.headers };
  const { status } = extent;
  if (request.method === "GET") {
    const { body, ended } = passOn(start, rest, extent.bytes, place);
    waitUntil(ended);
    return new Response(body, { status, headers });
  }
  await rest.cancel();
  place.giveBack();
  return new Response(null, { status, headers });
}

/**
 * Returns the range of bytes to request from the upstream.
 * @returns null for the whole output, which is also requested when the client sends `If-Range`, because a stream has no
 * entity tag to compare.
 */
function rangeOf({ method, headers }: Pick<Request, "method" | "headers">): string | null {
  const range = headers.get("Range");
  const isMeant = method === "GET" && !headers.has("If-Range");
  return range !== null && isMeant && isOneRange(range) ? range : null;
}

/**
 * Returns the media type of an output. If this isolate does not know it yet, it is determined from the first bytes,
 * which are then fetched.
 */
async function typeOf(output: LinkedOutput, source: Source): Promise<string> {
  const key = outputKey(output, output.number);
  const known = knownTypes.get(key);
  if (known !== undefined) return known;
  const opened = await openAnswer(source, FIRST_BYTES);
  if (opened === "unsatisfiable") throw notSent("empty");
  await opened.rest.cancel();
  return mediaTypeOf(opened.start);
}

/** An upstream's response with an output or a part of an output, after the first bytes of the response were read. */
interface OpenedAnswer {
  readonly extent: Extent;
  readonly start: Uint8Array;
  readonly rest: SourceReader;
}

/**
 * Requests an output from its upstream, and reads the first bytes of the response.
 * @param range the range of bytes to request; null for the whole output.
 * @throws Problem when the response has no bytes.
 */
async function openAnswer(
  source: Source,
  range: string | null,
): Promise<OpenedAnswer | "unsatisfiable"> {
  const stop = new AbortController();
  const headers = range === null ? {} : { Range: range };
  const opened = await orStop(openSource(source, headers, stop.signal), stop);
  if (range !== null && opened.kind === "refused" && opened.status === 416) return "unsatisfiable";
  const response = responseOf(opened);
  const extent = await extentOf(response, range);
  if (response.body === null) throw notSent("empty");
  const rest = new SourceReader(response.body, stop);
  const start = await firstBytes(rest);
  if (start.length === 0) throw notSent("empty");
  return { extent, start, rest };
}

/**
 * Waits for a response or for bytes from an upstream. Aborts the request when the upstream sends nothing for 30
 * seconds.
 * @param stop aborts the request.
 */
async function orStop<T>(waited: Promise<T>, stop: AbortController): Promise<T> {
  const timer = setTimeout(() => stop.abort(), STALL_MS);
  try {
    return await waited;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns the upstream's response that contains an output.
 * @throws Problem when there is no such response, e.g. because the upstream refused the request.
 */
function responseOf(opened: OpenedSource): Response {
  switch (opened.kind) {
    case "opened":
      return opened.response;
    case "blocked":
      throw outputGone("blocked");
    case "refused":
      if (GONE_STATUSES.includes(opened.status)) throw outputGone("refused");
      throw notSent(`status_${opened.status}`);
    case "not_ready":
      throw notSent(`status_${opened.status}`);
    case "unreachable":
      throw notSent("unreachable");
  }
}

function notSent(reason: string) {
  return unavailable("The upstream does not send this output now.", reason);
}

/** Tells which bytes of an output an upstream sends: all of them or a part. */
interface Extent {
  readonly status: 200 | 206;
  /** Number of bytes that the upstream sends; null when it does not state the number. */
  readonly bytes: number | null;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns which bytes of an output an upstream's response contains. A response with a part that was not requested is
 * canceled.
 * @param range the range that was requested; null for the whole output.
 * @throws Problem `unavailable` when the response contains neither the output nor the requested part.
 */
async function extentOf(response: Response, range: string | null): Promise<Extent> {
  const bytes = statedBytes(response);
  const length = bytes === null ? {} : { "Content-Length": String(bytes) };
  if (response.status === 200) {
    const takesRanges = response.headers.get("Accept-Ranges") === "bytes";
    const ranges = takesRanges ? { "Accept-Ranges": "bytes" } : {};
    return { status: 200, bytes, headers: { ...length, ...ranges } };
  }
  const part = response.status === 206 && range !== null ? partOf(response, range) : null;
  if (part !== null) {
    const headers = { "Content-Length": String(part.bytes), "Content-Range": part.contentRange };
    return { status: 206, bytes: part.bytes, headers: { ...headers, "Accept-Ranges": "bytes" } };
  }
  await response.body?.cancel().catch(() => undefined);
  throw notSent(`status_${response.status}`);
}

const CONTENT_RANGE = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/;

/**
 * Returns the part of an output that a response states in `Content-Range`.
 * @returns null when it is not the requested part.
 */
function partOf({ headers }: Response, range: string) {
  const contentRange = headers.get("Content-Range") ?? "";
  const [, first, last] = CONTENT_RANGE.exec(contentRange) ?? [];
  const bytes = Number(last) - Number(first) + 1;
  // The first byte of `bytes=-5` depends on the length of the output.
  const [, wanted = ""] = /=\s*(\d*)/.exec(range) ?? [];
  const isWanted = wanted === "" || Number(wanted) === Number(first);
  return bytes >= 1 && isWanted ? { bytes, contentRange } : null;
}

/** Reads the first bytes of an output: at least `TYPE_BYTES`, or all if the output is shorter. */
async function firstBytes(source: SourceReader): Promise<Uint8Array> {
  let bytes = new Uint8Array();
  while (bytes.length < TYPE_BYTES) {
    const piece = await source.read().catch(() => {
      throw notSent("unreachable");
    });
    if (piece === null) break;
    bytes = concatUint8Arrays([bytes, piece]);
  }
  return bytes;
}

/**
 * Reads the bytes of an upstream's response piece by piece. Ends the request when the upstream sends nothing for 30
 * seconds.
 */
class SourceReader {
  readonly #reader: ReadableStreamBYOBReader;
  readonly #stop: AbortController;
  /** Memory into which the next piece of the response is read; null at the end of the response. */
  #memory: ArrayBuffer | null = new ArrayBuffer(PIECE_BYTES);

  /** Creates a reader of the body of an upstream's response. @param stop ends the request to the upstream. */
  constructor(body: ReadableStream<Uint8Array>, stop: AbortController) {
    this.#reader = body.getReader({ mode: "byob" });
    this.#stop = stop;
    // Ends a read that waits, also when the network does not notice.
    stop.signal.addEventListener("abort", () => void this.#reader.cancel().catch(() => undefined));
  }

  /**
   * Returns the next bytes of the response, or null at its end. The bytes are valid until the next call, because all
   * pieces use the same memory.
   * @throws Error when the connection breaks, or when the request was ended because the upstream sent nothing for too
   * long.
   */
  async read(): Promise<Uint8Array | null> {
    if (this.#memory === null) return null;
    const view = new Uint8Array(this.#memory);
    const { done, value } = await orStop(this.#reader.read(view), this.#stop);
    if (this.#stop.signal.aborted) throw new Error("the upstream has sent nothing for too long");
    this.#memory = done ? null : value.buffer;
    return done ? null : value;
  }

  /** Ends the request to the upstream. */
  async cancel(): Promise<void> {
    this.#stop.abort();
    await this.#reader.cancel().catch(() => undefined);
  }
}

/**
 * Returns a body that contains the first bytes of an output and then the others. Sending it fails when the upstream
 * sends fewer or more bytes than it has stated, so that the client can tell that the output is not complete.
 */
function passOn(start: Uint8Array, rest: SourceReader, bytes: number | null, place: BudgetPart) {
  let first: Uint8Array | null = start;
  const next = async () => {
    // Renews the place.
    place.resize(1);
    const piece = first ?? (await rest.read());
    first = null;
    return piece;
  };
  const onEnd = (error: unknown) => {
    place.giveBack();
    if (error === null) return;
    void rest.cancel();
    log({ event: "output.stream_ended", error: errorText(error) }, "info");
  };
  return streamToClient({ next, bytes, onEnd });
}
