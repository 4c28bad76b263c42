import { expect } from "vitest";
import type { Decision } from "../../src/core/events/decision.ts";
import type { TaskEvent } from "../../src/core/events/event.ts";
import type { TaskRecord, TerminalTask } from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";
import { committed, finished, NOW, POLICY } from "./builders.ts";

/** Refusals whose answers do not contain the task. */
const WITHOUT_TASK: readonly string[] = ["unknown_task", "unknown_account", "charging"];

/** Returns the record after an event, whether or not the event changed it. */
export function afterwards(decision: Decision): TaskRecord {
  if (decision.kind === "unchanged" && decision.record !== null) return decision.record;
  return committed(decision);
}

/** Returns the record as an event has changed it. @throws when the event changes nothing. */
export function apply(
  record: TaskRecord | null,
  event: TaskEvent,
  now = NOW,
  policy = POLICY,
): TaskRecord {
  return committed(transition(record, event, policy, now));
}

/** Returns the terminal record that an event produces. @throws when the event produces no such record. */
export function finish(
  record: TaskRecord | null,
  event: TaskEvent,
  now = NOW,
  policy = POLICY,
): TerminalTask {
  return finished(transition(record, event, policy, now));
}

/** Expects that an event changes nothing. @param note effect of a hook that the log names. */
export function expectUnchanged(
  record: TaskRecord | null,
  event: TaskEvent,
  now = NOW,
  policy = POLICY,
  note?: string,
): void {
  const decision = { kind: "unchanged", record, ...(note !== undefined && { note }) };
  expect(transition(record, event, policy, now)).toEqual(decision);
}

/** Expects that an event is refused, together with the record that it conflicts with. */
export function expectRefused(
  record: TaskRecord | null,
  event: TaskEvent,
  code: string,
  now = NOW,
): void {
  const rejection = WITHOUT_TASK.includes(code) ? { code } : { code, task: record };
  expect(transition(record, event, POLICY, now)).toEqual({ kind: "reject", rejection });
}
