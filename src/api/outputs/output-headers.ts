import { extensionOfType, isShownInline } from "../../core/output-metadata/media-type.ts";
import { FOR_ANY_ORIGIN } from "../http/cross-origin.ts";
import { DOCUMENT_HEADERS } from "../http/security-headers.ts";

/**
 * Content-Security-Policy of every output. A stranger has made its bytes, and the console of the relay may have the same
 * origin. `sandbox` without words gives an opened output an origin of its own and runs no scripts there; media and images
 * are what browsers build the page of a directly opened output with, and its style is inline.
 */
const POLICY =
  "default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'; sandbox";

/**
 * Headers of every answer to a link of an output. They keep browsers from running the output, and let pages of all
 * sites show it.
 */
export const OUTPUT_HEADERS = {
  ...DOCUMENT_HEADERS,
  ...FOR_ANY_ORIGIN,
  "Access-Control-Expose-Headers": "Accept-Ranges, Content-Length, Content-Range, ETag",
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Referrer-Policy": "no-referrer",
} as const;

/** An output, as far as the headers that describe its content depend on it. */
interface Content {
  readonly taskId: string;
  readonly number: number;
  /** Media type by the first bytes (core/output-metadata/media-type.ts). */
  readonly mediaType: string;
  /** Extension of the link. */
  readonly extension: string;
}

/**
 * Returns the headers that say what an output is. Browsers show only media in place, and save everything else under a name
 * that the relay makes, with the extension of the type.
 */
export function contentHeaders({ taskId, number, mediaType, extension }: Content) {
  const place = isShownInline(mediaType) ? "inline" : "attachment";
  const name = `${taskId}-${number}.${extensionOfType(mediaType, extension)}`;
  return {
    ...OUTPUT_HEADERS,
    "Content-Type": mediaType,
    "Content-Disposition": `${place}; filename="${name}"`,
  };
}
