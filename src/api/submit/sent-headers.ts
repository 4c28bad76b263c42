/**
 * Headers of a call that stay at the relay: those of the connection to it (RFC 9110 §7.6.1), those that identify its
 * caller or say how the call came, and those that are made anew.
 */
const DROPPED: ReadonlySet<string> = new Set([
  "accept-encoding",
  "authorization",
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
  "referer",
  "te",
  "trailer",
  "transfer-encoding",
  "true-client-ip",
  "upgrade",
  "via",
  "x-api-key",
  "x-goog-api-key",
  "x-real-ip",
]);
const DROPPED_PREFIXES = ["cf-", "relay-", "sec-", "x-forwarded-", "x-request-", "webhook-"];
/** Headers of an upstream's answer that its caller may need; all others stay at the relay. */
const PASSED = ["Content-Type", "Content-Language", "Retry-After", "Preference-Applied"];
const PASSED_PREFIX = /^(?:x-)?ratelimit-/i;

/**
 * Returns the headers with which a submission goes to the upstream: those of the caller that concern the upstream, and
 * the key of the connection in place of the caller's.
 */
export function sentHeaders(
  given: Headers,
  credentials: Readonly<Record<string, string>>,
  contentType: string | null,
): Headers {
  const named = (given.get("Connection") ?? "").toLowerCase().split(",");
  const hopByHop = new Set(named.map((name) => name.trim()));
  const sent = new Headers();
  for (const [name, value] of given) {
    const isDropped = DROPPED.has(name) || hopByHop.has(name);
    if (isDropped || DROPPED_PREFIXES.some((prefix) => name.startsWith(prefix))) continue;
    sent.append(name, value);
  }
  if (contentType !== null) sent.set("Content-Type", contentType);
  for (const [name, value] of Object.entries(credentials)) sent.set(name, value);
  return sent;
}

/** Returns the headers of an upstream's answer that are passed on to the caller of a submission. */
export function passedHeaders(answered: Headers): Headers {
  const passed = new Headers();
  for (const name of PASSED) {
    const value = answered.get(name);
    if (value !== null) passed.set(name, value);
  }
  for (const [name, value] of answered) if (PASSED_PREFIX.test(name)) passed.set(name, value);
  return passed;
}
