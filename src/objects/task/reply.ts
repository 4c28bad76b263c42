import type {
  ChargeRefusal,
  ConflictCode,
  Decision,
  Rejection,
} from "../../core/events/decision.ts";
import type { QueuePosition } from "../../core/record/queue-stay.ts";
import { isSettled, isTerminal, type TaskRecord } from "../../core/record/task.ts";
import type { Policy } from "../../core/policy.ts";
import { type AwaitedNews, hasUnknownEnd, unknownWaitOf } from "../../core/record/awaited-news.ts";
import type { CancelState } from "../../core/record/cancellation.ts";
import type { Submission } from "../../core/record/submission.ts";
import type { TaskReader } from "../../core/views/reader.ts";
import type { TaskFacts } from "../../core/views/task-facts.ts";
import { taskView } from "../../core/views/task-view.ts";

/**
 * The answer about a task for one reader. It contains only what this reader may see, and the version for the ETag.
 */
export interface TaskReply {
  readonly version: number;
  readonly isTerminal: boolean;
  /**
   * True when the task is settled: it has ended, and neither a refund nor an attempt of its callback has still to be
   * made.
   */
  readonly isSettled: boolean;
  /** Time of the task's creation in Unix milliseconds. */
  readonly createdAt: number;
  /**
   * Time at which the task's record was created, in Unix milliseconds. It is contained in status links, but is not
   * shown to readers.
   */
  readonly recordedAt: number;
  /**
   * Progress of the job of an open task in percent, which is part of the ETag. Absent when the progress is not
   * known.
   */
  readonly progress?: number;
  /**
   * Position of the submission in the queue of its connection, from 1. Absent when it does not wait, and when the
   * position is not known.
   */
  readonly position?: number;
  /**
   * Awaited news (a hook or an answer about the job), and the end of the wait, while the outcome of the submission is
   * unknown (`unknownWaitOf`). Absent at other times.
   */
  readonly unknownWait?: { readonly news: AwaitedNews; readonly until: number };
  /** State of the latest order to cancel the task. Absent when there was no order. */
  readonly cancellation?: CancelState["kind"];
  /**
   * Name of the connection to the provider, from which the page of a status link knows how long links to outputs work.
   * It is not shown to readers. Absent for other readers, and when the task names no connection.
   */
  readonly connection?: string;
  /** JSON text of the task, with those parts that this reader may see. */
  readonly json: string;
}

/**
 * Returns a text that changes whenever something changes that readers see of the task, e.g. `1700000000123.40`. It
 * consists of the task's version and, while the task is open, of its progress in percent, if that is known.
 */
export function stateOf({ version, progress }: Pick<TaskReply, "version" | "progress">): string {
  return progress === undefined ? `${version}` : `${version}.${progress}`;
}

/** A task as one reader may see it, together with facts that `GET /v1/tasks/{id}` does not show. */
export interface InspectedTask {
  readonly task: TaskReply;
  readonly facts: TaskFacts;
}

/** The effect of an event (e.g. a registration or a redelivery) that a request has sent to a task object. */
export type Applied =
  | {
      readonly kind: "recorded" | "repeated";
      readonly task: TaskReply;
      /** Submission of the task. Absent when the relay has not submitted the task's job. */
      readonly submission?: SubmissionReply;
    }
  /** Effect of a request that has erased the task. `createdAt` and `version` identify the index row of the task. */
  | { readonly kind: "erased"; readonly createdAt: number; readonly version: number }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** The part of the stored submission that decides how a Worker answers the caller of the submission. */
export interface SubmissionReply extends Pick<Submission, "id" | "answer"> {
  readonly state: Submission["state"]["kind"];
  /**
   * True when the task has failed because it stayed unknown whether the upstream has started a job. This remains true
   * when the job becomes known later. Absent otherwise.
   */
  readonly hasUnknownEnd?: true;
}

/**
 * Reason why the task object refused an event. If the present state of the task is the reason, the refusal contains
 * the task as the caller may see it.
 */
export type Refusal =
  | Exclude<Rejection, { readonly task: TaskRecord }>
  | ChargeRefusal
  | { readonly code: ConflictCode; readonly task: TaskReply };

export function appliedOf(decision: Decision, reader: TaskReader, policy: Policy): Applied {
  switch (decision.kind) {
    case "changed":
      return taken("recorded", decision.record, reader, policy);
    case "unchanged":
      if (decision.record === null) return refused({ code: "unknown_task" });
      return taken("repeated", decision.record, reader, policy);
    case "erase": {
      const { because } = decision;
      if (because === "not_submitted") return refused({ code: "unknown_task" });
      if (because !== "settled") return refused(because);
      const { createdAt, version } = decision.record;
      return { kind: "erased", createdAt, version };
    }
    case "reject": {
      const { rejection } = decision;
      if (!("task" in rejection)) return refused(rejection);
      return refused({ code: rejection.code, task: replyOf(rejection.task, reader, policy) });
    }
  }
}

/** Returns the effect of an event that was accepted. @param kind `recorded` when the event has changed the task. */
export function taken(
  kind: "recorded" | "repeated",
  record: TaskRecord,
  reader: TaskReader,
  policy: Policy,
): Applied {
  const { submission } = record;
  const task = replyOf(record, reader, policy);
  if (submission === null) return { kind, task };
  const { id, answer, state } = submission;
  const end = hasUnknownEnd(record) ? ({ hasUnknownEnd: true } as const) : {};
  return { kind, task, submission: { id, answer, state: state.kind, ...end } };
}

export function refused(refusal: Refusal): Applied {
  return { kind: "refused", refusal };
}

export function replyOf(
  record: TaskRecord,
  reader: TaskReader,
  policy: Policy,
  progress: number | null = null,
  queued: QueuePosition | null = null,
): TaskReply {
  const unknownWait = unknownWaitOf(record);
  return {
    version: record.version,
    isTerminal: isTerminal(record),
    isSettled: isTerminal(record) && isSettled(record),
    createdAt: record.createdAt,
    recordedAt: record.recordedAt,
    ...(progress !== null && { progress }),
    ...(unknownWait !== null && { unknownWait }),
    ...(record.cancellation !== null && { cancellation: record.cancellation.state.kind }),
    ...(queued !== null && { position: queued.position }),
    ...(reader === "link" &&
      record.upstream !== null && { connection: record.upstream.connection }),
    json: taskView(record, reader, progress, policy, queued),
  };
}
