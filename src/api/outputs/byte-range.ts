/**
 * Conditional requests and byte ranges of outputs (RFC 9110, sections 13 and 14). An output never changes, so its entity
 * tag is always strong.
 */

/** A stored output, as far as it decides which part of it a request gets. */
export interface Representation {
  /** Size in bytes. */
  readonly size: number;
  /** Strong entity tag, with its quotes. */
  readonly etag: string;
}

/**
 * The answer to a request for an output:
 * - `whole`: 200 with everything.
 * - `part`: 206 with `length` bytes from `offset` on.
 * - `unsatisfiable`: 416, because the range begins behind the end.
 * - `not_modified`: 304, because the client has it already.
 * - `precondition_failed`: 412, because the client expects another one.
 */
export type Selection =
  | { readonly kind: "whole" | "unsatisfiable" | "not_modified" | "precondition_failed" }
  | { readonly kind: "part"; readonly offset: number; readonly length: number };

/** The headers of a request that decide what it gets. */
type RequestHeaders = Pick<Headers, "get">;

const WHOLE: Selection = { kind: "whole" };
/** Pattern of a header `Range` with one range of bytes; several ranges are ignored, as section 14.2 permits. */
const ONE_RANGE = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i;

/** Tells whether a header `Range` asks for one range of bytes. */
export function isOneRange(range: string): boolean {
  const [, first = "", last = ""] = ONE_RANGE.exec(range) ?? [];
  return first !== "" || last !== "";
}

/**
 * Returns what a request gets of an output.
 * @param isGet true for GET. `Range` has no meaning for any other method (section 14.2).
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
  const range = headers.get("Range");
  if (range === null || !isGet || !isRangeMeant(headers, etag)) return WHOLE;
  return rangeOf(range, size);
}

/**
 * Tells whether the condition of `If-Range` holds (section 13.1.5). A date never does: it is a strong validator only under
 * conditions that are not worth checking, and the client then gets everything.
 */
function isRangeMeant(headers: RequestHeaders, etag: string): boolean {
  const condition = headers.get("If-Range");
  return condition === null || condition.trim() === etag;
}

/** Returns the part of an output that a header `Range` names. */
function rangeOf(range: string, size: number): Selection {
  const [, first, last] = ONE_RANGE.exec(range) ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return WHOLE;
  if (first === "") {
    const length = Math.min(Number(last), size);
    return length === 0 ? { kind: "unsatisfiable" } : part(size - length, length);
  }
  const offset = Number(first);
  const end = last === "" ? Infinity : Number(last);
  if (end < offset) return WHOLE;
  if (offset >= size) return { kind: "unsatisfiable" };
  return part(offset, Math.min(end + 1, size) - offset);
}

function part(offset: number, length: number): Selection {
  return { kind: "part", offset, length };
}

/**
 * Tells whether a header `If-Match` or `If-None-Match` names an entity tag.
 * @param isWeak true to take weak tags for equal too (section 8.8.3.2).
 */
function matches(header: string, etag: string, isWeak: boolean): boolean {
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  const own = isWeak ? tags.map((tag) => tag.replace(/^W\//, "")) : tags;
  return header.trim() === "*" || own.includes(etag);
}
