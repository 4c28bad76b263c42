import { type Decision, commit, conflict, nothing, UNKNOWN_TASK } from "./decision.ts";
import type { Creation, RegisterEvent, ReportEvent } from "./event.ts";
import { finish } from "./finish.ts";
import { type JsonValue, jsonEqual } from "./json.ts";
import { sameResult } from "./result.ts";
import type { Policy } from "./schedule.ts";
import {
  isTerminal,
  nextVersion,
  type OpenTask,
  type Registration,
  type TaskRecord,
} from "./task.ts";

/** The operator registers a task; the same again is harmless, anything else under its id a conflict. */
export function register(
  record: TaskRecord | null,
  event: RegisterEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record !== null) {
    return sameRegistration(record, event) ? nothing(record) : conflict("task_exists", record);
  }
  const { registration } = event;
  const deadlineAt = registration.deadlineAt ?? now + policy.taskDeadlineMs;
  if (deadlineAt <= now) return refusedField("/deadline_at", "must be in the future");
  return commit({
    v: 1,
    version: nextVersion(null, now),
    id: event.id,
    model: event.model,
    account: event.account,
    createdAt: now,
    origin: event.origin,
    registration,
    status: "pending",
    callbackUrl: registration.callbackUrl,
    deadlineAt,
  });
}

/** The upstream reports: the first terminal result wins, and the same news again changes nothing. */
export function report(
  record: TaskRecord | null,
  event: ReportEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null) {
    if (event.creation === null) return UNKNOWN_TASK;
    if (event.creation.callbackUrlRefusal !== null) {
      return refusedField("/callback_url", event.creation.callbackUrlRefusal);
    }
    return advance(createdByEvent(event.id, event.creation, policy, now), event, policy, now);
  }
  if (!isTerminal(record)) {
    const isNews = event.news.status !== record.status;
    return isNews ? advance(record, event, policy, now) : nothing(record);
  }
  if (event.news.status === "processing") return nothing(record);
  return sameResult(record, event.news) ? nothing(record) : conflict("conflicting_result", record);
}

function advance(task: OpenTask, event: ReportEvent, policy: Policy, now: number): Decision {
  if (event.news.status === "processing") {
    return commit({ ...task, version: nextVersion(task, now), status: "processing" });
  }
  return commit(finish(task, event.news, null, policy, now));
}

function createdByEvent(id: string, creation: Creation, policy: Policy, now: number): OpenTask {
  return {
    v: 1,
    version: 0,
    id,
    model: creation.model,
    account: creation.account,
    createdAt: creation.createdAt ?? now,
    origin: creation.origin,
    registration: null,
    status: "pending",
    callbackUrl: creation.callbackUrl,
    deadlineAt: now + policy.taskDeadlineMs,
  };
}

function sameRegistration(record: TaskRecord, event: RegisterEvent): boolean {
  if (record.registration === null) return false;
  return (
    record.model === event.model &&
    record.account === event.account &&
    jsonEqual(comparable(record.registration), comparable(event.registration))
  );
}

function comparable(registration: Registration): JsonValue {
  const { callbackUrl, parameters, metadata, deadlineAt } = registration;
  return { callbackUrl, parameters, metadata, deadlineAt };
}

function refusedField(field: string, message: string): Decision {
  return { kind: "reject", rejection: { code: "invalid_field", field, message } };
}
