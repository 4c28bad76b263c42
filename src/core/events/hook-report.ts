import type { PollPlan } from "../record/poll-plan.ts";
import { hasCustomerKey } from "../record/customer-key.ts";
import {
  addressedName,
  isOpen,
  isTerminal,
  type OpenTask,
  type TaskRecord,
} from "../record/task.ts";
import type { TaskEvent } from "./event.ts";

/**
 * Report of a task to the Durable Object of its connection: whether the expected hook of the task's job has come.
 * When hooks of a connection do not come, later jobs of the connection are polled sooner.
 */
export interface HookReport {
  readonly connection: string;
  readonly hasCome: boolean;
}

/**
 * Returns the report of a task about its hook after an event. There is one in two cases: a hook or a poll has ended the
 * task, and a hook was expected or has come; or a hook comes after the end of the task. Null when there is nothing to
 * report. Null also for a job that was submitted with a customer's key: its hooks are configured in the customer's
 * account at the upstream, and so show nothing about the connection.
 * @param before the task before the event.
 * @param after the task after the event.
 */
export function hookReportOf(
  before: TaskRecord | null,
  event: TaskEvent,
  after: TaskRecord | null,
): HookReport | null {
  if (before === null || after === null || !isTerminal(after) || !saysEnd(event)) return null;
  if (hasCustomerKey(after)) return null;
  const { upstream } = before;
  if (upstream === null) return null;
  const hasCome = isOpen(before)
    ? hasHookCome(before, event)
    : isOwnHook(event, addressedName(before, upstream));
  return hasCome === null ? null : { connection: upstream.connection, hasCome };
}

/**
 * Tells whether an event is a hook, or a poll that found that the job has ended. Other events that end a task cause no
 * hook report. After the deadline of a task, for example, the job still runs and its hook may still come.
 */
function saysEnd(event: TaskEvent): boolean {
  if (event.type === "hook") return true;
  if (event.type !== "poll_ended" || event.answer.kind !== "news") return false;
  const { status } = event.answer.news;
  return status !== "queued" && status !== "processing";
}

/**
 * Tells whether a hook about the job has come by the end of the job. Null when no hook was expected and none has come.
 */
function hasHookCome({ upstream, tracking }: OpenTask, { type }: TaskEvent): boolean | null {
  const { poll: plan } = tracking;
  if (upstream?.job == null || plan === null) return null;
  const hasCome = type === "hook" || isHeard(plan);
  return hasCome || plan.hookWaitMs !== null ? hasCome : null;
}

/** Returns true when an event is a hook that came to the hook URL of this connection. Null for any other event. */
function isOwnHook(event: TaskEvent, connection: string): true | null {
  return event.type === "hook" && event.connection === connection ? true : null;
}

function isHeard({ hasHeardRunning, hint }: PollPlan): boolean {
  return hasHeardRunning || hint !== null;
}
