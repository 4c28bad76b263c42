import type { Task } from "../../harness/client.ts";
import type { Post } from "../../harness/receiver.ts";
import type { FinalTask } from "../final-task.ts";
import type { Entry, Ledger } from "../ledger.ts";
import type { Witnessed } from "../witnessed.ts";
import type { EndpointChange, SignerName, Span } from "./endpoint-history.ts";
import type { TaskPlan } from "./plan.ts";

/** A post at one of the hosts, with the secrets with which it verifies. */
export interface SignedPost extends Post {
  readonly signers: readonly SignerName[];
}

/** An order to send the callback of a task to an endpoint. It is refused when the endpoint is not there. */
export interface OrderedRedelivery extends Span {
  readonly name: string;
  readonly attempts: number;
  readonly isRefused: boolean;
}

/** A task as its client has seen it. */
export interface TaskHistory {
  readonly plan: TaskPlan;
  /** The registration. Null when it was never answered as it may be. */
  registered: (Span & { readonly isRefused: boolean }) | null;
  /** The report of the end. Null when there was none. */
  ended: Span | null;
  readonly orders: OrderedRedelivery[];
  readonly faults: string[];
}

/** What is known of a task in the end. */
export interface Evidence extends FinalTask<Task> {
  readonly history: TaskHistory;
  readonly posts: readonly SignedPost[];
  readonly entries: readonly Entry[];
}

/** A pause of a host, from the answer to its order to its end or to the order to end it, in Unix milliseconds. */
export interface HostPause {
  readonly host: string;
  readonly orderedAt: number;
  readonly endedAt: number;
}

/** Everything that a round has recorded, from which its faults are found. */
export interface Recording extends Witnessed {
  readonly evidence: readonly Evidence[];
  /** Changes of each endpoint, oldest first, by the key that `endpointKey` returns. */
  readonly changes: ReadonlyMap<string, readonly EndpointChange[]>;
  readonly pauses: readonly HostPause[];
  readonly ledgers: readonly Ledger[];
}

/** Returns the key of an endpoint in a recording. */
export function endpointKey(owner: string | null, name: string): string {
  return `${owner ?? "relay"}/${name}`;
}

/** Returns the host that a post was sent to. */
export function hostOf({ headers }: Post): string {
  return headers["host"] ?? "";
}

/** Returns the URL that a post was sent to. */
export function urlOf(post: Post): string {
  return `http://${hostOf(post)}${post.path}`;
}

/** Tells whether a post is one of progress. */
export function isProgress({ headers }: Post): boolean {
  return headers["x-event"] === "task.processing";
}
