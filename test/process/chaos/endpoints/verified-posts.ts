import type { Post, Receiver } from "../../harness/receiver.ts";
import type { Signer } from "./changing.ts";
import type { Owner } from "./plan.ts";
import type { SignedPost } from "./recording.ts";

/** Posts with the secrets with which they verify. They are verified while they are fresh: for five minutes. */
export class VerifiedPosts {
  readonly all: SignedPost[] = [];
  readonly #checked = new Set<Post>();
  readonly #hosts: readonly Receiver[];
  readonly #owners: ReadonlyMap<string, Owner>;
  readonly #signers: ReadonlyMap<Owner, readonly Signer[]>;

  constructor(
    hosts: readonly Receiver[],
    owners: ReadonlyMap<string, Owner>,
    signers: ReadonlyMap<Owner, readonly Signer[]>,
  ) {
    this.#hosts = hosts;
    this.#owners = owners;
    this.#signers = signers;
  }

  /** Checks the posts that have ended since the last call. */
  check(): void {
    const posts = this.#hosts.flatMap((host) => host.posts);
    for (const post of posts) {
      if (this.#checked.has(post) || post.closedAt === null) continue;
      this.#checked.add(post);
      this.all.push({ ...post, signers: this.#signersOf(post) });
    }
  }

  #signersOf(post: Post): SignedPost["signers"] {
    const owner = this.#owners.get(taskOf(post));
    const known = owner === undefined ? [] : (this.#signers.get(owner) ?? []);
    const verifying = known.filter(({ webhook }) => verifies(webhook, post));
    return verifying.map(({ name }) => name);
  }
}

function verifies(webhook: Signer["webhook"], { body, headers }: Post): boolean {
  try {
    webhook.verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

/** Returns the id of the task that a post is about. */
export function taskOf({ headers }: Post): string {
  return headers["x-task-id"] ?? "";
}
