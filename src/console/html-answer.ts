import type { HtmlEscapedString } from "hono/utils/html";

/**
 * Content-Security-Policy of every page. It allows only scripts, styles and connections of the relay itself, and no
 * inline scripts or styles, because pages show texts that receivers, upstreams and clients have written.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** Returns the answer with a page, or with the part of a page that a refresh asked for. */
export async function html(
  page: HtmlEscapedString | Promise<HtmlEscapedString>,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const text = `<!doctype html>${(await page).toString()}`;
  return new Response(text, {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      ...headers,
    },
  });
}

/** Returns the answer that sends the browser to another page, e.g. to the page that shows what a form has changed. */
export function seeOther(path: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 303, headers: { Location: path, ...headers } });
}
