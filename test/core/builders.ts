import { type Attempt, type Callback, unansweredAttempt } from "../../src/core/record/callback.ts";
import type { Decision } from "../../src/core/events/decision.ts";
import type {
  AttemptEndedEvent,
  Creation,
  RedeliverEvent,
  RegisterEvent,
  ReportEvent,
  TaskEvent,
} from "../../src/core/events/event.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import { NO_KEY_NAMES } from "../../src/core/record/key-names.ts";
import { NO_KEYED_REDELIVERIES } from "../../src/core/record/redelivery-keys.ts";
import { NO_COUNTS } from "../../src/core/record/counts.ts";
import { type IndexRowState, NO_INDEX_ROW } from "../../src/core/record/index-row-state.ts";
import type { UpstreamResult } from "../../src/core/record/upstream.ts";
import type { OutputLinks, Policy, PollLimits } from "../../src/core/policy.ts";
import {
  type Account,
  isTerminal,
  type OpenTask,
  type Registration,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import { transition } from "../../src/core/transition.ts";

export const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];

/** Time of the tests, 2026-10-20T12:00:00.250Z: not a whole second, to notice a loss of milliseconds. */
export const NOW = 1_792_497_600_250;
export const NOW_S = 1_792_497_600;

export const ID = "0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4";
export const MODEL = "seedance-1-0-pro";
export const ORIGIN = "https://relay.example.com";
export const URL_A = "https://client.example.com/callbacks";
export const URL_B = "https://repaired.example.com/callbacks";
export const VIDEO = "https://cdn.example.com/video.mp4";
export const ACCOUNT: Account = { id: "acme", generation: 3 };
export const [FIRST_WAIT, SECOND_WAIT] = [180_000, 600_000];
/** Name of the only connection that has a key. */
export const CONNECTION = "ark";
/** Identifier of the only relay secret, with which keys of customers are sealed. */
export const SEALED_WITH = "secret-1";
const WAITS = { hookWaitMs: MINUTE, gapMs: SECOND, maxAgeMs: 7 * DAY };
export const LIMITS: PollLimits = {
  ...WAITS,
  isIdEnough: true,
  isTaskNamed: false,
  isCreationStated: false,
};
const OFF = { isIndexed: false, isOperatorNotified: false, unwantedNotices: new Set<string>() };
const NOTHING_TRIED = {
  indexTriedAt: 0,
  indexOrderedAt: 0,
  indexedVersion: 0,
  polledAt: 0,
  askedAt: 0,
  pollEndedAt: 0,
  pollDeferredTo: 0,
  pollDeferredAt: 0,
  readyAt: 0,
};

export function aPolicy(changes: Partial<Policy> = {}): Policy {
  return {
    scheduleMs: [0, FIRST_WAIT, SECOND_WAIT],
    watchdogMs: 15 * SECOND,
    taskDeadlineMs: 72 * HOUR,
    retentionMs: 28 * DAY,
    indexRetentionMs: 7 * DAY,
    firstRowDelayMs: 30 * SECOND,
    pausedAt: null,
    pausedHosts: new Map(),
    polls: new Map([[CONNECTION, LIMITS]]),
    customerPolls: new Map([[CONNECTION, LIMITS]]),
    sealingIds: new Set([SEALED_WITH]),
    isCancelable: () => false,
    pollLateness: 0.07,
    submitTimeoutMs: 90 * SECOND,
    asyncTimeoutMs: 600 * SECOND,
    queueMs: 60 * MINUTE,
    submitUnknownMs: 60 * MINUTE,
    outputs: null,
    jitter: 0,
    ...NOTHING_TRIED,
    ...OFF,
    ...changes,
  };
}

export const POLICY = aPolicy();

/** Links of the relay to outputs, for sources that begin with `https:`. */
export const OUTPUT_LINKS: OutputLinks = {
  areKept: true,
  lifeMs: 7 * DAY,
  linkTo: ({ source, ...output }) =>
    source.startsWith("https:") ? relayLink(output.number, output.expiresAtS) : null,
  linkToFile: ({ number, expiresAtS }) => relayLink(number, expiresAtS),
};

/** Returns the link of `OUTPUT_LINKS` to an output of the task. */
export function relayLink(number: number, expiresAtS = NOW_S + 7 * (DAY / SECOND)): string {
  return `${ORIGIN}/outputs/${ID}/${number}/${expiresAtS}`;
}

type RegistrationChanges = Partial<Registration & Omit<RegisterEvent, "type" | "registration">>;

export function aRegistration(changes: RegistrationChanges = {}): RegisterEvent {
  const { id = ID, model = MODEL, origin = ORIGIN, account = null, ...others } = changes;
  const { chargeId = null, job = null, deadlineMs = null, keyName = null, ...further } = others;
  const { endpoint, trace, ...rest } = further;
  const registration = {
    callbackUrl: URL_A,
    provider: null,
    parameters: null,
    metadata: null,
    deadlineAt: null,
    accountId: null,
    credits: null,
    ...rest,
  };
  const event = { id, model, account, chargeId, origin, registration, keyName, job, deadlineMs };
  const added = {
    ...(endpoint !== undefined && { endpoint }),
    ...(trace !== undefined && { trace }),
  };
  return { type: "register", ...event, ...added };
}

type Completion = Extract<UpstreamResult, { status: "completed" }>;

export function aCompletion(changes: Partial<Omit<Completion, "status">> = {}): Completion {
  return { status: "completed", completedAt: null, urls: [VIDEO], metadata: {}, ...changes };
}

export function aFailure(
  code = "content_policy",
  message = "The prompt was refused.",
): UpstreamResult {
  return { status: "failed", error: { code, message } };
}

