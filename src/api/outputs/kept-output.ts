import { OTHER_TYPE } from "../../core/media-type.ts";
import { outputKey } from "../../objects/output/output-key.ts";
import type { LinkedOutput } from "../../security/output-link.ts";
import { selectionOf, type Selection } from "./byte-range.ts";
import { contentHeaders, OUTPUT_HEADERS } from "./output-headers.ts";

/** Readers may keep an output for themselves; shared caches may not, because the link is its only protection. */
const CACHING = { "Cache-Control": "private", "Accept-Ranges": "bytes" } as const;

/**
 * Answers a request for an output from the relay's copy: whole, or the part that the request names. Null when the bucket
 * has no copy.
 */
export async function answerFromCopy(
  { method, headers }: Request,
  output: LinkedOutput,
  bucket: R2Bucket,
): Promise<Response | null> {
  const key = outputKey(output, output.number);
  const object = await bucket.head(key);
  if (object === null) return null;
  const { size, httpEtag: etag } = object;
  const isGet = method === "GET";
  const selection = selectionOf(headers, isGet, { size, etag });
  const known = { ...CACHING, ETag: etag };
  switch (selection.kind) {
    case "not_modified":
      return empty(304, known);
    case "precondition_failed":
      return empty(412, known);
    case "unsatisfiable":
      return empty(416, { ...known, "Content-Range": `bytes */${size}` });
    case "whole":
    case "part": {
      const mediaType = object.httpMetadata?.contentType ?? OTHER_TYPE;
      const about = { ...contentHeaders({ ...output, mediaType }), ...known };
      const { status, length, ranged } = extentOf(selection, size);
      const stated = { ...about, ...ranged, "Content-Length": String(length) };
      if (!isGet) return new Response(null, { headers: stated });
      const body = await bodyOf(bucket, key, selection, length);
      return body === null ? null : new Response(body, { status, headers: stated });
    }
  }
}

type Extent = Extract<Selection, { kind: "whole" | "part" }>;

function extentOf(selection: Selection, size: number) {
  if (selection.kind !== "part") return { status: 200, length: size, ranged: {} };
  const { offset, length } = selection;
  const range = `bytes ${offset}-${offset + length - 1}/${size}`;
  return { status: 206, length, ranged: { "Content-Range": range } };
}

/** Returns the selected bytes of a copy. Null when it was deleted meanwhile. */
async function bodyOf(
  bucket: R2Bucket,
  key: string,
  selection: Selection,
  length: number,
): Promise<ReadableStream | null> {
  const range = selection.kind === "part" ? { range: partOf(selection) } : {};
  const object = await bucket.get(key, range);
  return object?.body.pipeThrough(new FixedLengthStream(length)) ?? null;
}

function partOf({ offset, length }: Extract<Extent, { kind: "part" }>): R2Range {
  return { offset, length };
}

function empty(status: number, headers: Record<string, string>): Response {
  return new Response(null, { status, headers: { ...OUTPUT_HEADERS, ...headers } });
}
