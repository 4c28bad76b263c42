import {
  CHARGING,
  changed,
  conflict,
  type Decision,
  invalidField,
  unchanged,
  UNKNOWN_ACCOUNT,
  UNKNOWN_TASK,
  unknownEndpoint,
} from "./decision.ts";
import type { Creation, RegisterEvent, ReportEvent } from "./event.ts";
import { finish } from "./finish.ts";
import { type JsonValue, jsonEqual } from "../json.ts";
import { MAX_DEADLINE_MS, type Policy } from "../policy.ts";
import { startOfCallback } from "../record/callback-terms.ts";
import { sameResult } from "../record/callback-body.ts";
import type { Credits } from "../record/credits.ts";
import type { ChosenEndpoint } from "../record/endpoint-copy.ts";
import { NO_COUNTS } from "../record/counts.ts";
import { findingOf } from "../record/finding.ts";
import { NO_KEY_NAMES } from "../record/key-names.ts";
import { outdatedSince } from "../plans/index-row-schedule.ts";
import { NO_INDEX_ROW } from "../record/index-row-state.ts";
import {
  isQueued,
  isSending,
  isStoringResult,
  startSubmission,
  type SubmissionStart,
  withJobKnown,
} from "../record/submission.ts";
import { isStorable, maxBytesOf } from "../plans/stored-size.ts";
import {
  type ChargingTask,
  isOpen,
  isToBeCharged,
  nextVersion,
  type OpenTask,
  type Registration,
  type TaskRecord,
} from "../record/task.ts";
import { traceMember } from "../record/trace.ts";
import { asUnproven } from "../record/upstream.ts";
import { trackingOf } from "../polls/next-poll.ts";

/**
 * Returns the effect of a registration. A new id creates a task. Repeating the same registration changes nothing. A
 * different registration under the id of an existing task is a conflict.
 */
export function register(
  record: TaskRecord | null,
  event: RegisterEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record !== null) return repeatRegistration(record, event);
  const { registration, endpoint } = event;
  const deadlineMs = event.deadlineMs ?? policy.taskDeadlineMs;
  const deadlineAt = registration.deadlineAt ?? now + deadlineMs;
  const invalid = invalidTime(event, deadlineAt, now);
  if (invalid !== null) return invalid;
  if (endpoint?.kind === "unknown") return unknownEndpoint(endpoint.field);
  return accept(createRegistered(event, endpoint, deadlineAt, policy, now));
}

function createRegistered(
  event: RegisterEvent,
  endpoint: ChosenEndpoint | undefined,
  deadlineAt: number,
  policy: Policy,
  now: number,
): ChargingTask | OpenTask {
  const { id, model, origin, registration, account, chargeId } = event;
  const { provider, accountId, credits: amount } = registration;
  const version = nextVersion(null, now);
  const head = { v: 2, version, id, model, origin, registration } as const;
  const keyNames = { ...NO_KEY_NAMES, registeredBy: event.keyName };
  const times = { createdAt: now, recordedAt: now };
  const submission = event.submission
    ? startSubmission(event.submission, deadlineAt, policy, now)
    : null;
  const orders = { submission, cancellation: null };
  const state = {
    indexRow: outdatedSince(NO_INDEX_ROW, now),
    counts: NO_COUNTS,
    keyNames,
    ...orders,
    ...traceMember(event.trace),
  };
  const base = { ...head, ...times, ...state };
  const connection = event.submission?.place ?? provider;
  const upstream = connection === null ? null : { connection, job: event.job };
  const callback = startOfCallback(registration, endpoint);
  const task = { ...base, upstream, ...callback, deadlineAt };
  const tracking = trackingOf(upstream, now);
  const open = { ...task, status: "pending", notices: [], tracking } as const;
  if (amount === null || accountId === null) return { ...open, account, credits: null };
  const price = { accountId, amount };
  if (chargeId === null) {
    const credits: Credits = { ...price, chargeId, final: null, state: { kind: "charged" } };
    return { ...open, account, credits };
  }
  const charging = { kind: "charging", retryAt: now, tries: 0 } as const;
  return {
    ...task,
    account: null,
    credits: { ...price, chargeId, state: charging },
    status: "charging",
  };
}

/** Returns the rejection of a registration because of a time that it states. Null when its times are valid. */
function invalidTime(
  { submission }: RegisterEvent,
  deadlineAt: number,
  now: number,
): Decision | null {
  if (deadlineAt <= now || deadlineAt > now + MAX_DEADLINE_MS) {
    return invalidField("/deadline_at", "must be in the future, at most 365 days ahead");
  }
  const startByMs = submission?.startByMs;
  if (startByMs === undefined || (startByMs > now && startByMs <= deadlineAt)) return null;
  const message = "must be in the future, and not after the deadline of the task";
  return invalidField("/Relay-Start-By", message);
}

/**
 * Returns the effect of a registration under the id of an existing task. While the charge of the task is in progress, a
 * repeated registration waits for the same charge. A repeated submission is rejected instead, because only one of the
 * two callers may send the call to the upstream. It is not rejected if neither caller waits for the upstream's answer:
 * both get the task.
 */
