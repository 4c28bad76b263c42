import {
  DEFAULT_HEADERS,
  DOCUMENT_HEADERS,
  SECURITY_HEADERS,
} from "../../src/api/http/security-headers.ts";
import { CONTENT_SECURITY_POLICY } from "../../src/console/http/html-answer.ts";

/**
 * Headers of all files. No file has a version in its name, so a browser asks at each use whether its copy is still the
 * current one (`ETag`).
 */
const COMMON = {
  ...Object.fromEntries([...SECURITY_HEADERS, ...DEFAULT_HEADERS]),
  "Cache-Control": "no-cache",
};
const ASSET = { ...COMMON, ...DOCUMENT_HEADERS };
const PAGE = { ...ASSET, "Content-Security-Policy": CONTENT_SECURITY_POLICY };
/** Headers of the operator's own pictures, so that a script in an SVG does not run where somebody opens it. */
const BRAND = {
  ...ASSET,
  "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
};

/** Headers of the files in `public` by path; a path that ends in `*` stands for all that begin like it. */
const RULES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "/docs": PAGE,
  "/docs/errors": PAGE,
  "/openapi.json": COMMON,
  "/assets/*": ASSET,
  "/brand/*": BRAND,
};

/** Returns the text of the file `_headers`, which Cloudflare, `wrangler dev` and `ops/files.js` read. */
export function headersFile(): string {
  return Object.entries(RULES)
    .map(([path, headers]) =>
      [path, ...Object.entries(headers).map(([name, text]) => `  ${name}: ${text}`)].join("\n"),
    )
    .join("\n\n");
}
