import { SECOND_MS } from "../../core/time.ts";
import { isLoopback } from "../../security/url-rules.ts";

/**
 * Returns a `Set-Cookie` header. The prefix `__Host-` of the name limits the cookie to this host and to HTTPS. Some
 * browsers refuse such a cookie at http://localhost, so there the name has no prefix, but ends with the port, because
 * all ports of a host share their cookies.
 * @param maxAgeMs how long the cookie is valid, in milliseconds; 0 removes it.
 */
export function cookieHeader(
  request: Request,
  name: string,
  value: string,
  maxAgeMs: number,
  sameSite: "Strict" | "Lax" = "Strict",
): string {
  const secure = isLocal(new URL(request.url)) ? "" : "Secure; ";
  const maxAgeS = Math.floor(maxAgeMs / SECOND_MS);
  const attributes = `Path=/; Max-Age=${maxAgeS}; HttpOnly; ${secure}SameSite=${sameSite}`;
  return `${fullName(request, name)}=${value}; ${attributes}`;
}

/** Returns the value of a cookie; null when the browser has sent no cookie of this name. */
export function cookieOf(request: Request, name: string): string | null {
  const start = `${fullName(request, name)}=`;
  const pairs = (request.headers.get("Cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(start))?.slice(start.length) ?? null;
}

function fullName({ url: text }: Request, name: string): string {
  const url = new URL(text);
  return isLocal(url) ? `${name}-${url.port || "80"}` : `__Host-${name}`;
}

function isLocal(url: URL): boolean {
  return url.protocol === "http:" && isLoopback(url);
}
