/**
 * Headers of every answer that restrict what browsers do with the answer. They are those that the middleware
 * `secureHeaders` of Hono sets, except `Referrer-Policy` and `Cross-Origin-Resource-Policy`, which are in
 * `DEFAULT_HEADERS`.
 */
export const SECURITY_HEADERS = Object.entries({
  "Cross-Origin-Opener-Policy": "same-origin",
  "Origin-Agent-Cluster": "?1",
  "Strict-Transport-Security": "max-age=15552000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-DNS-Prefetch-Control": "off",
  "X-Download-Options": "noopen",
  "X-Frame-Options": "DENY",
  "X-Permitted-Cross-Domain-Policies": "none",
  "X-XSS-Protection": "0",
});

/**
 * Headers that every answer gets unless the answer sets them itself. Browsers and proxies must not store an answer,
 * because two users may share a browser cache. Pages of other sites must not embed it; only outputs may be. The referrer policy is not `no-referrer`: with it, a browser would not
 * send the origin of the page with the forms of the console.
 */
export const DEFAULT_HEADERS = Object.entries({
  "Cache-Control": "no-store",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "same-origin",
});
