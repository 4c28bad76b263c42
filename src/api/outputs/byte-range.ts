import type { AskedRange } from "../../objects/output/output-store.ts";

/**
 * Conditional requests and byte ranges of outputs (RFC 9110, sections 13 and 14). An output never changes, so its entity
 * tag is always strong.
 */

/**
 * Size and entity tag of a stored output. Together with the headers of a request, they decide which part of the output
 * is sent.
 */
export interface Representation {
  /** Size of the output in bytes. */
  readonly size: number;
  /** Strong entity tag of the output, in quotation marks. */
  readonly etag: string;
}

/**
 * The response to a request for an output:
 * - `whole`: 200 with everything.
 * - `part`: 206 with `length` bytes from `offset` on.
 * - `unsatisfiable`: 416, because the range begins after the end of the output.
 * - `not_modified`: 304, because the client already has this version of the output.
 * - `precondition_failed`: 412, because the client expects another version of the output.
 */
export type Selection =
  | { readonly kind: "whole" | "unsatisfiable" | "not_modified" | "precondition_failed" }
  | { readonly kind: "part"; readonly offset: number; readonly length: number };

/** The headers of a request for an output. They decide which part of the output is sent, if any. */
type RequestHeaders = Pick<Headers, "get">;

const WHOLE: Selection = { kind: "whole" };
/**
 * Pattern of a header `Range` with a single range of bytes. A header with several ranges is ignored, as RFC 9110,
 * section 14.2 permits.
 */
const ONE_RANGE = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i;

/** Tells whether a header `Range` asks for a single range of bytes. */
export function isOneRange(range: string): boolean {
  return readRange(range) !== null;
}

/** Reads a header `Range`. Null when it is invalid or names several ranges. */
function readRange(range: string): AskedRange | null {
  const [, first = "", last = ""] = ONE_RANGE.exec(range) ?? [];
  if (first === "") return last === "" ? null : { suffix: Number(last) };
  const offset = Number(first);
  if (last === "") return { offset };
  return Number(last) < offset ? null : { offset, length: Number(last) - offset + 1 };
}

/**
 * Returns the range of an output for which a request asks, as far as that can be told without the output.
 * @param isGet true for GET. `Range` has no meaning for any other method (RFC 9110, section 14.2).
 * @returns null when the request asks for all of the output.
 */
export function askedRange(headers: RequestHeaders, isGet: boolean): AskedRange | null {
  const range = headers.get("Range");
  return range === null || !isGet ? null : readRange(range);
}

/**
 * Returns the only entity tag in the header `If-None-Match`, without its quotation marks: the client needs no output
 * that has this tag.
 * @returns null when the request does not have this header, the header is not a single tag, or the tag is not one that
 * the bucket gives: the bucket would take `*` for any tag, also where the client has put it in quotation marks.
 */
export function onlyKnownTag(headers: RequestHeaders): string | null {
  const [, tag = null] =
    /^(?:W\/)?"([\w-]+)"$/.exec(headers.get("If-None-Match")?.trim() ?? "") ?? [];
  return tag;
}

/**
 * Returns which part of an output is sent for a request, or the status of a response without content.
 * @param isGet true for GET. `Range` has no meaning for any other method (RFC 9110, section 14.2).
 */
export function selectionOf(
  headers: RequestHeaders,
  isGet: boolean,
  { size, etag }: Representation,
): Selection {
  const expected = headers.get("If-Match");
  if (expected !== null && !matches(expected, etag, false)) return { kind: "precondition_failed" };
  const known = headers.get("If-None-Match");
  if (known !== null && matches(known, etag, true)) return { kind: "not_modified" };
  const range = askedRange(headers, isGet);
  return range !== null && isRangeMeant(headers, etag) ? rangeOf(range, size) : WHOLE;
}

/**
 * Tells whether the header `If-Range` is absent or its condition holds (RFC 9110, section 13.1.5), so that only the
 * requested part is sent. A condition with a date never holds, because dates are reliable only under conditions that
 * are not worth checking; the client then gets the whole output.
 */
function isRangeMeant(headers: RequestHeaders, etag: string): boolean {
  const condition = headers.get("If-Range");
  return condition === null || condition.trim() === etag;
}

/** Returns the part of an output for which a request asks. */
function rangeOf(range: AskedRange, size: number): Selection {
  if ("suffix" in range) {
    const last = Math.min(range.suffix, size);
    return last === 0 ? { kind: "unsatisfiable" } : part(size - last, last);
  }
  const { offset, length = Infinity } = range;
  if (offset >= size) return { kind: "unsatisfiable" };
  return part(offset, Math.min(offset + length, size) - offset);
}

function part(offset: number, length: number): Selection {
  return { kind: "part", offset, length };
}

/**
 * Tells whether a header `If-Match` or `If-None-Match` contains an entity tag.
 * @param isWeak true when a weak tag in the header is also accepted as equal (RFC 9110, section 8.8.3.2).
 */
function matches(header: string, etag: string, isWeak: boolean): boolean {
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  const own = isWeak ? tags.map((tag) => tag.replace(/^W\//, "")) : tags;
  return header.trim() === "*" || own.includes(etag);
}
