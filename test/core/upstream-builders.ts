import type {
  AttachEvent,
  HookEvent,
  PollAnswer,
  PollEndedEvent,
  RegisterEvent,
} from "../../src/core/events/event.ts";
import type { OpenTask } from "../../src/core/record/task.ts";
import type { PollPlan, UpstreamAnswer } from "../../src/core/record/poll-plan.ts";
import type { KeptHook, Tracking } from "../../src/core/record/tracking.ts";
import type { Job, UpstreamFailure, UpstreamNews } from "../../src/core/record/upstream.ts";
import { aCompletion, anOpenTask, aPolicy, aRegistration, CONNECTION, NOW } from "./builders.ts";

export const JOB: Job = { id: "cgt-1", endpoint: null };
export const OTHER_JOB: Job = { id: "cgt-2", endpoint: null };
export const UPSTREAM = { connection: CONNECTION, job: JOB };

/**
 * Time of the first poll of a job that was attached at NOW and whose hook is not expected: after 4 s, lengthened
 * by the jitter of the task id.
 */
export const FIRST_POLL = NOW + 4_187;

/** Time later than every deadline of the tests. */
const ASKED_AFTER_ALL = Number.MAX_SAFE_INTEGER;

/** Settings in which no connection has a key, so that no upstream can be polled. */
export const NO_KEY = aPolicy({ polls: new Map() });

export const QUEUED = { status: "queued" } as const;
export const NO_OUTPUT = { status: "no_output" } as const;
export const UNANSWERED: PollAnswer = { kind: "unanswered" };
export const UNAUTHORIZED: PollAnswer = { kind: "unauthorized" };

/** Step of a task whose deadline has passed. */
export const DEADLINE_STEP = { kind: "event", event: { type: "deadline" } } as const;

export function anUpstreamFailure(changes: Partial<UpstreamFailure> = {}): UpstreamFailure {
  return {
    status: "failed",
    error: { code: "upstream_error", message: "The output was refused." },
    failure: { category: "moderation", retryable: false },
    ...changes,
  };
}

export function newsAnswer(news: UpstreamNews): PollAnswer {
  return { kind: "news", news };
}

export function rateLimited(retryAfterMs: number | null = null): PollAnswer {
  return { kind: "limited", retryAfterMs };
}

export function aPlan(changes: Partial<PollPlan> = {}): PollPlan {
  return {
    attachedAt: NOW,
    hookWaitMs: null,
    postponedTo: null,
    notBefore: 0,
    hasHeardRunning: false,
    hint: null,
    answer: null,
    unansweredSince: null,
    ...changes,
  };
}

/** Builds the stored kind of the upstream's last answer. */
export function anAnswer(
  kind: UpstreamAnswer["kind"],
  since: number,
  changes: Partial<UpstreamAnswer> = {},
): UpstreamAnswer {
  return { kind, since, statusCode: null, word: null, ...changes };
}

export function aTracking(changes: Partial<Tracking> = {}): Tracking {
  return {
    poll: aPlan(),
    keptHooks: [],
    isExtended: false,
    told: [],
    refusedHooks: [],
    ...changes,
  };
}

export function aProvidedRegistration(
  changes: Parameters<typeof aRegistration>[0] = {},
): RegisterEvent {
  return aRegistration({ provider: CONNECTION, ...changes });
}

/** Builds a task that is registered with a provider and has no job yet. */
export function aProvidedTask(changes: Partial<OpenTask> = {}): OpenTask {
  const { registration } = aProvidedRegistration();
  return anOpenTask({ registration, upstream: { connection: CONNECTION, job: null }, ...changes });
}

/** Builds a task whose job was attached at NOW. */
export function anAttachedTask(
  plan: Partial<PollPlan> = {},
  changes: Partial<OpenTask> = {},
): OpenTask {
  const tracking = aTracking({ poll: aPlan(plan) });
  return aProvidedTask({ upstream: UPSTREAM, tracking, ...changes });
}

export function anAttachment(
  job: Job = JOB,
  connection = CONNECTION,
  isHookExpected = false,
): AttachEvent {
  return { type: "attach", connection, job, isHookExpected, keyName: null };
}

/** Builds an unsigned hook about the attached job. */
export function aHook(
  news: UpstreamNews,
  changes: Partial<Omit<HookEvent, "type" | "news">> = {},
): HookEvent {
  const from = { connection: CONNECTION, jobId: JOB.id, isSigned: false };
  return { type: "hook", news, ...from, ...changes };
}

export function aKeptHook(news: UpstreamNews, jobId: string | null = JOB.id): KeptHook {
  return { jobId, news };
}

/** Builds the end of the first poll that was due. */
export function aPollEnd(
  answer: PollAnswer,
  changes: Partial<Omit<PollEndedEvent, "type" | "answer">> = {},
): PollEndedEvent {
  return {
    type: "poll_ended",
    job: JOB,
    purpose: "result",
    askedAt: ASKED_AFTER_ALL,
    answer,
    ...changes,
  };
}

/** Tasks about which a hook can come: without and with an attached job. */
export const HOOK_TASKS = [
  ["has no job attached yet", aProvidedTask()],
  ["has its job attached", anAttachedTask()],
] as const;

export const HOOK_ENDS = [
  ["completed", aCompletion()],
  ["failed", anUpstreamFailure()],
] as const;

export const ONE_HOOK = { hooks: 1, polls: 0 };
export const ONE_POLL = { hooks: 0, polls: 1 };
