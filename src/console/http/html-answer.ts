import type { HtmlEscapedString } from "hono/utils/html";
import { contentToClient } from "../../api/http/client-stream.ts";

/**
 * Returns the Content-Security-Policy of a page. It allows scripts, styles and connections only of the relay itself,
 * and no inline ones, because pages show texts that receivers, upstreams and clients have written.
 * @param outputsOrigin additional origin whose pictures, videos and sounds the page may show; null for a page that
 * shows no outputs.
 */
function contentSecurityPolicy(outputsOrigin: string | null): string {
  const media = outputsOrigin === null ? [] : ["'self'", outputsOrigin];
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["img-src 'self' data:", ...media.slice(1)].join(" "),
    ...(media.length === 0 ? [] : [`media-src ${media.join(" ")}`]),
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** The Content-Security-Policy of a page that shows no outputs. */
export const CONTENT_SECURITY_POLICY = contentSecurityPolicy(null);

/** Returns the response with a page or, for a refresh, with the requested part of the page. */
export async function html(
  page: HtmlEscapedString | Promise<HtmlEscapedString>,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const text = `<!doctype html>${(await page).toString()}`;
  return new Response(contentToClient(text), {
    status,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": CONTENT_SECURITY_POLICY,
      ...headers,
    },
  });
}

/**
 * Returns the response header that lets a page show outputs of tasks; empty when `origin` is null.
 * @param origin origin of the links to the outputs; null when the page shows no outputs.
 */
export function showingOutputs(origin: string | null): Readonly<Record<string, string>> {
  return origin === null ? {} : { "Content-Security-Policy": contentSecurityPolicy(origin) };
}

/** Returns a redirect (303) to another page, e.g. to the one that shows what a form has changed. */
export function seeOther(path: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 303, headers: { Location: path, ...headers } });
}
