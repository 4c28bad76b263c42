import type { NumberedCopy, PollAnswer, SubmitOutcome } from "../../src/core/events/event.ts";
import type { EndpointCopy } from "../../src/core/record/endpoint-copy.ts";
import type { CallbackEvent } from "../../src/core/record/callback-events.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import { isTerminal, type TaskRecord, type TerminalTask } from "../../src/core/record/task.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import type { Usage } from "../../src/core/record/upstream.ts";
import type { CancelReply } from "./cancel-rules.ts";
import { isUnopened } from "./callback-rules.ts";
import type { Change } from "./change.ts";
import type { SimulatedObject } from "./simulated-object.ts";

/** An end of the task that comes from a source which may end it. */
export interface EndResult {
  readonly status: "completed" | "failed";
  /** URLs of the output, or code of the error, as JSON text. */
  readonly content: string;
  /** Consumption that the upstream states for the job; null when it states none. */
  readonly usage: Usage | null;
}

/** One POST of a callback to the receiver. */
export interface Post {
  readonly number: number;
  /** Start of the attempt, in Unix milliseconds. */
  readonly startedAt: number;
  readonly series: number;
  /** End of the attempt as its sender knows it; null when there was none. */
  readonly end: PostEnd | null;
}

interface PostEnd {
  readonly outcome: Outcome;
  /** Time of the end, in Unix milliseconds. */
  readonly at: number;
}

/** Effect of all commits so far, except those that were lost with their instance. */
export interface Written {
  /** States that readers may see the task: it is charged or has no price. */
  readonly isVisible: boolean;
  readonly end: TerminalTask | null;
  /** States that the task was withdrawn, because its call was refused or not sent. */
  readonly isWithdrawn: boolean;
  /** Instances that opened each attempt, by the number of the attempt. */
  readonly openers: ReadonlyMap<number, SimulatedObject>;
  /** Versions at which a series failed while the operator wanted notices about that. */
  readonly failures: ReadonlySet<number>;
  /** Length of the longest schedule that was configured. */
  readonly mostAttempts: number;
}

const NOTHING: Written = {
  isVisible: false,
  isWithdrawn: false,
  end: null,
  openers: new Map(),
  failures: new Set(),
  mostAttempts: 0,
};

export function writtenBy(known: Written, { before, after, setting, instance }: Change): Written {
  const mostAttempts = Math.max(known.mostAttempts, setting.scheduleMs.length);
  const seen = { ...known, ...fateOf(known, after), mostAttempts };
  if (!isTerminal(after)) return seen;
  const { callback, version } = after;
  const state = callback?.state;
  const isOpened = state?.kind === "in_flight" && !known.openers.has(state.number);
  const isFailed = state?.kind === "failed" && !hasFailed(before);
  const isNews = isFailed && setting.isOperatorNotified;
  return {
    ...seen,
    end: known.end ?? after,
    openers: isOpened
      ? new Map([...known.openers, [state.number, instance]])
      : withoutUnsent(known.openers, before, after),
    failures: isNews ? new Set([...known.failures, version]) : known.failures,
  };
}

/** Returns the openers without that of an attempt which rests instead of being sent, and whose number is used again. */
function withoutUnsent(
  openers: Written["openers"],
  before: TaskRecord | null,
  { callback }: TerminalTask,
): Written["openers"] {
  const from = before !== null && isTerminal(before) ? before.callback : null;
  if (callback === null || !isUnopened(from, callback)) return openers;
  return new Map([...openers].filter(([number]) => number <= callback.lastNumber));
}

function fateOf(known: Written, after: TaskRecord): Pick<Written, "isVisible" | "isWithdrawn"> {
  return {
    isVisible: known.isVisible || after.status !== "charging",
    isWithdrawn: known.isWithdrawn || isReturned(after),
  };
}

/** Tells whether the price of a task is being returned because its call was refused or not sent. */
export function isReturned(record: TaskRecord): boolean {
  return record.status === "charging" && record.credits.state.kind === "refunding";
}

function hasFailed(record: TaskRecord | null): boolean {
  return record !== null && isTerminal(record) && record.callback?.state.kind === "failed";
}

/** What the creator of a task has stated about its callback. */
export interface StatedCallback {
  readonly url: string | null;
  readonly scheduleMs: readonly number[] | null;
  readonly events: readonly CallbackEvent[] | null;
  /** Null when the receiver is a URL alone, and when there is none. */
  readonly endpoint: EndpointCopy | null;
}

/** What is stated about a callback where there is none. */
export const NO_CALLBACK: StatedCallback = {
  url: null,
  scheduleMs: null,
  events: null,
  endpoint: null,
};

