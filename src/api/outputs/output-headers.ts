import { extensionOfType, isShownInline } from "../../core/output-metadata/media-type.ts";
import { FOR_ANY_ORIGIN } from "../http/cross-origin.ts";
import { DOCUMENT_HEADERS } from "../http/security-headers.ts";

/**
 * Content-Security-Policy of every response with an output. Outputs may contain anything, and may have the same origin
 * as the relay's console. `sandbox` therefore gives an opened output an origin of its own and runs no scripts. Media,
 * images and inline styles are allowed, because browsers use them to show a file that is opened directly.
 */
const POLICY =
  "default-src 'none'; media-src 'self'; img-src 'self'; style-src 'unsafe-inline'; sandbox";

/**
 * Headers of every response to a request with a link to an output. They keep browsers from running the output, and let
 * pages of all sites show it.
 */
export const OUTPUT_HEADERS = {
  ...DOCUMENT_HEADERS,
  ...FOR_ANY_ORIGIN,
  "Access-Control-Expose-Headers": "Accept-Ranges, Content-Length, Content-Range, ETag",
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Referrer-Policy": "no-referrer",
} as const;

/** Facts about an output from which the headers of its response are made. */
interface Content {
  readonly taskId: string;
  readonly number: number;
  /** Media type of the output, which is determined from its first bytes (core/output-metadata/media-type.ts). */
  readonly mediaType: string;
  /** Extension of the file name in the link to the output. */
  readonly extension: string;
}

/**
 * Returns the headers that describe the content of an output. Browsers show only media directly, and save any other file.
 * The name under which they save an output is made by the relay, e.g. `video-0edf0c76-1.mp4`: its kind, the beginning of
 * the task's id, its number, and the extension of its media type.
 */
export function contentHeaders({ taskId, number, mediaType, extension }: Content) {
  const place = isShownInline(mediaType) ? "inline" : "attachment";
  const [kind = ""] = /^(?:image|video|audio)(?=\/)/.exec(mediaType) ?? ["file"];
  const name = `${kind}-${taskId.slice(0, 8)}-${number}.${extensionOfType(mediaType, extension)}`;
  return {
    ...OUTPUT_HEADERS,
    "Content-Type": mediaType,
    "Content-Disposition": `${place}; filename="${name}"`,
  };
}
