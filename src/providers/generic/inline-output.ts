import { pathFor } from "./call-template.ts";
import type { Declaration } from "./declaration.ts";

/**
 * Returns the link behind which the relay finds an output that stands in the answer to a poll itself: the URL of the poll,
 * with the place of the output as its fragment (RFC 6901 §6). Null where the answer cannot be asked for again by a GET.
 * @param jobId id of the job; null when it is not known. No poll can have an id with half of a character.
 */
export function inlineSource(
  pointer: string,
  jobId: string | null,
  baseUrl: string,
  { poll }: Pick<Declaration, "poll">,
): string | null {
  if (jobId === null || !jobId.isWellFormed() || poll.method === "POST") return null;
  const fragment = pointer.split("/").map(encodeURIComponent).join("/");
  return `${baseUrl}${pathFor(poll.path, jobId)}#${fragment}`;
}

/** Returns the place of an output that stands in the answer behind a link. Null for a link to the output itself. */
export function inlinePointer({ hash }: URL): string | null {
  if (!hash.startsWith("#/")) return null;
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return null;
  }
}
