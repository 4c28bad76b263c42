/**
 * Headers of every answer that restrict what browsers do with it, as the middleware `secureHeaders` of hono
 * sets them. With the referrer policy `no-referrer`, a browser would send the forms of the console without the
 * origin that they come from.
 */
export const SECURITY_HEADERS = Object.entries({
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Origin-Agent-Cluster": "?1",
  "Referrer-Policy": "same-origin",
  "Strict-Transport-Security": "max-age=15552000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-DNS-Prefetch-Control": "off",
  "X-Download-Options": "noopen",
  "X-Frame-Options": "DENY",
  "X-Permitted-Cross-Domain-Policies": "none",
  "X-XSS-Protection": "0",
});
