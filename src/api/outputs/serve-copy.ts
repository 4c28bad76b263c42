import { OTHER_TYPE } from "../../core/output-metadata/media-type.ts";
import { SECOND_MS } from "../../core/time.ts";
import { outputKey } from "../../objects/output/output-key.ts";
import type { LinkedOutput } from "../../security/output-link.ts";
import { selectionOf } from "./byte-range.ts";
import { contentHeaders, OUTPUT_HEADERS } from "./output-headers.ts";

/**
 * Names of the request headers that decide whether a copy is sent, and which part of it. A request that has none of
 * them needs only one call to the bucket.
 */
const SELECTING = ["Range", "If-Match", "If-None-Match"];
/**
 * Longest time in seconds for which a browser keeps a copy without asking again. An output never changes, but it can be
 * deleted.
 */
const MAX_AGE_S = 3_600;

/**
 * Answers a request for an output with the relay's copy, or with the requested part of it.
 * @returns null when there is no copy.
 * @throws Error when the bucket fails.
 */
export async function serveCopy(
  request: Pick<Request, "method" | "headers">,
  output: LinkedOutput,
  bucket: R2Bucket,
): Promise<Response | null> {
  const key = outputKey(output, output.number);
  const isGet = request.method === "GET";
  if (isGet && !SELECTING.some((name) => request.headers.has(name))) {
    const object = await bucket.get(key);
    return object && whole(object, output, object.body);
  }
  const object = await bucket.head(key);
  if (object === null) return null;
  const { size, httpEtag: etag } = object;
  const selection = selectionOf(request.headers, isGet, { size, etag });
  switch (selection.kind) {
    case "not_modified":
      return new Response(null, { status: 304, headers: validators(object, output) });
    case "precondition_failed":
      return new Response(null, { status: 412, headers: validators(object, output) });
    case "unsatisfiable": {
      const headers = { ...validators(object, output), "Content-Range": `bytes */${size}` };
      return new Response(null, { status: 416, headers });
    }
    case "whole": {
      const read = isGet ? await bucket.get(key) : null;
      // A copy that was deleted meanwhile is not there.
      return isGet && read === null ? null : whole(object, output, read?.body ?? null);
    }
    case "part": {
      const { offset, length } = selection;
      const read = await bucket.get(key, { range: { offset, length } });
      if (read === null) return null;
      const headers = {
        ...headersOf(object, output),
        "Content-Length": String(length),
        "Content-Range": `bytes ${offset}-${offset + length - 1}/${size}`,
      };
      return new Response(read.body, { status: 206, headers });
    }
  }
}

function whole(object: R2Object, output: LinkedOutput, body: ReadableStream | null): Response {
  const headers = { ...headersOf(object, output), "Content-Length": String(object.size) };
  return new Response(body, { headers });
}

function headersOf(object: R2Object, output: LinkedOutput) {
  const mediaType = object.httpMetadata?.contentType ?? OTHER_TYPE;
  return {
    ...contentHeaders({ ...output, mediaType }),
    ...validators(object, output),
    "Accept-Ranges": "bytes",
  };
}

/** Returns the headers that identify the version of a copy and state how long a browser may keep it. */
function validators({ httpEtag }: R2Object, { expiresAtS }: LinkedOutput) {
  const leftS = expiresAtS - Math.floor(Date.now() / SECOND_MS);
  const cacheControl = `private, max-age=${Math.min(Math.max(leftS, 0), MAX_AGE_S)}`;
  return { ...OUTPUT_HEADERS, ETag: httpEtag, "Cache-Control": cacheControl };
}
