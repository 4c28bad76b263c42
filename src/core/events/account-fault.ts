import { hasCustomerKey } from "../record/customer-key.ts";
import { type AccountRefusal, accountRefusalOf } from "../record/refusal.ts";
import { isOpen, isTerminal, type TaskRecord } from "../record/task.ts";
import type { UpstreamNews } from "../record/upstream.ts";
import type { TaskEvent } from "./event.ts";
import { keptCallToTell } from "./submit-again.ts";

/** A failure of a job that is the fault of the operator's account at the upstream of a connection. */
export interface AccountFault {
  readonly connection: string;
  readonly refusal: AccountRefusal;
}

/**
 * Returns the fault of the operator's account with which an event has ended a job, and with it the task unless the call is
 * submitted again. Null for any other event. Null also for a job that was submitted with a customer's key, because the account at the upstream is then the customer's.
 * @param before the task before the event.
 * @param after the task after the event.
 */
export function accountFaultOf(
  before: TaskRecord | null,
  event: TaskEvent,
  after: TaskRecord | null,
): AccountFault | null {
  if (before === null || after === null || !isOpen(before)) return null;
  const isEnded = isTerminal(after) || keptCallToTell(before, after) !== null;
  const news = newsIn(event);
  if (!isEnded || news?.status !== "failed" || hasCustomerKey(after)) return null;
  const refusal = accountRefusalOf(news.error.code);
  if (refusal === null || before.upstream === null) return null;
  return { connection: before.upstream.connection, refusal };
}

/** Returns what the upstream reports by an event about the job of a task. Null for an event without such a report. */
function newsIn(event: TaskEvent): UpstreamNews | null {
  if (event.type === "hook") return event.news;
  if (event.type === "poll_ended" && event.answer.kind === "news") return event.answer.news;
  if (event.type === "submit_ended" && event.outcome.kind === "result") return event.outcome.news;
  return null;
}
