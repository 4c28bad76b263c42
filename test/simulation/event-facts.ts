import type { EndpointCopy } from "../../src/core/record/endpoint-copy.ts";
import {
  isOpen,
  isTerminal,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import { orderOf } from "./cancel-rules.ts";
import type { Answer } from "./change.ts";
import { possibleEnds } from "./end-rules.ts";
import { mayTell } from "./late-rules.ts";
import type { OutsideEvent } from "./moves.ts";
import { isProof } from "./submission-rules.ts";
import type { TaskHistory } from "./task-history.ts";

/** Records, before the relay decides, what an event for an existing task may cause. */
export function recordEvent(
  history: TaskHistory,
  event: OutsideEvent,
  record: TaskRecord,
  { setting, now }: Pick<Answer, "setting" | "now">,
): void {
  history.isRowOrdered ||= event.type === "rewrite_index_row";
  history.isStartAsked ||=
    event.type === "call_started" && event.submissionId === history.submissionId;
  if (event.type === "submit_ended" && event.submissionId === history.submissionId) {
    history.outcomes.push(event.outcome);
  }
  if (isTerminal(record)) recordLateEvent(history, event, record, { setting, now });
  if (!isOpen(record)) return;
  const order = orderOf(event, record, setting);
  history.isCanceled ||= order === "fail";
  history.isAskOrdered ||= order === "ask";
  if (event.type === "attach") history.orderedJobs.add(event.job.id);
  history.isJobShown ||= isProof(event, record, setting, now);
  history.possibleEnds.push(...possibleEnds(event, record, setting, now));
}

/** The receiver of the callback that an event states for the task that it creates. */
export interface StatedCallback {
  /** Waits before the attempts; null when the configuration decides. */
  readonly scheduleMs: readonly number[] | null;
  /** Null when the receiver is a URL alone, and when there is none. */
  readonly endpoint: EndpointCopy | null;
}

export const NO_CALLBACK: StatedCallback = { scheduleMs: null, endpoint: null };

export function statedCallback(event: OutsideEvent): StatedCallback {
  const stated = statedIn(event);
  if (stated === null) return NO_CALLBACK;
  const { callbackUrl, callbackScheduleMs, endpoint } = stated;
  if (endpoint?.kind === "known") {
    const scheduleMs = callbackScheduleMs ?? endpoint.scheduleMs ?? null;
    return { scheduleMs, endpoint: endpoint.copy };
  }
  // Without a receiver there is no callback to which the schedule would belong.
  if (callbackUrl === null) return NO_CALLBACK;
  return { scheduleMs: callbackScheduleMs ?? null, endpoint: null };
}

function statedIn(event: OutsideEvent) {
  if (event.type === "register") {
    const { registration, endpoint } = event;
    return { ...registration, ...(endpoint !== undefined && { endpoint }) };
  }
  return event.type === "report" ? event.creation : null;
}

/** Records what an event for a task that has ended may cause. */
function recordLateEvent(
  history: TaskHistory,
  event: OutsideEvent,
  task: TerminalTask,
  { setting, now }: Pick<Answer, "setting" | "now">,
): void {
  history.isLateProven ||= mayTell(task, event, setting, now);
  if (event.type === "delete_output") history.deletedOutputs.add(event.number);
}
