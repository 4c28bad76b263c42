import { isHttpUrl } from "../../core/url.ts";

/**
 * Two patterns. A path that matches both is the path of a file that a gateway serves only with the gateway's API
 * key.
 */
const CONTENT_PATH = [/\/v1\/(?:videos|video\/generations|tasks)\//, /\/content\/?$/];
/** Pattern of the names of query parameters that make a link work without an API key, e.g. a signature. */
const ACCESS = /access|token|signature|^sig$/i;

/**
 * Returns those values of an answer that are links which a client can open: http(s) URLs, and paths on the gateway,
 * made absolute. A link to a file that the gateway serves only with its API key is left out.
 * @param baseUrl base URL of the gateway; null leaves paths out.
 */
export function openLinks(values: readonly unknown[], baseUrl: string | null): readonly string[] {
  return values.flatMap((value) => {
    const link = typeof value === "string" ? absolute(value, baseUrl) : null;
    const url = link === null ? null : URL.parse(link);
    return link === null || (url !== null && needsKey(url)) ? [] : link;
  });
}

/**
 * Returns those values of an answer that are links on the gateway itself to files which it serves only with its API key.
 * @param baseUrl base URL of the gateway; null when it is not known, which gives none.
 */
export function keyedLinks(values: readonly unknown[], baseUrl: string | null): readonly string[] {
  const own = URL.parse(baseUrl ?? "")?.origin;
  return values.flatMap((value) => {
    const link = typeof value === "string" ? absolute(value, baseUrl) : null;
    const url = URL.parse(link ?? "");
    return link !== null && url !== null && url.origin === own && needsKey(url) ? link : [];
  });
}

/** Returns an http(s) URL unchanged, and makes a path absolute. Null for any other text. */
function absolute(text: string, baseUrl: string | null): string | null {
  if (isHttpUrl(text)) return text;
  const origin = /^\/(?!\/)/.test(text) ? URL.parse(baseUrl ?? "")?.origin : undefined;
  return origin === undefined ? null : (URL.parse(`${origin}${text}`)?.href ?? null);
}

/** Tells whether a link is to a file that a gateway serves only with the gateway's API key. */
export function needsKey({ pathname, searchParams }: URL): boolean {
  if (!CONTENT_PATH.every((part) => part.test(pathname))) return false;
  return ![...searchParams.keys()].some((name) => ACCESS.test(name));
}
