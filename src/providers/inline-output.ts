import { type Observation, phaseIn } from "./observation.ts";
import { unlinkedOutputIn } from "./unlinked-output.ts";
import { withheldIn } from "./withheld-output.ts";

/** An answer about a job, or a hook, which may itself contain the output of the job. */
export interface GivenAnswer {
  readonly body: unknown;
  /** URL at which a `GET` brings the same answer again. Null when there is no such URL. */
  readonly url: string | null;
}

/**
 * Returns a report on a job to which the output inside the provider's answers is added, if the report states success
 * without a link. If the answers say that a filter has withheld the output, the returned report states that the job has
 * failed.
 * @param answers the answers from which the report was read, in their order.
 * @param baseUrl base URL of the connection.
 */
export function withOutputOf(
  observation: Observation,
  answers: readonly GivenAnswer[],
  baseUrl: string,
): Observation {
  const { urls, keyedUrls = [] } = observation;
  if (urls.length > 0 || keyedUrls.length > 0) return withoutPlaces(observation, baseUrl);
  if (phaseIn(observation) !== "completed") return observation;
  for (const { body, url } of answers.toReversed()) {
    const { files, isText } = unlinkedOutputIn(body);
    if (files.length > 0) {
      return { ...observation, inlineOutputs: files.map((pointer) => linkTo(pointer, url)) };
    }
    const error = withheldIn(body);
    if (error !== null) return { ...observation, state: "failed", phase: "failed", error };
    if (isText) return { ...observation, isText };
  }
  return observation;
}

/**
 * Returns the link to an output that lies inside an answer. The link is the URL of the answer, with a JSON Pointer to
 * the output as its fragment (RFC 6901 §6). Null when the pointer or the URL is null, or when no such fragment can be
 * written.
 */
function linkTo(pointer: string | null, url: string | null): string | null {
  if (pointer === null || url === null || !pointer.isWellFormed()) return null;
  return `${url}#${pointer.split("/").map(encodeURIComponent).join("/")}`;
}

/**
 * Returns the JSON Pointer in the fragment of a link, if the link leads to an output inside an answer. Null for a link
 * that leads to the output itself.
 */
export function inlinePointer({ hash }: URL): string | null {
  if (!hash.startsWith("#/")) return null;
  try {
    return decodeURIComponent(hash.slice(1));
  } catch {
    return null;
  }
}

/**
 * Returns a report in which links to the upstream's own host have no JSON Pointer as a fragment. With such a fragment,
 * an upstream could make the relay fetch an answer with its key.
 */
export function withoutPlaces(observation: Observation, baseUrl: string): Observation {
  const own = URL.parse(baseUrl)?.origin;
  const plain = (links: readonly string[]) => [
    ...new Set(links.map((link) => withoutPlace(link, own))),
  ];
  const { urls, keyedUrls } = observation;
  return { ...observation, urls: plain(urls), ...(keyedUrls && { keyedUrls: plain(keyedUrls) }) };
}

function withoutPlace(link: string, own: string | undefined): string {
  const url = URL.parse(link);
  if (url === null || !url.hash.startsWith("#/") || url.origin !== own) return link;
  url.hash = "";
  return url.href;
}
