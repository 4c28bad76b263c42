import idiomorph from "idiomorph/dist/idiomorph.min.js" with { type: "text" };
import stylesheet from "./client/console.css" with { type: "text" };
import script from "./client/console.js" with { type: "text" };
import lists from "./client/lists.js" with { type: "text" };
import refresh from "./client/refresh.js" with { type: "text" };

const CSS = "text/css; charset=utf-8";
const JAVASCRIPT = "text/javascript; charset=utf-8";

/** A file that pages load. */
interface Asset {
  /** Path that contains a hash of the text. Browsers may therefore keep the file for ever. */
  readonly path: string;
  readonly text: string;
  readonly type: string;
}

export const ASSETS = {
  stylesheet: asset("console", "css", stylesheet, CSS),
  script: asset("console", "js", script, JAVASCRIPT),
  lists: asset("lists", "js", lists, JAVASCRIPT),
  refresh: asset("refresh", "js", refresh, JAVASCRIPT),
  idiomorph: asset("idiomorph", "js", idiomorph, JAVASCRIPT),
} as const;

const VERSION = /\.[0-9a-z]+\.(?=\w+$)/;

/**
 * Returns the answer with the asset of this path; null when there is no such asset. During a deployment, a page of
 * one version may request an asset from the other version. The path then has another hash, and gets the asset of the
 * present version, which the browser must not keep.
 */
export function assetAnswer(path: string): Response | null {
  const name = path.replace(VERSION, ".");
  const found = Object.values(ASSETS).find((each) => each.path.replace(VERSION, ".") === name);
  if (found === undefined) return null;
  const cache = found.path === path ? "public, max-age=31536000, immutable" : "no-store";
  return new Response(found.text, {
    headers: { "Content-Type": found.type, "Cache-Control": cache },
  });
}

function asset(name: string, extension: string, text: string, type: string): Asset {
  return { path: `/assets/${name}.${hashOf(text)}.${extension}`, text, type };
}

/** Returns a short hash (FNV-1a, 32 bits) that changes with the text. It is no protection against forgery. */
function hashOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}
