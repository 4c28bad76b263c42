/**
 * Answers a CORS preflight request to a route that pages of all sites may call.
 * @param allowedHeaders headers that their requests may have, separated by commas.
 */
export function preflight(allowedHeaders: string): Response {
  const headers = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, HEAD",
    "Access-Control-Allow-Headers": allowedHeaders,
    // The longest time for which Chromium keeps it.
    "Access-Control-Max-Age": "7200",
  };
  return new Response(null, { status: 204, headers });
}
