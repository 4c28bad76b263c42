/** The three headers of Standard Webhooks in what somebody has pasted or sent. A missing header is null. */
export interface PastedHeaders {
  readonly id: string | null;
  readonly timestamp: string | null;
  readonly signature: string | null;
}

/** Number of characters of a pasted text that are read; the rest is ignored. */
const MAX_CHARS = 65_536;
const MAX_VALUE_CHARS = 4_096;

/**
 * Pattern of the marks at the beginning of a line that some programs add, as in a quoted mail or in the output of `curl
 * -v`.
 */
const QUOTE_MARKS = /^[ \t]*[><|*][><| \t*]*/gm;
/** Pattern of a line break before a further signature of the same header. Mail programs, for example, insert it. */
const BROKEN_LINE = /\r?\n[ \t]+(?=v1a?,)/g;
/**
 * Pattern of a header in any usual notation. It matches the name (`webhook-id`, `Webhook-Id`, `HTTP_WEBHOOK_ID`), the
 * characters between name and value (`:`, `=`, `=>`, quotes, brackets), and the value up to a quote, a bracket or the
 * end of the line.
 */
const HEADER =
  /(?:HTTP_)?webhook[-_](id|timestamp|signature)["'`\]]?[ \t]*(?:=>|[:=,])[ \t]*(?:[[(]|b?["'`])*([^"'`\r\n\][)}]*)/gi;

/**
 * Returns the headers of a webhook from what a person has pasted or a program has sent: an object of headers, or a
 * text in any usual notation (HTTP, quoted mail, `curl -v`, `-H` options, a printed map, JSON).
 */
export function readPastedHeaders(pasted: unknown): PastedHeaders {
  const text = typeof pasted === "string" ? pasted : linesOf(pasted);
  const unquoted = text
    .slice(0, MAX_CHARS)
    .replaceAll(QUOTE_MARKS, "")
    .replaceAll('\\"', '"')
    .replaceAll(BROKEN_LINE, " ");
  const found = new Map<string, string>();
  for (const [, name = "", value = ""] of unquoted.matchAll(HEADER)) {
    const key = name.toLowerCase();
    const trimmed = value.trim().replace(/[,;]$/, "").slice(0, MAX_VALUE_CHARS);
    if (trimmed !== "" && !found.has(key)) found.set(key, trimmed);
  }
  const of = (name: string) => found.get(name) ?? null;
  return { id: of("id"), timestamp: of("timestamp"), signature: of("signature") };
}

function linesOf(headers: unknown): string {
  if (typeof headers !== "object" || headers === null) return "";
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${valueText(value)}`)
    .join("\n");
}

/**
 * Returns the text of a header's value, or of a list of values. Values that are neither a text nor a number are left
 * out.
 */
function valueText(value: unknown): string {
  const values = Array.isArray(value) ? value : [value];
  return values.filter((each) => typeof each === "string" || typeof each === "number").join(" ");
}
