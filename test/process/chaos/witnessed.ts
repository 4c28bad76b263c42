import type { Client } from "../harness/client.ts";
import type { Post, Receiver } from "../harness/receiver.ts";

/** A possible fault, and whether it is there. */
export type Finding = readonly [fault: string, isPresent: boolean];

/** The part of a recording that receiver and log have witnessed. */
export interface Witnessed {
  /** Posts with a valid signature and correct headers. */
  readonly genuine: ReadonlySet<Post>;
  /** Paths of posts that nobody has named. */
  readonly strangePaths: readonly string[];
  readonly log: string;
}

/** Pattern of log lines about failures that no crash explains. */
const TROUBLE = /^.*(?:alarm\.failed|loop\.failed|internal.error).*$/gim;

/** Lists the posts to paths that nobody has named, and the log lines about failures that no crash explains. */
export function strangeIn({ strangePaths, log }: Witnessed): readonly string[] {
  return [...strangePaths.map((path) => `a POST to ${path}`), ...(log.match(TROUBLE) ?? [])];
}

/** Returns the paths of posts that are none of the named ones. */
export function strangePathsOf(
  { posts }: Receiver,
  isNamed: (path: string) => boolean,
): readonly string[] {
  return [...new Set(posts.map(({ path }) => path))].filter((path) => !isNamed(path));
}

/** Returns the faults that are present. */
export function present(findings: readonly Finding[]): readonly string[] {
  return findings.flatMap(([fault, isPresent]) => (isPresent ? [fault] : []));
}

/** Returns a function that tells whether a post has a valid signature of the account. */
export async function signatureCheckOf(
  client: Client,
  accountId: string,
): Promise<(post: Post) => boolean> {
  const verify = await client.verifier(`/v1/accounts/${accountId}`);
  return (post) => {
    try {
      verify(post);
      return true;
    } catch {
      return false;
    }
  };
}

/** Sorts out the posts with a valid signature, while they are fresh: a signature is valid for five minutes. */
export class GenuinePosts {
  readonly all = new Set<Post>();
  readonly #receiver: Receiver;
  readonly #isGenuine: (post: Post) => boolean;
  #checked = 0;

  constructor(receiver: Receiver, isGenuine: (post: Post) => boolean) {
    this.#receiver = receiver;
    this.#isGenuine = isGenuine;
  }

  /** Checks the posts that have come since the last call. */
  check(): void {
    const { posts } = this.#receiver;
    for (const post of posts.slice(this.#checked)) if (this.#isGenuine(post)) this.all.add(post);
    this.#checked = posts.length;
  }
}
