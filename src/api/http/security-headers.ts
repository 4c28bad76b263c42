/** Headers of every answer that restrict what browsers do with it. */
export const SECURITY_HEADERS = Object.entries({
  "Strict-Transport-Security": "max-age=15552000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
});

/**
 * Further headers of answers that browsers show as a page or save as a file: all answers of the console, outputs and
 * exports. JSON answers of the API do not have them, because these headers would restrict nothing there. Together with
 * `SECURITY_HEADERS`, `Referrer-Policy` and `Cross-Origin-Resource-Policy` they are the headers that Hono's middleware
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
 * Headers that every answer gets unless the answer sets them itself. Browsers and proxies must not store an answer,
 * because two users may share a browser cache. Pages of other sites must not embed it; only outputs may be. The
 * referrer policy is not `no-referrer`: with it, a browser would not send the origin of the page with the forms of the
 * console.
 */
export const DEFAULT_HEADERS = Object.entries({
  "Cache-Control": "no-store",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "same-origin",
});
