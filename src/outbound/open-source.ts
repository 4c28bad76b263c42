import type { UrlRules } from "../security/url-rules.ts";
import { checkCallbackUrl } from "../security/url-rules.ts";
import { findAll } from "../providers/generic/json-pointer.ts";
import { bytesOf, fromBase64 } from "../security/encoding.ts";
import { get, getStream } from "./http.ts";

/** The upstream's link to an output, together with what the relay needs to fetch the output. */
export interface Source {
  /** Link to the output, as the upstream has stated it. */
  readonly url: string;
  /**
   * Headers that authenticate the relay. They are sent only to the origin of the link, and not to other URLs to which
   * the link redirects.
   */
  readonly keyHeaders: Readonly<Record<string, string>>;
  /**
   * JSON Pointer to the output, if the link leads to JSON that contains the output as base64. Null when the link leads
   * to the output itself.
   */
  readonly pointer: string | null;
  /** The URL rules that the link, and each URL to which it redirects, must fulfil. */
  readonly rules: UrlRules;
}

/** The result of requesting an output from its upstream. */
export type OpenedSource =
  | { readonly kind: "opened"; readonly response: Response }
  /** Result when the URL rules forbid the link, or a URL to which it redirects. */
  | { readonly kind: "blocked" }
  /** Result when the answer is neither a success nor a redirect that can be followed, e.g. 404. */
  | { readonly kind: "refused"; readonly status: number; readonly headers: Headers }
  /**
   * Result when the answer has a status of success but is not the output, e.g. 202 while the file is still being made.
   */
  | { readonly kind: "not_ready"; readonly status: number }
  | { readonly kind: "unreachable" };

const WHOLE = 200;
const PART = 206;
const MAX_REDIRECTS = 5;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/**
 * Requests an output from its upstream, and follows redirects. The link and each URL to which it redirects must fulfil
 * the URL rules. The body of the answer is not read: the caller reads or cancels it. It never throws.
 * @param headers further headers of every request, e.g. `Range`.
 * @param signal ends the request, and the reading of its answer.
 */
export async function openSource(
  source: Source,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<OpenedSource> {
  const { url, keyHeaders, rules, pointer } = source;
  if (pointer !== null) return openInline(source, pointer, signal);
  let next = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    if (!checkCallbackUrl(next, rules).ok) return { kind: "blocked" };
    const own = redirects === 0 ? keyHeaders : {};
    const response = await getStream(next, { ...headers, ...own }, signal);
    if (response === null) return { kind: "unreachable" };
    if (!REDIRECTS.includes(response.status)) return answered(response, "Range" in headers);
    await cancel(response);
    const target = URL.parse(response.headers.get("Location") ?? "", next);
    if (target === null) return withoutOutput(response);
    next = target.href;
  }
  return { kind: "unreachable" };
}

/** Requests the JSON answer that contains an output as base64, reads it as a whole, and returns the output. */
async function openInline(
  { url, keyHeaders, rules }: Source,
  pointer: string,
  signal: AbortSignal,
): Promise<OpenedSource> {
  if (!checkCallbackUrl(url, rules).ok) return { kind: "blocked" };
  const answer = await get(
    { url: url.split("#")[0] ?? "", headers: keyHeaders, isLarge: true },
    signal,
  );
  if (answer === null) return { kind: "unreachable" };
  const { status, body } = answer;
  const [found] = status === WHOLE ? findAll(body, pointer, null) : [];
  const bytes = typeof found?.value === "string" ? bytesIn(found.value) : null;
  if (bytes === null) return withoutOutput(answer);
  const { readable, writable } = new FixedLengthStream(bytes.length);
  const writer = writable.getWriter();
  void writer.write(bytes).then(
    () => writer.close(),
    () => undefined,
  );
  const headers = { "Content-Length": String(bytes.length) };
  return { kind: "opened", response: new Response(readable, { headers }) };
}

/** Returns the bytes of a file that is given in base64 or as a `data:` URL (RFC 2397). Null for any other text. */
function bytesIn(text: string): Uint8Array | null {
  const [start = "", type] = /^data:([^,]{0,200}),/i.exec(text) ?? [];
  const content = text.slice(start.length);
  try {
    if (type !== undefined && !/;base64$/i.test(type)) return bytesOf(decodeURIComponent(content));
    return fromBase64(content.replaceAll(/[\r\n]/g, ""));
  } catch {
    return null;
  }
}

/**
 * Returns the result for an upstream's response to the request for an output. Only the status 200 means that the body
 * is the whole output, and 206 that it is a part, if a part was asked for (RFC 9110, sections 15.3.1 and 15.3.7).
 */
async function answered(response: Response, isPartAsked: boolean): Promise<OpenedSource> {
  const { status } = response;
  if (status === WHOLE || (isPartAsked && status === PART)) return { kind: "opened", response };
  await cancel(response);
  return withoutOutput(response);
}

function withoutOutput({ status, headers }: Pick<Response, "status" | "headers">): OpenedSource {
  return status >= 200 && status < 300
    ? { kind: "not_ready", status }
    : { kind: "refused", status, headers };
}

/** Cancels the body of an answer that is not needed, so that its connection becomes free. */
async function cancel({ body }: Response): Promise<void> {
  await body?.cancel().catch(() => undefined);
}

/**
 * Returns the number of bytes in the body of an answer, if the upstream states it. Null when it does not. Null also for
 * a compressed body, because the runtime decompresses it, which changes its length.
 */
export function statedBytes({ headers }: Response): number | null {
  const stated = headers.get("Content-Length") ?? "";
  const isPlain = /^(?:identity)?$/.test(headers.get("Content-Encoding") ?? "");
  return isPlain && /^\d{1,15}$/.test(stated) ? Number(stated) : null;
}
