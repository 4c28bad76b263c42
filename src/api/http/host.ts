import { invalidRequest } from "./problem.ts";

/** Pattern of a `Host` header without the characters that end the host in a URL or that a URL drops. */
const HOST = /^[^\s/?#@\\]+$/;

/**
 * Checks the `Host` header, from which the platform builds the URL of a request.
 * @throws Problem `invalid_request` when it is not a host, so that the URL cannot be parsed or has another
 * path than the one that was asked for.
 */
export function requireHost({ url, headers }: Request): void {
  const host = headers.get("Host");
  if (URL.canParse(url) && (host === null || HOST.test(host))) return;
  const message = "must be a host name or an IP address, with a port or without";
  throw invalidRequest([{ path: "/Host", message }]);
}
