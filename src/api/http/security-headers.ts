/** Headers of every response that restrict what browsers do with it. */
export const SECURITY_HEADERS = Object.entries({
  "Strict-Transport-Security": "max-age=15552000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
});

/**
 * Further headers of responses that browsers show as a page or save as a file: all responses of the console, outputs
 * and exports. JSON responses of the API do not have them, because there they would restrict nothing. These headers,
 * `SECURITY_HEADERS`, `Referrer-Policy` and `Cross-Origin-Resource-Policy` are all headers that Hono's middleware
 * `secureHeaders` sets.
 */
export const DOCUMENT_HEADERS = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Origin-Agent-Cluster": "?1",
  "X-DNS-Prefetch-Control": "off",
  "X-Download-Options": "noopen",
  "X-Permitted-Cross-Domain-Policies": "none",
  "X-XSS-Protection": "0",
} as const;

/**
 * Headers that every response gets unless it sets them itself. Browsers and proxies must not store a response, because
 * two users may share a browser cache. Pages of other sites must not embed it, unless it is an output. The referrer
 * policy is not `no-referrer`, because a browser would then leave out the page's origin when it sends a form of the
 * console.
 */
export const DEFAULT_HEADERS = Object.entries({
  "Cache-Control": "no-store",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "same-origin",
});