function repeatRegistration(record: TaskRecord, event: RegisterEvent): Decision {
  const { submission } = record;
  const isSame = sameRegistration(record, event);
  const isJoined = submission === null || (isCall(submission) && isCall(event.submission));
  if (record.status === "charging") {
    return isSame && isJoined && isToBeCharged(record) ? unchanged(record) : CHARGING;
  }
  if (!isSame) return conflict("task_exists", record);
  const isRunning = isQueued(submission) || isSending(submission);
  return isRunning && !isJoined ? conflict("submission_running", record) : unchanged(record);
}

function isCall(submission: Pick<SubmissionStart, "isCall"> | undefined): boolean {
  return submission?.isCall === true;
}

/**
 * Returns the effect of a report (`POST /v1/events`) that a task has started or ended. Such a report may also
 * create the task. The first result stays: reporting it again changes nothing, and a different result is rejected. While
 * a call may be storing its result, each report is rejected, because copies of other outputs would have the same keys.
 */
export function report(
  record: TaskRecord | null,
  event: ReportEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null) return reportFirst(event, policy, now);
  if (record.status === "charging") return CHARGING;
  if (isOpen(record)) {
    if (isStoringResult(record.submission)) return conflict("submission_running", record);
    const isNews = event.news.status !== record.status;
    return isNews ? advance(record, event, policy, now) : unchanged(record);
  }
  if (event.news.status === "processing") return unchanged(record);
  if (sameResult(record, event.news)) return unchanged(record);
  return conflict("conflicting_result", record);
}

/** Returns the effect of a report about a task that does not exist. */
function reportFirst(event: ReportEvent, policy: Policy, now: number): Decision {
  const { creation } = event;
  if (creation === null) return UNKNOWN_TASK;
  if (creation.isAccountUnknown) return UNKNOWN_ACCOUNT;
  const { callbackUrlRefusal, endpoint } = creation;
  if (callbackUrlRefusal !== null) return invalidField("/callback_url", callbackUrlRefusal);
  if (endpoint?.kind === "unknown") return unknownEndpoint(endpoint.field);
  return advance(createFromEvent(event, creation, endpoint, policy, now), event, policy, now);
}

function advance(open: OpenTask, event: ReportEvent, policy: Policy, now: number): Decision {
  const task = {
    ...open,
    submission: withJobKnown(open.submission),
    keyNames: { ...open.keyNames, reportedBy: event.keyName },
  };
  if (event.news.status === "processing") {
    return changed({ ...task, version: nextVersion(task, now), status: "processing" });
  }
  const found = findingOf(event.news, "report", now);
  return accept({ ...finish(task, asUnproven(event.news), null, policy, now), found });
}

/**
 * Returns the decision to store a new or ended task or, when its record would be too large, the rejection of the event.
 */
function accept(record: TaskRecord): Decision {
  if (isStorable(record)) return changed(record);
  return { kind: "reject", rejection: { code: "too_large", maxBytes: maxBytesOf(record) } };
}

function createFromEvent(
  { id, news }: ReportEvent,
  creation: Creation,
  endpoint: ChosenEndpoint | undefined,
  policy: Policy,
  now: number,
): OpenTask {
  const completedAt = news.status === "completed" ? news.completedAt : null;
  return {
    v: 2,
    version: 0,
    id,
    model: creation.model,
    account: creation.account,
    credits: null,
    upstream: null,
    indexRow: outdatedSince(NO_INDEX_ROW, now),
    counts: NO_COUNTS,
    keyNames: NO_KEY_NAMES,
    createdAt: creation.createdAt ?? Math.min(now, completedAt ?? now),
    recordedAt: now,
    origin: creation.origin,
    registration: null,
    submission: null,
    cancellation: null,
    ...traceMember(creation.trace),
    status: "pending",
    ...startOfCallback(creation, endpoint),
    deadlineAt: now + policy.taskDeadlineMs,
    tracking: trackingOf(null, now),
    notices: [],
  };
}

/**
 * Tells whether a registration repeats the registration of a task. A price that comes from an offer is not compared:
 * the task keeps the price of its first submission, and the offer may have got another price since.
 */
function sameRegistration({ model, registration, submission }: TaskRecord, event: RegisterEvent) {
  if (registration === null) return false;
  const paid = event.isPriceOffered === true ? registration : event.registration;
  return (
    model === event.model &&
    submission?.requestDigest === event.submission?.requestDigest &&
    jsonEqual(comparable(registration, registration), comparable(event.registration, paid))
  );
}

/**
 * Returns the members of a registration that are compared with those of another one.
 * @param paid the registration from which the price is taken.
 */
function comparable(
  { callbackUrl, callbackScheduleMs, callbackEvents, ...registration }: Registration,
  { credits, priceRule }: Registration,
): JsonValue {
  const { provider, parameters, metadata, deadlineAt, accountId } = registration;
  const price = { credits, priceRule: priceRule === undefined ? null : { ...priceRule } };
  const callback = {
    callbackUrl,
    callbackScheduleMs: callbackScheduleMs ?? null,
    callbackEvents: callbackEvents ?? null,
  };
  return { ...callback, provider, parameters, metadata, deadlineAt, accountId, ...price };
}