/** Tells whether the receiver of a callback wants to be told of an end of the task. */
export function isWanted({ events }: StatedCallback, status: EndResult["status"]): boolean {
  return events === null || events.includes(status);
}

/** History of one task, from its first commit to its erasure. */
export class TaskHistory {
  /** Reference of the charge in the ledger; null when nothing was charged there. */
  readonly chargeId: string | null;
  readonly amount: number | null;
  /** Id of the submission; null for a task whose job the relay has not submitted. */
  readonly submissionId: string | null;
  /** States that the caller of the submission does not wait for the upstream's answer. */
  readonly isCall: boolean;
  /** Callback that the task was created with. */
  readonly stated: StatedCallback;
  /** Percentages that the upstream has stated of a running job. */
  readonly percentages = new Set<number>();
  /** Number of calls that were sent to submit the job. */
  calls = 0;
  /** States that the object of the call has asked to begin it. */
  isStartAsked = false;
  /** Outcomes of the submission that were brought to the object, oldest first. */
  readonly outcomes: SubmitOutcome[] = [];
  /** Ids of jobs that an order has attached. */
  readonly orderedJobs = new Set<string>();
  /** States that something else than the answer to the submission has shown that its job runs. */
  isJobShown = false;
  /** Answer to the last poll of a job that only a hook has named; null for none. */
  keptAnswer: PollAnswer | null = null;
  written: Written = NOTHING;
  readonly possibleEnds: EndResult[] = [];
  /** States that an order has failed the task at once. */
  isCanceled = false;
  /** States that an order has come for which the upstream is asked. */
  isAskOrdered = false;
  /** Latest answer to a call that cancels a job; null for none, and when the instance that got it has died. */
  cancelReply: CancelReply | null = null;
  /** States that a success was proven after the task had failed at its deadline. */
  isLateProven = false;
  /** Time at which the upstream was last polled, in Unix milliseconds. */
  polledAt = 0;
  readonly posts: Post[] = [];
  /** Version of the task in the row that was sent to the index last; 0 when none was sent. */
  triedVersion = 0;
  /** Rows that were sent to the index. */
  readonly rows = new Set<IndexRow>();
  /** Times of the latest alarm and of the one before it, in Unix milliseconds; 0 for none. */
  alarmedAt = 0;
  alarmedBeforeAt = 0;
  /** States that the operator, or an alarm a day late or later, has erased the task together with its pending notices. */
  isErased = false;
  /** States that an order to write the row again has come. */
  isRowOrdered = false;
  /** Ends of copies of outputs that were reported. */
  readonly copies: NumberedCopy[] = [];
  /** States that an order to copy the outputs was answered as taken. */
  isCopyOrderTaken = false;
  /** Numbers of the outputs that were ordered to be deleted. */
  readonly deletedOutputs = new Set<number>();
  /** Numbers of the deleted outputs that an order which was answered as taken has named. */
  readonly confirmedDeletions = new Set<number>();
  /** Versions in the notices that the operator has received. */
  readonly noticedVersions = new Set<number>();

  constructor({ credits, submission }: TaskRecord, stated: StatedCallback) {
    this.chargeId = credits?.chargeId ?? null;
    this.amount = credits?.amount ?? null;
    this.submissionId = submission?.id ?? null;
    this.isCall = submission?.isCall === true;
    this.stated = stated;
  }

  /**
   * Callback that the task was created with, as far as attempts of it can be made: none when its receiver does not want to
   * be told of the end. A redelivery then begins another.
   */
  get callback(): StatedCallback {
    const { end } = this.written;
    return end === null || isWanted(this.stated, end.status) ? this.stated : NO_CALLBACK;
  }

  recordAlarm(now: number): void {
    this.alarmedBeforeAt = this.alarmedAt;
    this.alarmedAt = now;
  }

  recordOutcome(
    { number, startedAt }: Pick<Post, "number" | "startedAt">,
    outcome: Outcome,
    at: number,
  ): void {
    const index = this.posts.findLastIndex(
      (post) => post.number === number && post.startedAt === startedAt,
    );
    const post = this.posts[index];
    if (post !== undefined) this.posts[index] = { ...post, end: { outcome, at } };
  }

  endOf(number: number): PostEnd | null {
    return this.posts.findLast((post) => post.number === number)?.end ?? null;
  }
}

/** A promise that was broken, and where. */
export interface Violation {
  readonly promise: string;
  readonly detail: string;
}

/** State that survives a crash of the object. */
export interface Durable {
  readonly history: TaskHistory | null;
  readonly written: Written | null;
  readonly past: number;
}
