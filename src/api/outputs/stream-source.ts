import { concatUint8Arrays } from "uint8array-extras";
import { mediaTypeOf, TYPE_BYTES } from "../../core/media-type.ts";
import { SECOND_MS } from "../../core/time.ts";
import { isolateCache } from "../../isolate-cache.ts";
import { errorText, log } from "../../log.ts";
import { outputKey } from "../../objects/output/output-key.ts";
import {
  type OpenedSource,
  openSource,
  type Source,
  statedBytes,
} from "../../outbound/open-source.ts";
import type { LinkedOutput } from "../../security/output-link.ts";
import { unavailable } from "../http/object-call.ts";
import { isOneRange } from "./byte-range.ts";
import { contentHeaders, OUTPUT_HEADERS } from "./output-headers.ts";
import { outputGone } from "./output-problems.ts";

/** Longest time in milliseconds until the first bytes of an output have come. */
const START_MS = 30 * SECOND_MS;
/** Range of the first bytes of a file, which decide its type. */
const FIRST_BYTES = `bytes=0-${TYPE_BYTES - 1}`;
/** Statuses with which an upstream says that an output does not exist any more. */
const GONE_STATUSES: readonly number[] = [404, 410];

/** Media types of outputs that this isolate has streamed, by their keys. A player asks for one output part by part. */
const knownTypes = isolateCache<string>(1_000);

/**
 * Answers a request for an output with what its upstream sends. `Range` is passed on. The first bytes decide the type; when
 * the request asks for other ones, they are fetched first. A client that goes away ends the request to the upstream.
 * @throws Problem `output_gone` when the upstream does not have the output any more, or the relay must not fetch it;
 * `unavailable` when the upstream does not send it now.
 */
export async function streamSource(
  request: Pick<Request, "method" | "headers">,
  output: LinkedOutput,
  source: Source,
): Promise<Response> {
  const range = rangeOf(request);
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), START_MS);
  try {
    // A range from the first byte to the end has the first bytes itself.
    const hasStart = range === null || /^bytes=0-$/i.test(range);
    const type = hasStart ? null : await typeOf(output, source, stop.signal);
    const headers = range === null ? {} : { Range: range };
    const opened = await openSource(source, headers, stop.signal);
    if (range !== null && opened.kind === "refused" && opened.status === 416) {
      return new Response(null, { status: 416, headers: OUTPUT_HEADERS });
    }
    const response = responseOf(opened);
    const extent = await extentOf(response, range);
    const start = await startOf(response, stop.signal);
    const mediaType = type ?? mediaTypeOf(start.bytes);
    knownTypes.set(outputKey(output, output.number), mediaType);
    const init = {
      status: extent.status,
      headers: { ...contentHeaders({ ...output, mediaType }), ...extent.headers },
    };
    if (request.method === "GET") return new Response(joined(start, extent.bytes), init);
    await start.rest.cancel();
    return new Response(null, init);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns the range of bytes to ask the upstream for. Null for all of them: also when the client has a part already
 * (`If-Range`), because a stream has no entity tag with which it could be the same.
 */
function rangeOf({ method, headers }: Pick<Request, "method" | "headers">): string | null {
  const range = headers.get("Range");
  const isMeant = method === "GET" && !headers.has("If-Range");
  return range !== null && isMeant && isOneRange(range) ? range : null;
}

/** Returns the media type of an output by its first bytes, which are fetched when this isolate does not know it. */
async function typeOf(output: LinkedOutput, source: Source, signal: AbortSignal): Promise<string> {
  const key = outputKey(output, output.number);
  const known = knownTypes.get(key);
  if (known !== undefined) return known;
  const response = responseOf(await openSource(source, { Range: FIRST_BYTES }, signal));
  await extentOf(response, FIRST_BYTES);
  const { bytes, rest } = await startOf(response, signal);
  await rest.cancel();
  const type = mediaTypeOf(bytes);
  knownTypes.set(key, type);
  return type;
}

/** Returns the answer of an upstream that sends an output. @throws Problem when it does not. */
function responseOf(opened: OpenedSource): Response {
  switch (opened.kind) {
    case "opened":
      return opened.response;
    case "blocked":
      throw outputGone("blocked");
    case "refused":
      if (GONE_STATUSES.includes(opened.status)) throw outputGone("refused");
      throw notSent(`status_${opened.status}`);
    case "unreachable":
      throw notSent("unreachable");
  }
}

function notSent(reason: string) {
  return unavailable("The upstream does not send this output now.", reason);
}

/** What an upstream sends: all bytes of an output or a part of them. */
interface Extent {
  readonly status: 200 | 206;
  /** Number of bytes that come; null when the upstream does not state it. */
  readonly bytes: number | null;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Returns what an upstream sends. An answer with a part that was not asked for is dropped.
 * @param range the range that it was asked for; null for none.
 * @throws Problem `unavailable` when the answer is not to be understood.
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

/** Returns the part that an answer says it contains. Null when it is not one that was asked for. */
function partOf({ headers }: Response, range: string) {
  const contentRange = headers.get("Content-Range") ?? "";
  const [, first, last] = CONTENT_RANGE.exec(contentRange) ?? [];
  const bytes = Number(last) - Number(first) + 1;
  // The first byte of `bytes=-5` depends on the length of the output.
  const [, wanted = ""] = /=\s*(\d*)/.exec(range) ?? [];
  const isWanted = wanted === "" || Number(wanted) === Number(first);
  return bytes >= 1 && isWanted ? { bytes, contentRange } : null;
}

/** The first bytes of an answer, and the stream of those behind them. */
interface Start {
  readonly bytes: Uint8Array;
  readonly rest: ReadableStream<Uint8Array>;
}

/** Reads the first bytes of an answer. @throws Problem `unavailable` when none come. */
async function startOf({ body }: Response, signal: AbortSignal): Promise<Start> {
  if (body === null) throw notSent("empty");
  const reader = body.getReader();
  // Ends a read that waits, also when the network does not notice.
  const stop = () => void reader.cancel().catch(() => undefined);
  signal.addEventListener("abort", stop);
  try {
    const bytes = await firstBytes(reader);
    if (signal.aborted) throw notSent("unreachable");
    if (bytes.length === 0) throw notSent("empty");
    return { bytes, rest: body };
  } finally {
    signal.removeEventListener("abort", stop);
    reader.releaseLock();
  }
}

/** Returns at least `TYPE_BYTES` bytes, and what came with them; fewer when the stream ends before. */
async function firstBytes(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array> {
  let bytes = new Uint8Array();
  while (bytes.length < TYPE_BYTES) {
    const { done, value } = await reader.read().catch(() => {
      throw notSent("unreachable");
    });
    if (done) break;
    bytes = concatUint8Arrays([bytes, value]);
  }
  return bytes;
}

/**
 * Returns a stream of the first bytes and the rest. It fails when fewer or more bytes come than the upstream has stated, so
 * that the client can tell that the output is not complete. The platform passes on the rest by itself, without CPU time for
 * each piece.
 */
function joined({ bytes: start, rest }: Start, bytes: number | null): ReadableStream {
  const { readable, writable } =
    bytes === null ? new IdentityTransformStream() : new FixedLengthStream(bytes);
  const pump = async () => {
    const writer = writable.getWriter();
    try {
      await writer.write(start);
      writer.releaseLock();
      await rest.pipeTo(writable);
    } catch (error) {
      // The client has gone away, or the upstream has broken off.
      await rest.cancel().catch(() => undefined);
      await writable.abort(error).catch(() => undefined);
      log({ event: "output.stream_ended", error: errorText(error) }, "info");
    }
  };
  void pump();
  return readable;
}
