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
  const [, first = "", last = ""] = ONE_RANGE.exec(range) ?? [];
  return first !== "" || last !== "";
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
  const range = headers.get("Range");
  if (range === null || !isGet || !isRangeMeant(headers, etag)) return WHOLE;
  return rangeOf(range, size);
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

/** Returns the part of an output for which a header `Range` asks. An invalid range gives the whole output. */
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
 * Tells whether a header `If-Match` or `If-None-Match` contains an entity tag.
 * @param isWeak true when a weak tag in the header is also accepted as equal (RFC 9110, section 8.8.3.2).
 */
function matches(header: string, etag: string, isWeak: boolean): boolean {
  const tags = header.match(/(?:W\/)?"[^"]*"/g) ?? [];
  const own = isWeak ? tags.map((tag) => tag.replace(/^W\//, "")) : tags;
  return header.trim() === "*" || own.includes(etag);
}
