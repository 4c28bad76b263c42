import type { Outcome } from "../../src/core/record/outcome.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import type { Usage } from "../../src/core/record/upstream.ts";
import type { Change } from "./change.ts";
import type { SimulatedObject } from "./simulated-object.ts";

/** An end from an entitled source. */
export interface EndResult {
  readonly status: "completed" | "failed";
  /** Urls of the output or code of the error, as JSON text. */
  readonly content: string;
  /** What the upstream says that the job has consumed; null when it says nothing. */
  readonly usage: Usage | null;
}

/** One POST of a callback. */
export interface Post {
  readonly number: number;
  readonly series: number;
  /** Outcome that the sender received; null when there was none. */
  readonly outcome: Outcome | null;
}

/** Effect of all commits so far, except those lost with their instance. */
export interface Written {
  /** Readers may see the task: it is charged or has no price. */
  readonly isVisible: boolean;
  readonly end: TerminalTask | null;
  /** Instance that opened each attempt. */
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

/** History of one task, from its first commit to its erasure. */
export class TaskHistory {
  /** Reference in the ledger; null when nothing was charged there. */
  readonly chargeId: string | null;
  readonly amount: number | null;
  written: Written = NOTHING;
  readonly possibleEnds: EndResult[] = [];
  isCanceled = false;
  /** A success was proven after the task had failed at its deadline. */
  isLateProven = false;
  /** When the upstream was last asked; Unix milliseconds. */
  polledAt = 0;
  readonly posts: Post[] = [];
  /** Version of the task in the row that was sent last; 0 when none was. */
  triedVersion = 0;
  /** The operator has erased the task together with its pending notices. */
  isErased = false;
  /** Versions in notices that the operator took. */
  readonly noticedVersions = new Set<number>();

  constructor(chargeId: string | null, amount: number | null) {
    this.chargeId = chargeId;
    this.amount = amount;
  }

  recordOutcome(number: number, outcome: Outcome): void {
    const at = this.posts.findLastIndex((post) => post.number === number);
    const post = this.posts[at];
    if (post !== undefined) this.posts[at] = { ...post, outcome };
  }

  outcomeOf(number: number): Outcome | null {
    return this.posts.findLast((post) => post.number === number)?.outcome ?? null;
  }
}

/** A broken promise. */
export interface Violation {
  readonly promise: string;
  readonly detail: string;
}

/** State that survives a crash. */
export interface Durable {
  readonly history: TaskHistory | null;
  readonly written: Written | null;
  readonly past: number;
}
