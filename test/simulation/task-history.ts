import type { Outcome } from "../../src/core/record/outcome.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import type { Change } from "./change.ts";
import type { SimulatedObject } from "./simulated-object.ts";

/** How a task may end, as somebody entitled has said it. */
export interface Fact {
  readonly status: "completed" | "failed";
  /** Urls of the output or code of the error, as JSON text. */
  readonly said: string;
}

/** One POST of a callback. */
export interface Post {
  readonly number: number;
  readonly series: number;
  /** What its sender heard; null: nothing yet, or never. */
  readonly heard: Outcome | null;
}

/** What commits have made of a task; one that was lost with its instance has never been. */
export interface Written {
  /** Readers may see it: its price is known to be charged, or there is none. */
  readonly isVisible: boolean;
  readonly end: TerminalTask | null;
  /** Who opened which attempt. */
  readonly openers: ReadonlyMap<number, SimulatedObject>;
  /** Versions at which a series failed while the operator wanted to know of it. */
  readonly failures: ReadonlySet<number>;
  /** The longest schedule that was in force. */
  readonly mostAttempts: number;
}

const NOTHING: Written = {
  isVisible: false,
  end: null,
  openers: new Map(),
  failures: new Set(),
  mostAttempts: 0,
};

export function writtenBy(known: Written, { before, after, setting, instance }: Change): Written {
  const isVisible = known.isVisible || after.status !== "charging";
  const mostAttempts = Math.max(known.mostAttempts, setting.scheduleMs.length);
  const seen = { ...known, isVisible, mostAttempts };
  if (!isTerminal(after)) return seen;
  const { callback, version } = after;
  const state = callback?.state;
  const isOpened = state?.kind === "in_flight" && !known.openers.has(state.number);
  const isFailed = state?.kind === "failed" && !hasFailed(before);
  const isNews = isFailed && setting.isOperatorNotified;
  return {
    ...seen,
    end: known.end ?? after,
    openers: isOpened ? new Map([...known.openers, [state.number, instance]]) : known.openers,
    failures: isNews ? new Set([...known.failures, version]) : known.failures,
  };
}

function hasFailed(record: TaskRecord | null): boolean {
  return record !== null && isTerminal(record) && record.callback?.state.kind === "failed";
}

/** What has happened in one life of a task id, from its first commit to its erasure. */
export class TaskHistory {
  /** The ledger's reference; null: nothing was charged there. */
  readonly chargeId: string | null;
  readonly amount: number | null;
  written: Written = NOTHING;
  readonly facts: Fact[] = [];
  isCanceled = false;
  /** When the upstream was last asked; Unix milliseconds. */
  polledAt = 0;
  readonly posts: Post[] = [];
  /** The operator has erased it, with all that was still to be told of it. */
  isErased = false;
  /** Versions that the operator was told of. */
  readonly told = new Set<number>();

  constructor(chargeId: string | null, amount: number | null) {
    this.chargeId = chargeId;
    this.amount = amount;
  }

  heard(number: number, heard: Outcome): void {
    const at = this.posts.findLastIndex((post) => post.number === number);
    const post = this.posts[at];
    if (post !== undefined) this.posts[at] = { ...post, heard };
  }

  outcomeOf(number: number): Outcome | null {
    return this.posts.findLast((post) => post.number === number)?.heard ?? null;
  }
}

/** A broken promise. */
export interface Violation {
  readonly promise: string;
  readonly detail: string;
}

/** What survives the instance that wrote it. */
export interface Durable {
  readonly history: TaskHistory | null;
  readonly written: Written | null;
  readonly past: number;
}
