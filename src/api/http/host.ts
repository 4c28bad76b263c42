import { invalidRequest } from "./problem.ts";

/**
 * Pattern of an acceptable `Host` header. It excludes characters that would end the host in a URL and characters that
 * URLs drop. The length is limited to that of the longest host name with a port, because parsing a long international
 * name takes quadratic time.
 */
const HOST = /^[^\s/?#@\\]{1,260}$/;

/**
 * Returns the URL of a request after checking the `Host` header, from which the platform builds the URL.
 * @throws Problem `invalid_request` when the header is not a host, because the URL then cannot be parsed, or has
 * another path than the client has sent.
 */
export function requireUrl(request: Request): URL {
  const url = urlOf(request);
  if (url !== null) return url;
  const message = "must be a host name or an IP address, with a port or without";
  throw invalidRequest([{ path: "/Host", message }]);
}

/** Returns the origin (scheme and host) that a request addresses; null when its `Host` header is not a host. */
export function originOf(request: Request): string | null {
  return urlOf(request)?.origin ?? null;
}

function urlOf({ url, headers }: Request): URL | null {
  const host = headers.get("Host");
  return host === null || HOST.test(host) ? URL.parse(url) : null;
}
