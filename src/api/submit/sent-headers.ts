import { CREDENTIAL_HEADERS } from "./customer-credential.ts";
import type { SentCall } from "./prepared-call.ts";

/**
 * Headers of a call that are not passed on to the upstream: those that concern only the connection to the relay (RFC
 * 9110 §7.6.1), those that identify the caller or tell over which proxies the call came, those that would change the
 * meaning of the request, and those that the relay sets itself.
 */
const DROPPED: ReadonlySet<string> = new Set([
  ...CREDENTIAL_HEADERS.map((name) => name.toLowerCase()),
  "accept-encoding",
  "connection",
  "content-length",
  "content-type",
  "cookie",
  "expect",
  "forwarded",
  "host",
  "idempotency-key",
  "keep-alive",
  "origin",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "range",
  "referer",
  "te",
  "trailer",
  "transfer-encoding",
  "true-client-ip",
  "upgrade",
  "via",
  "x-client-ip",
  "x-method-override",
  "x-real-ip",
]);
const DROPPED_PREFIXES = [
  "cf-",
  "if-",
  "relay-",
  "sec-",
  "x-forwarded-",
  "x-http-method",
  "x-request-",
  "webhook-",
];
/**
 * Headers of an account's call that are passed on to the upstream. All others are dropped, because an account could use
 * them to ask the upstream for something that the offer does not limit, e.g. a paid priority. The one of Model Studio
 * lets it read the files that the call names as `oss://`, i.e. those that the SDK has uploaded.
 */
const OF_ACCOUNTS =
  /^(?:accept|accept-language|prefer|traceparent|tracestate|user-agent|x-dashscope-ossresourceresolve|x-stainless-.+)$/;
/** Headers of an upstream's response that are passed on to the caller of a submission. All others are dropped. */
const PASSED = ["Content-Type", "Content-Language", "Retry-After", "Preference-Applied"];
const PASSED_PREFIX = /^(?:x-)?ratelimit-/i;

/**
 * Returns the headers with which a submission is sent to the upstream: those of the caller that concern the upstream,
 * and the upstream's credentials, which replace all headers in which the caller may have put a key.
 * @param own headers that the relay sets: the credentials, and others that the call needs.
 */
export function sentHeaders(
  given: Headers,
  own: Readonly<Record<string, string>>,
  { contentType, isOfAccount }: Pick<SentCall, "contentType" | "isOfAccount">,
): Headers {
  const named = (given.get("Connection") ?? "").toLowerCase().split(",");
  const hopByHop = new Set(named.map((name) => name.trim()));
  const sent = new Headers();
  for (const [name, value] of given) {
    if (hopByHop.has(name)) continue;
    if (isOfAccount ? OF_ACCOUNTS.test(name) : !isDropped(name)) sent.append(name, value);
  }
  if (contentType !== null) sent.set("Content-Type", contentType);
  for (const [name, value] of Object.entries(own)) sent.set(name, value);
  return sent;
}

function isDropped(name: string): boolean {
  return DROPPED.has(name) || DROPPED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** Returns the headers of an upstream's response that are passed on to the caller of a submission. */
export function passedHeaders(answered: Headers): Headers {
  const passed = new Headers();
  for (const name of PASSED) {
    const value = answered.get(name);
    if (value !== null) passed.set(name, value);
  }
  for (const [name, value] of answered) if (PASSED_PREFIX.test(name)) passed.set(name, value);
  return passed;
}
