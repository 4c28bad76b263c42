import * as z from "zod";
import {
  isOpen,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../../../src/core/record/task.ts";
import type { CoolDown, CoolDowns } from "../../../src/objects/queue/cool-down.ts";
import type { Machine, Place } from "./machine.ts";
import { RECORD_KEY } from "./simulated-platform.ts";

/** A stored row of a queue. */
export interface StoredRow {
  readonly submissionId: string;
  readonly taskId: string;
  readonly account: string | null;
  readonly via: string;
  readonly attempt: number;
  readonly since: number;
  readonly isWaiting: boolean;
  /** True when the queue has granted a place to the submission while it waited, and its call is being told. */
  readonly isTold: boolean;
}

const Row = z.object({
  submission_id: z.string(),
  task_id: z.string(),
  account: z.string().nullable(),
  via: z.string(),
  attempt: z.number(),
  since: z.number(),
  state: z.string(),
});

const rows = new WeakMap<object, StoredRow>();

export function rowsOf(place: Place): readonly StoredRow[] {
  return place.storage.rows.map((stored) => {
    const known = rows.get(stored) ?? rowOf(stored);
    rows.set(stored, known);
    return known;
  });
}

function rowOf(stored: object): StoredRow {
  const { submission_id: submissionId, task_id: taskId, state, ...row } = Row.parse(stored);
  const kind = { isWaiting: state === "waiting", isTold: state === "granted" };
  return { submissionId, taskId, ...kind, ...row };
}

export function recordOf(machine: Machine, taskId: string): TaskRecord | null {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the object stores nothing else under this key
  return (machine.place("TASKS", taskId).storage.get(RECORD_KEY) ?? null) as TaskRecord | null;
}

/** Returns a cool-down of a queue; null when there is none. */
export function coolDownOf(place: Place, name: keyof CoolDowns): CoolDown | null {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the object stores nothing else under this key
  const known = (place.storage.get("cool_downs") ?? null) as CoolDowns | null;
  return known?.[name] ?? null;
}

/** Tells whether nobody gets a place of a queue now, or nobody of a pool, because of its cool-downs. */
export function coolDownsOf(place: Place, now: number): { all: boolean; ofPools: boolean } {
  const holds = (name: keyof CoolDowns) => (coolDownOf(place, name)?.until ?? 0) > now;
  return { all: holds("busy") || holds("rate"), ofPools: holds("out") };
}

/** Tells whether the job of a submission runs at a connection, or may run there. */
export function mayRun(
  record: TaskRecord | null,
  submissionId: string,
  connection: string,
): boolean {
  if (record === null || !isOpen(record) || record.submission?.id !== submissionId) return false;
  const { kind } = record.submission.state;
  return kind !== "queued" && kind !== "unsent" && record.upstream?.connection === connection;
}

/** Tells whether the call of a submission waits to be sent. */
export function isWaiting(record: TaskRecord | null, submissionId: string): boolean {
  if (record === null || record.submission?.id !== submissionId || isTerminal(record)) return false;
  return record.submission.state.kind === "queued";
}

/** Tells whether a task has ended with the failure of its job although the call could go to a further member. */
export function hasEndedTooSoon(task: TerminalTask): boolean {
  const { submission, failure, found, cancellation, finishedAt } = task;
  if (submission?.further === undefined || found === null || cancellation !== null) return false;
  if (failure?.retryable !== true || finishedAt >= (submission.stay?.startBy ?? 0)) return false;
  return failure.category === "provider" || failure.category === "timeout";
}
