import { dueAt } from "./record/callback.ts";
import { type IndexRow, rowOf } from "./views/index-row.ts";
import type { NoticeKind } from "./record/notice.ts";
import { publishAt } from "./record/publication.ts";
import { errorCodeOf } from "./record/callback-body.ts";
import { taskView } from "./views/task-view.ts";
import type { Policy } from "./policy.ts";
import {
  type Account,
  isOpen,
  isSettled,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "./record/task.ts";
import { pollableJob } from "./record/tracking.ts";
import type { Job } from "./record/upstream.ts";

/** What the work loop has to do next. */
export type Step =
  | { readonly kind: "charge"; readonly charge: Charge }
  | { readonly kind: "poll"; readonly poll: Poll }
  | { readonly kind: "deadline" }
  | { readonly kind: "refund"; readonly refund: Refund }
  | { readonly kind: "start_attempt" }
  | { readonly kind: "send"; readonly delivery: Delivery }
  | { readonly kind: "publish"; readonly row: IndexRow }
  | { readonly kind: "notify"; readonly notice: OperatorNotice }
  | { readonly kind: "expire" };

export interface Poll {
  readonly taskId: string;
  readonly connection: string;
  readonly job: Job;
  readonly plannedAt: number;
  /** When the task was created. */
  readonly createdAt: number;
}

/** What the operator is told about a task. */
export interface OperatorNotice {
  readonly taskId: string;
  readonly kind: NoticeKind;
  readonly version: number;
  /** JSON text of the task, as the operator reads it. */
  readonly task: string;
}

export interface Charge {
  readonly taskId: string;
  readonly accountId: string;
  readonly chargeId: string;
  readonly amount: number;
}

export interface Refund {
  readonly taskId: string;
  readonly accountId: string;
  /** Null: the operator's own billing refunds. */
  readonly chargeId: string | null;
  readonly amount: number;
  /** `error.code` of the failure. */
  readonly reason: string;
}

/** All that one attempt needs to be sent. */
export interface Delivery {
  readonly taskId: string;
  /** Whose secrets sign; null: those of the relay. */
  readonly account: Account | null;
  readonly status: TerminalTask["status"];
  readonly body: string;
  readonly url: string;
  readonly origin: string;
  readonly number: number;
  readonly startedAt: number;
  /** Name of the connection, for measurements. */
  readonly provider: string | null;
}

/** The time from which something is due, in Unix milliseconds, and the step, made when it is taken. */
interface Duty {
  readonly dueAt: number;
  readonly step: () => Step;
}

/** One kind of duty: what a record owes of it, or null. */
type DutyOf = (record: TaskRecord, policy: Policy) => Duty | null;

/** Longer than the operator may take to answer. */
const NOTICE_CLEARANCE_MS = 5_500;

/** In the order in which due steps are taken. Later kinds of work are further entries. */
const DUTIES: readonly DutyOf[] = [
  chargePrice,
  pollUpstream,
  passDeadline,
  refundPrice,
  deliver,
  publish,
  notify,
  expire,
];

/** The first step that is due at `now`; null: nothing to do. */
export function nextStep(record: TaskRecord, policy: Policy, now: number): Step | null {
  return (
    duties(record, policy)
      .find((duty) => duty.dueAt <= now)
      ?.step() ?? null
  );
}

/** When something is due next; every record has such a time, so no task is ever forgotten. */
export function wakeAt(record: TaskRecord, policy: Policy): number {
  return Math.min(...duties(record, policy).map((duty) => duty.dueAt));
}

function duties(record: TaskRecord, policy: Policy): readonly Duty[] {
  return DUTIES.flatMap((dutyOf) => dutyOf(record, policy) ?? []);
}

function chargePrice(record: TaskRecord): Duty | null {
  if (record.status !== "charging") return null;
  const { accountId, chargeId, amount, state } = record.credits;
  const charge = { taskId: record.id, accountId, chargeId, amount };
  return { dueAt: state.retryAt, step: () => ({ kind: "charge", charge }) };
}

function refundPrice(record: TaskRecord): Duty | null {
  if (!isTerminal(record) || record.credits?.state.kind !== "refunding") return null;
  const { id: taskId, body } = record;
  const { accountId, chargeId, amount, state } = record.credits;
  const refund = () => ({ taskId, accountId, chargeId, amount, reason: errorCodeOf(body) });
  return { dueAt: state.retryAt, step: () => ({ kind: "refund", refund: refund() }) };
}

/** Also at the deadline, before the task is given up; a provider's own limit goes before both. */
function pollUpstream(record: TaskRecord, policy: Policy): Duty | null {
  if (!isOpen(record) || record.upstream === null || record.tracking.poll === null) return null;
  const { id: taskId, upstream, deadlineAt, createdAt } = record;
  const { at, notBefore } = record.tracking.poll;
  const wantedAt = Math.min(Math.max(at, policy.pausedUntil), deadlineAt);
  const askAt = Math.max(wantedAt, notBefore);
  const job = pollableJob(record, policy, askAt);
  if (job === null || isPausedPastDeadline(record, policy)) return null;
  const { connection } = upstream;
  const poll = { taskId, connection, job, plannedAt: at, createdAt };
  return { dueAt: askAt, step: () => ({ kind: "poll", poll }) };
}

/** Where the upstream can be asked, the poll at the deadline decides. */
function passDeadline(record: TaskRecord, policy: Policy): Duty | null {
  if (!isOpen(record) || pollUpstream(record, policy) !== null) return null;
  return { dueAt: record.deadlineAt, step: () => ({ kind: "deadline" }) };
}

function deliver(record: TaskRecord, policy: Policy): Duty | null {
  if (!isTerminal(record) || record.callback === null) return null;
  const { state, url } = record.callback;
  switch (state.kind) {
    case "due":
      return { dueAt: dueAt(state, policy), step: () => ({ kind: "start_attempt" }) };
    case "in_flight": {
      const { id: taskId, account, status, body, origin } = record;
      const { number, startedAt } = state;
      const provider = record.upstream?.connection ?? null;
      const delivery = { taskId, account, status, body, url, origin, number, startedAt, provider };
      return { dueAt: startedAt, step: () => ({ kind: "send", delivery }) };
    }
    case "held":
    case "delivered":
    case "failed":
      return null;
  }
}

function publish(record: TaskRecord, policy: Policy): Duty | null {
  if (!policy.isIndexed || record.status === "charging") return null;
  const at = publishAt(record, policy);
  return at === null ? null : { dueAt: at, step: () => ({ kind: "publish", row: rowOf(record) }) };
}

function notify(record: TaskRecord, policy: Policy): Duty | null {
  if (!policy.isOperatorTold || !isTerminal(record)) return null;
  const [next] = record.notices.toSorted((a, b) => a.retryAt - b.retryAt);
  if (next === undefined) return null;
  const { kind, version, retryAt } = next;
  // Never ahead of the client: what is due soon goes first, and changes the record.
  const clientAt = Math.min(
    ...[refundPrice, deliver].map((duty) => duty(record, policy)?.dueAt ?? Infinity),
  );
  if (retryAt > clientAt - NOTICE_CLEARANCE_MS) return null;
  const { id: taskId } = record;
  const notice = () => ({ taskId, kind, version, task: taskView(record, "operator") });
  return { dueAt: retryAt, step: () => ({ kind: "notify", notice: notice() }) };
}

/** A pause stops polls, but no deadline: it passes without a last poll. */
function isPausedPastDeadline({ deadlineAt }: OpenTask, { pausedUntil }: Policy): boolean {
  return pausedUntil > deadlineAt;
}

function expire(record: TaskRecord): Duty | null {
  if (!isTerminal(record) || !isSettled(record)) return null;
  return { dueAt: record.expiresAt, step: () => ({ kind: "expire" }) };
}
