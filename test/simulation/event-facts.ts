import type { ChosenEndpoint } from "../../src/core/record/endpoint-copy.ts";
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
import { NO_CALLBACK, type StatedCallback, type TaskHistory } from "./task-history.ts";

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
  notePercentage(history, event);
  if (event.type === "attach") history.orderedJobs.add(event.job.id);
  history.isJobShown ||= isProof(event, record, setting, now);
  history.possibleEnds.push(...possibleEnds(event, record, setting, now));
}

/** Records the percentage that a signed hook states. */
function notePercentage({ percentages }: TaskHistory, event: OutsideEvent): void {
  if (event.type !== "hook" || !event.isSigned || event.progress === undefined) return;
  percentages.add(event.progress);
}

/** Returns what an event states about the callback of the task that it creates. */
export function statedCallback(event: OutsideEvent): StatedCallback {
  const stated = statedIn(event);
  if (stated === null) return NO_CALLBACK;
  const { callbackUrl: url, callbackScheduleMs = null, callbackEvents = null, endpoint } = stated;
  const own = { url, scheduleMs: callbackScheduleMs, events: callbackEvents, endpoint: null };
  if (endpoint?.kind === "known") return statedAt(endpoint, own);
  // Without a receiver there is no callback to which the terms would belong.
  return url === null ? NO_CALLBACK : own;
}

/** Returns what is stated about a callback to an endpoint. What the task itself states takes precedence. */
function statedAt(
  { url, scheduleMs, events, copy }: ChosenEndpoint,
  own: StatedCallback,
): StatedCallback {
  return {
    url,
    scheduleMs: own.scheduleMs ?? scheduleMs ?? null,
    events: own.events ?? events ?? null,
    endpoint: copy,
  };
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
  if (event.type !== "delete_outputs") return;
  const { number: only } = event;
  const numbers = only === null ? numbersIn(task) : [only];
  for (const number of numbers) history.deletedOutputs.add(number);
}

function numbersIn({ outputs }: TerminalTask): readonly number[] {
  return outputs?.list.map(({ number }) => number) ?? [];
}
