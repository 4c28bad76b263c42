/**
 * Headers that no endpoint may have: those that the relay itself sends with a callback, and those that belong to the
 * connection or to the platform.
 */
const RESERVED: ReadonlySet<string> = new Set([
  "content-type",
  "user-agent",
  "traceparent",
  "tracestate",
  // Of the body and the connection (RFC 9110, RFC 9112).
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
]);

/**
 * Beginnings of such headers: of the signature, of the event (`X-Event`, `X-Task-Id`, `X-Timestamp`, `X-Attempt`), of
 * proxies, and of Cloudflare.
 */
const PREFIXES = ["webhook-", "x-event", "x-task-", "x-timestamp", "x-attempt", "proxy-", "cf-"];

/** Tells whether an endpoint may not have a header with this name. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return RESERVED.has(lower) || PREFIXES.some((prefix) => lower.startsWith(prefix));
}