export const PROCESSING = { status: "processing" } as const;

export function aCreation(changes: Partial<Creation> = {}): Creation {
  return {
    model: MODEL,
    account: null,
    isAccountUnknown: false,
    createdAt: null,
    callbackUrl: URL_A,
    callbackUrlRefusal: null,
    origin: ORIGIN,
    ...changes,
  };
}

export function aReport(
  news: ReportEvent["news"] = aCompletion(),
  creation: Creation | null = null,
): ReportEvent {
  return { type: "report", id: ID, news, creation, keyName: null };
}

export function aRedelivery(changes: Partial<Omit<RedeliverEvent, "type">> = {}): RedeliverEvent {
  const order = { attempts: 1, idempotencyKey: null, orderedBy: "operator" } as const;
  return { type: "redeliver", callbackUrl: null, ...order, keyName: null, ...changes };
}

/** Builds the end of an attempt; by default the receiver answered 500. */
export function anEnd(number: number, changes: Partial<AttemptEndedEvent> = {}): AttemptEndedEvent {
  const answered = { ...unansweredAttempt("rejected"), statusCode: 500 };
  return { type: "attempt_ended", number, ...answered, ...changes };
}

export function anEndAs(number: number, outcome: Outcome): AttemptEndedEvent {
  return anEnd(number, { outcome, statusCode: outcome === "delivered" ? 200 : null });
}

/** State of the index row of a task that has just been created; that of other tasks says that a write has failed. */
export const NEW_ROW: IndexRowState = { ...NO_INDEX_ROW, outdatedAt: NOW };

const BASE = {
  v: 2,
  version: NOW,
  id: ID,
  model: MODEL,
  account: null,
  upstream: null,
  createdAt: NOW,
  recordedAt: NOW,
  indexRow: { ...NO_INDEX_ROW, outdatedAt: NOW, hasFailed: true },
  counts: NO_COUNTS,
  keyNames: NO_KEY_NAMES,
  origin: ORIGIN,
  submission: null,
  cancellation: null,
} as const;

export function anOpenTask(changes: Partial<OpenTask> = {}): OpenTask {
  return {
    ...BASE,
    registration: aRegistration().registration,
    credits: null,
    status: "pending",
    callbackUrl: URL_A,
    deadlineAt: NOW + POLICY.taskDeadlineMs,
    tracking: { poll: null, keptHooks: [], isExtended: false, told: [], refusedHooks: [] },
    notices: [],
    ...changes,
  };
}

const END = { created_at: NOW_S, completed_at: NOW_S, output: { urls: [VIDEO], metadata: {} } };
const NOTHING_KNOWN = { found: null, upstreamTimes: null, usage: null, late: null };
export const BODY = JSON.stringify({ id: ID, status: "completed", model: MODEL, ...END });

/** Builds a completed task whose callback was delivered at the first attempt, within 250 ms. */
export function aFinishedTask(changes: Partial<TerminalTask> = {}): TerminalTask {
  return {
    ...BASE,
    registration: aRegistration().registration,
    status: "completed",
    body: BODY,
    outputs: null,
    failure: null,
    credits: null,
    callback: aCallback(),
    ...NOTHING_KNOWN,
    finishedAt: NOW,
    notices: [],
    expiresAt: NOW + POLICY.retentionMs,
    ...changes,
  };
}

export function aCallback(changes: Partial<Callback> = {}): Callback {
  return {
    url: URL_A,
    attempts: [anAttempt()],
    droppedOutcomes: {},
    lastNumber: 1,
    series: { number: 1, started: 1, ordered: null, keyName: null },
    state: { kind: "delivered" },
    deliveredAt: NOW + 250,
    keyedRedeliveries: NO_KEYED_REDELIVERIES,
    ...changes,
  };
}

/** Builds the state of a callback whose attempt was planned for `startedAt` and runs since then. */
export function runningSince(startedAt: number, number = 1): Callback["state"] {
  return { kind: "in_flight", number, dueAt: startedAt, startedAt };
}

export function anAttempt(changes: Partial<Attempt> = {}): Attempt {
  return {
    number: 1,
    series: 1,
    url: null,
    dueAt: NOW,
    startedAt: NOW,
    durationMs: 250,
    keyName: null,
    ...unansweredAttempt("delivered"),
    statusCode: 200,
    ...changes,
  };
}

/** Returns the record that a decision commits. @throws when the decision commits none. */
export function committed(decision: Decision): TaskRecord {
  if (decision.kind === "changed") return decision.record;
  throw new Error(`expected a commit: ${JSON.stringify(decision)}`);
}

/** Returns the committed record, which must be terminal. */
export function finished(decision: Decision): TerminalTask {
  const record = committed(decision);
  if (isTerminal(record)) return record;
  throw new Error(`expected a terminal record: ${record.status}`);
}

export function callbackOf(record: TaskRecord | null): Callback {
  if (record !== null && isTerminal(record) && record.callback !== null) return record.callback;
  throw new Error("expected a terminal record with a callback");
}

export type TimedEvent = readonly [at: number, event: TaskEvent, policy?: Policy];

/** Returns the callback of a task after these events, each a commit of its own; times count from NOW. */
export function callbackAfter(...happenings: readonly TimedEvent[]): Callback {
  return callbackOf(taskAfter(...happenings));
}

export function taskAfter(...happenings: readonly TimedEvent[]): TaskRecord | null {
  return happenings.reduce<TaskRecord | null>(
    (record, [at, event, policy = POLICY]) =>
      committed(transition(record, event, policy, NOW + at)),
    null,
  );
}
