import type { Runtime } from "../../config/runtime.ts";
import { mediaTypeOf, TYPE_BYTES } from "../../core/media-type.ts";
import type { OutputPlace } from "../../core/views/output-place.ts";
import { isolateCache } from "../../isolate-cache.ts";
import { linkLifeMs, sourceOf } from "../../objects/output/copy-source.ts";
import {
  openSource,
  type OpenedSource,
  type Source,
  statedBytes,
} from "../../outbound/open-source.ts";
import type { LinkedOutput } from "../../security/output-link.ts";
import { readUpTo } from "../../stream.ts";
import { withDeadline } from "../../timeout.ts";
import { unavailable } from "../http/object-call.ts";
import { contentHeaders, OUTPUT_HEADERS } from "./output-headers.ts";
import { outputGone } from "./output-gone.ts";

/** Longest wait for the first bytes of a source, in milliseconds. */
const FIRST_BYTES_MS = 15_000;

/** Media types of sources by their links, so that not each request for a part of a source asks for its beginning too. */
const mediaTypes = isolateCache<string>();

/**
 * Answers a request for an output of which the relay has no copy: by a redirect to the upstream's own link or, where this
 * opens only with a key, by passing on what the upstream sends.
 * @throws Problem `output_gone` when the upstream's link is dead.
 */
export async function answerFromSource(
  request: Request,
  output: LinkedOutput,
  place: OutputPlace,
  runtime: Runtime,
): Promise<Response> {
  const { state, endedAt, connection } = place;
  if (Date.now() >= endedAt + linkLifeMs(connection, runtime)) {
    throw outputGone(state.kind === "lost" ? state.reason : "source_expired");
  }
  const source = await sourceOf(place, place.source, runtime);
  if (Object.keys(source.keyHeaders).length === 0) return redirectTo(source.url);
  return pass(request, output, source);
}

function redirectTo(url: string): Response {
  const headers = { ...OUTPUT_HEADERS, Location: url, "Cache-Control": "no-store" };
  return new Response(null, { status: 302, headers });
}

/** Passes on what the upstream sends, under the type of its first bytes. */
async function pass(request: Request, output: LinkedOutput, source: Source): Promise<Response> {
  const range = rangeOf(request);
  const { aborter, opened } = await openWithin(source, range === null ? {} : { Range: range });
  if (opened.kind === "refused" && opened.status === 416) {
    return new Response(null, { status: 416, headers: OUTPUT_HEADERS });
  }
  const response = requireOpened(opened);
  try {
    const [start, rest] = response.body?.tee() ?? [null, null];
    const { bytes } = await readUpTo(start, TYPE_BYTES);
    const mediaType = await typeOf(response, bytes, source);
    const headers = passedHeaders(response, { ...output, mediaType });
    const status = response.status === 206 ? 206 : 200;
    if (request.method !== "HEAD") return new Response(rest, { status, headers });
    aborter.abort();
    return new Response(null, { status, headers });
  } catch (error) {
    aborter.abort();
    throw error;
  }
}

/** Opens a source, whose answer must begin in time and is then read without a deadline. */
async function openWithin(source: Source, headers: Record<string, string>) {
  const aborter = new AbortController();
  const opened = await withDeadline(FIRST_BYTES_MS, (signal) => {
    signal.addEventListener("abort", () => aborter.abort());
    return openSource(source, headers, aborter.signal);
  });
  return { aborter, opened };
}

/**
 * Returns the header `Range` to pass on. Null when the request names none, or names one under a condition that the relay
 * cannot check, because it knows no entity tag of the upstream.
 */
function rangeOf({ method, headers }: Request): string | null {
  const isPlain = method === "GET" && !headers.has("If-Range");
  const range = isPlain ? (headers.get("Range") ?? "") : "";
  return /^bytes=\d{0,15}-\d{0,15}$/.test(range) ? range : null;
}

/** @throws Problem `output_gone` when the upstream's link is dead, `unavailable` when its answer may come later. */
function requireOpened(opened: OpenedSource): Response {
  if (opened.kind === "opened") return opened.response;
  if (opened.kind === "blocked") throw outputGone("blocked");
  const isDead = opened.kind === "refused" && opened.status < 500 && opened.status !== 429;
  if (isDead) throw outputGone("refused");
  throw unavailable("The upstream of this output does not answer.");
}

/** Returns the media type of a source by its first bytes, of which an answer with a part may have too few or none. */
async function typeOf(response: Response, bytes: Uint8Array, source: Source): Promise<string> {
  const range = response.headers.get("Content-Range") ?? "";
  const isEnough = range.startsWith("bytes 0-") && bytes.length >= TYPE_BYTES;
  const isBeginning = response.status !== 206 || isEnough;
  const type = isBeginning ? mediaTypeOf(bytes) : mediaTypes.get(source.url);
  const known = type ?? (await typeOfBeginning(source));
  mediaTypes.set(source.url, known);
  return known;
}

async function typeOfBeginning(source: Source): Promise<string> {
  const range = { Range: `bytes=0-${TYPE_BYTES - 1}` };
  const { opened } = await openWithin(source, range);
  const { bytes } = await readUpTo(requireOpened(opened).body, TYPE_BYTES);
  return mediaTypeOf(bytes);
}

function passedHeaders(
  response: Response,
  about: Parameters<typeof contentHeaders>[0],
): Record<string, string> {
  const range = response.status === 206 ? response.headers.get("Content-Range") : null;
  const bytes = statedBytes(response);
  return {
    ...contentHeaders(about),
    "Cache-Control": "no-store",
    ...(range !== null && { "Content-Range": range, "Accept-Ranges": "bytes" }),
    ...(bytes !== null && { "Content-Length": String(bytes) }),
  };
}
