import type { Submission } from "./submission.ts";
import type { UpstreamNews } from "./upstream.ts";

/**
 * Largest number of links that the relay remembers from the call of a submission, to recognise them when the upstream
 * repeats them in the result.
 */
export const MAX_INPUT_LINKS = 64;

/** The two multipliers with which `linkDigest` computes its two 32-bit hashes of a link. */
const PRIMES = [0x9e3779b1, 0x85ebca77] as const;
const STARTS = [0x811c9dc5, 0x27d4eb2f] as const;

/**
 * Returns a short digest of a link (64 bits in at most 14 characters), by which a link in the call of a submission is
 * recognised when the upstream repeats it among the outputs. The digest is not cryptographic.
 */
export function linkDigest(link: string): string {
  let [first, second]: [number, number] = [STARTS[0], STARTS[1]];
  for (let at = 0; at < link.length; at++) {
    const unit = link.charCodeAt(at);
    first = Math.imul(first ^ unit, PRIMES[0]);
    first ^= first >>> 15;
    second = Math.imul(second ^ unit, PRIMES[1]);
    second ^= second >>> 13;
  }
  return `${(first >>> 0).toString(36)}${(second >>> 0).toString(36).padStart(7, "0")}`;
}

/**
 * Returns an object with the member `inputLinks`: the digests of the links that the job of a submission got as input.
 * The object is empty when none are known.
 */
export function inputOf(submission: Submission | null): Pick<Submission, "inputLinks"> {
  return submission?.inputLinks === undefined ? {} : { inputLinks: submission.inputLinks };
}

/** Tells whether the job got this link as input in the call that the relay has sent. */
export function isInputLink(
  link: string,
  { inputLinks = [] }: Pick<Submission, "inputLinks">,
): boolean {
  return inputLinks.length > 0 && inputLinks.includes(linkDigest(link));
}

/**
 * Removes from a report about a job the links that the job got as input, because some upstreams repeat these among the
 * outputs. A success that has neither another link nor a file becomes a success without output.
 */
export function withoutInputLinks<News extends UpstreamNews>(
  news: News,
  submission: Pick<Submission, "inputLinks"> | null,
): News | Extract<UpstreamNews, { readonly status: "no_output" }> {
  if (submission?.inputLinks === undefined || news.status !== "completed") return news;
  const urls = news.urls.filter((link) => !isInputLink(link, submission));
  if (urls.length === news.urls.length) return news;
  if (urls.length > 0 || news.files !== undefined) return { ...news, urls };
  return { status: "no_output", ...(news.usage !== undefined && { usage: news.usage }) };
}
