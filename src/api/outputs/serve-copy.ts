import { OTHER_TYPE } from "../../core/output-metadata/media-type.ts";
import { SECOND_MS } from "../../core/time.ts";
import { outputKey } from "../../objects/output/output-key.ts";
import type {
  AskedRange,
  OpenedOutput,
  StoredOutput,
  StoreReader,
} from "../../objects/output/output-store.ts";
import type { LinkedOutput } from "../../security/output-link.ts";
import { askedRange, onlyKnownTag, selectionOf } from "./byte-range.ts";
import { contentHeaders, OUTPUT_HEADERS } from "./output-headers.ts";

/**
 * Longest time in seconds for which a browser keeps a copy without asking again. An output never changes, but it can be
 * deleted.
 */
const MAX_AGE_S = 3_600;

/**
 * Answers a request for an output with the relay's copy, or with the requested part of it. One call to the bucket is
 * enough, except for a range that begins behind the end or that `If-Range` turns into the whole copy.
 * @returns null when there is no copy.
 * @throws Error when the bucket fails.
 */
export async function serveCopy(
  { method, headers: asked }: Pick<Request, "method" | "headers">,
  output: LinkedOutput,
  bucket: StoreReader,
): Promise<Response | null> {
  const key = outputKey(output, output.number);
  const isGet = method === "GET";
  const range = askedRange(asked, isGet);
  const copy: OpenedOutput | null = isGet
    ? await openCopy(bucket, key, range, asked)
    : await bucket.head(key);
  if (copy === null) return null;
  const { size, httpEtag: etag } = copy;
  const body = copy.body ?? null;
  const selection = selectionOf(asked, isGet, { size, etag });
  switch (selection.kind) {
    case "not_modified":
      return await withoutBody(304, validators(copy, output), body);
    case "precondition_failed":
      return await withoutBody(412, validators(copy, output), body);
    case "unsatisfiable": {
      const headers = { ...validators(copy, output), "Content-Range": `bytes */${size}` };
      return await withoutBody(416, headers, body);
    }
    case "whole": {
      if (range === null) return whole(copy, output, body);
      await body?.cancel();
      const read = await bucket.get(key, {});
      // A copy that was deleted meanwhile is not there.
      return read && whole(copy, output, read.body ?? null);
    }
    case "part": {
      const { offset, length } = selection;
      const headers = {
        ...headersOf(copy, output),
        "Content-Length": String(length),
        "Content-Range": `bytes ${offset}-${offset + length - 1}/${size}`,
      };
      return new Response(body, { status: 206, headers });
    }
  }
}

/**
 * Opens a copy, or the part of it for which a request asks. Of a copy that has no byte of this part, and of one that the
 * client has already, it returns the facts without the bytes.
 */
async function openCopy(
  bucket: StoreReader,
  key: string,
  range: AskedRange | null,
  asked: Headers,
): Promise<OpenedOutput | null> {
  const tag = onlyKnownTag(asked);
  const onlyIf = tag === null ? {} : { onlyIf: { etagDoesNotMatch: tag } };
  if (range === null) return await bucket.get(key, onlyIf);
  try {
    return await bucket.get(key, { range, ...onlyIf });
  } catch (error) {
    // The bucket refuses a range that begins behind the end, and does not say how long the copy is.
    const copy = await bucket.head(key);
    if (copy === null) return null;
    const { size, httpEtag: etag } = copy;
    if (selectionOf(asked, true, { size, etag }).kind === "part") throw error;
    return copy;
  }
}

async function withoutBody(
  status: number,
  headers: HeadersInit,
  body: ReadableStream | null,
): Promise<Response> {
  await body?.cancel();
  return new Response(null, { status, headers });
}

function whole(object: StoredOutput, output: LinkedOutput, body: ReadableStream | null): Response {
  const headers = { ...headersOf(object, output), "Content-Length": String(object.size) };
  return new Response(body, { headers });
}

function headersOf(object: StoredOutput, output: LinkedOutput) {
  const mediaType = object.httpMetadata?.contentType ?? OTHER_TYPE;
  return {
    ...contentHeaders({ ...output, mediaType }),
    ...validators(object, output),
    "Accept-Ranges": "bytes",
  };
}

/** Returns the headers that identify the version of a copy and state how long a browser may keep it. */
function validators({ httpEtag }: StoredOutput, { expiresAtS }: LinkedOutput) {
  const leftS = expiresAtS - Math.floor(Date.now() / SECOND_MS);
  const cacheControl = `private, max-age=${Math.min(Math.max(leftS, 0), MAX_AGE_S)}`;
  return { ...OUTPUT_HEADERS, ETag: httpEtag, "Cache-Control": cacheControl };
}
