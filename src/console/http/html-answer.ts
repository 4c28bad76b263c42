import type { HtmlEscapedString } from "hono/utils/html";
import { contentToClient } from "../../api/http/client-stream.ts";

/** Origins from which a page may load something besides the files of the relay. */
interface PageSources {
  /** Origins or schemes whose pictures, videos and sounds the page may show; empty for a page that shows no outputs. */
  readonly media: readonly string[];
  /** SHA-256 in base64 of the only inline style of the page. Absent when it has none. */
  readonly styleHash?: string;
}

/**
 * Returns the Content-Security-Policy of a page. It allows scripts, styles and connections only of the relay itself,
 * and no inline scripts, because pages show texts that receivers, upstreams and clients have written.
 */
function contentSecurityPolicy({ media, styleHash }: PageSources): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    ["style-src 'self'", ...(styleHash === undefined ? [] : [`'sha256-${styleHash}'`])].join(" "),
    ["img-src 'self' data:", ...media].join(" "),
    ...(media.length === 0 ? [] : [["media-src 'self'", ...media].join(" ")]),
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** The Content-Security-Policy of a page that shows no outputs. */
export const CONTENT_SECURITY_POLICY = contentSecurityPolicy({ media: [] });

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

/** Returns the response header that lets a page load more than the files of the relay. */
export function loading(sources: PageSources): Readonly<Record<string, string>> {
  return { "Content-Security-Policy": contentSecurityPolicy(sources) };
}

/**
 * Returns the response header that lets a page show outputs of tasks; empty when `origin` is null.
 * @param origin origin of the links to the outputs; null when the page shows no outputs.
 */
export function showingOutputs(origin: string | null): Readonly<Record<string, string>> {
  return origin === null ? {} : loading({ media: [origin] });
}

/** Returns a redirect (303) to another page, e.g. to the one that shows what a form has changed. */
export function seeOther(path: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(null, { status: 303, headers: { Location: path, ...headers } });
}
