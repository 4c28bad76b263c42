import type {
  CopiesEndedEvent,
  HookEvent,
  RegisterEvent,
  ReportEvent,
} from "../../src/core/events/event.ts";
import { type AskedEndpoint, endpointUrl } from "../../src/core/record/endpoint-copy.ts";
import type { StatedTerms } from "../../src/core/record/callback-terms.ts";
import type { EndedCopy } from "../../src/core/record/outputs.ts";
import { submittedJobOf } from "../../src/core/record/submitted-job.ts";
import type { SubmissionStart } from "../../src/core/record/submission.ts";
import type { Trace } from "../../src/core/record/trace.ts";
import {
  type CreatedTask,
  isOpen,
  type Registration,
  type TaskRecord,
} from "../../src/core/record/task.ts";
import { UNREAD_HOOKS } from "../../src/core/record/tracking.ts";
import type { UpstreamNews, UpstreamResult, Used } from "../../src/core/record/upstream.ts";
import * as build from "../core/builders.ts";
import {
  aPricedRegistration,
  aSettledRegistration,
  aUsagePricedRegistration,
  aUsageSettledRegistration,
  PRICE,
} from "../core/credit-builders.ts";
import {
  aHook,
  anAttachment,
  anUpstreamFailure,
  JOB,
  NO_OUTPUT,
  OTHER_JOB,
  QUEUED,
} from "../core/upstream-builders.ts";
import { SEALED_KEY } from "../core/submission-builders.ts";
import type { Action, Move, OutsideEvent } from "./moves.ts";
import { OVERSIZED } from "./oversized.ts";
import { SENDER_ACTS } from "./parties.ts";
import type { Random } from "./random.ts";
import { type Setting, settingFrom } from "./setting.ts";
import { jobIdOf, type Submitters } from "./submitters.ts";
import type { World } from "./world.ts";

const { CONNECTION, DAY, HOUR, MINUTE, SECOND, URL_A, URL_B } = build;

const RESULTS: readonly (UpstreamResult & Used)[] = [
  build.aCompletion(),
  { ...build.aCompletion(), usage: { total_tokens: 9 } },
  build.aCompletion({ urls: [build.VIDEO, URL_A], metadata: { seed: 1, 7: "x" } }),
  build.aFailure(),
  build.aFailure("other", ""),
];
const NEWS: readonly UpstreamNews[] = [
  { ...build.aCompletion(), usage: { total_tokens: 7 } },
  { ...build.aCompletion(), usage: { total_tokens: 100 } },
  build.PROCESSING,
  QUEUED,
  NO_OUTPUT,
  { ...anUpstreamFailure(), usage: { total_tokens: 0 } },
];
/** Events that somebody else than the Worker of a submission, or the object of a call, causes. */
type ChosenEvent = Exclude<OutsideEvent["type"], "submit_ended" | "call_started">;

/** All events of which the receiver of a callback may be told. */
export const ALL_EVENTS = ["completed", "failed", "progress"] as const;

/** Ends of copies of outputs. */
export const COPY_ENDS: readonly EndedCopy[] = [
  { kind: "kept", bytes: 1_000, mediaType: "video/mp4" },
  { kind: "kept", bytes: 1, mediaType: "application/octet-stream" },
  { kind: "lost", reason: "refused" },
  { kind: "lost", reason: "too_large" },
];

/** Keys of redeliveries: more than a task remembers, each of which may return after others. */
const ORDER_KEYS = [null, null, ..."k1 k1 k2 k3 k4 k5 k6 k7 k8 k9 k10".split(" ")];
/** A submission as its registration states it; the world replaces the id. */
export const SUBMISSION: SubmissionStart = {
  id: "submission",
  requestDigest: "request",
  endpoint: null,
};
/** Endpoints of new tasks: one that a task names, and one that tasks get which name no receiver. */
const NAMED: AskedEndpoint = {
  kind: "known",
  url: URL_A,
  scheduleMs: [0, 9 * SECOND, MINUTE],
  copy: { name: "orders", secret: { id: "one", generation: 1 } },
};
const DEFAULT: AskedEndpoint = {
  kind: "known",
  url: URL_A,
  events: ["failed", "progress"],
  copy: { name: "default" },
};
/** What later requests find in place of these endpoints: others with their names, or none. */
const LATER: readonly AskedEndpoint[] = [
  { ...NAMED, url: URL_B, scheduleMs: [SECOND], events: ["failed"], copy: { name: "orders" } },
  { ...DEFAULT, url: URL_B },
  { kind: "unknown", field: "/callback_url" },
];
/** Endpoints to which redeliveries go. */
const ORDERED: readonly AskedEndpoint[] = [
  { ...DEFAULT, url: URL_B },
  { kind: "unknown", field: "/endpoint" },
];
const TRACE = {
  parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  state: "congo=t61rcWkgMzE",
};
/** Callback URLs, schedules, events, trace contexts and endpoints of new tasks; a quarter has no receiver. */
const CALLBACKS: readonly (Pick<Registration, "callbackUrl"> &
  StatedTerms & { readonly trace?: Trace; readonly endpoint?: AskedEndpoint })[] = [
  ...Array.from({ length: 6 }, () => ({ callbackUrl: URL_A })),
  { callbackUrl: URL_A, callbackScheduleMs: [0, MINUTE] },
  { callbackUrl: URL_A, callbackScheduleMs: [7 * SECOND, MINUTE, HOUR, MINUTE] },
  { callbackUrl: URL_A, callbackScheduleMs: [MINUTE], trace: TRACE },
  { callbackUrl: endpointUrl("orders"), endpoint: NAMED },
  { callbackUrl: endpointUrl("orders"), callbackScheduleMs: [0, MINUTE], endpoint: NAMED },
  { callbackUrl: null, endpoint: DEFAULT },
  { callbackUrl: null },
  { callbackUrl: null },
  { callbackUrl: null, callbackScheduleMs: [0, SECOND] },
  ...Array.from({ length: 5 }, () => ({ callbackUrl: URL_A, callbackEvents: ALL_EVENTS })),
  { callbackUrl: URL_A, callbackEvents: ["failed", "progress"] },
  { callbackUrl: URL_A, callbackEvents: ["completed"], callbackScheduleMs: [MINUTE] },
  { callbackUrl: null, callbackEvents: ALL_EVENTS },
];
/** Share of the registrations with which the relay submits the job itself. */
const SUBMITTED_SHARE = 0.3;
/** Share of the submissions with a key of the customer. */
const CUSTOMER_SHARE = 0.3;
/** Share of the submissions about whose jobs no hook is said to come. */
const HOOKLESS_SHARE = 0.2;
/** Share of the submissions whose caller does not wait. */
const CALL_SHARE = 0.3;
/** Share of the other submissions whose answer an object passes on. */
const PASSED_SHARE = 0.2;
/** Share of the hooks that report a result which is too large to be stored. */
const OVERSIZED_SHARE = 0.02;
/**
 * Probability that the next move does not wait until nothing more happens, and the largest number of turns
 * after which it then comes.
 */
const HURRY = 0.15;
const MAX_TURNS = 14;
/** Hosts of the receivers; most callbacks go to the first. */
const HOSTS = [URL_A, URL_A, URL_A, URL_B].map((url) => new URL(url).host);
const PAUSES_MS = [1, 30 * SECOND, 5 * MINUTE, 40 * MINUTE, DAY, 7 * DAY];
/** A move that is not about the pause of a host. */
type ChosenMove = Exclude<Action, { readonly kind: "pause" | "resume" }>;
const REGISTRATIONS: readonly (readonly [number, typeof build.aRegistration])[] = [
  [3, build.aRegistration],
  [2.5, aPricedRegistration],
  [1.5, aUsagePricedRegistration],
  [0.6, aSettledRegistration],
  [0.4, aUsageSettledRegistration],
];

/** Returns the next move; moves that have an effect now are more likely. */
export function nextMove(random: Random, world: World): Move {
  const { openCalls } = world.outside;
  const { list: workers } = world.submitters;
  const isWaiting = workers.some(({ brought }) => brought === 0);
  const { alarm } = world.disk.durable;
  const kind = random.weighted<ChosenMove["kind"]>([
    [3, "event"],
    [openCalls.length === 0 ? 0 : 7, "end"],
    [alarm === null || world.runningAlarmAt !== null ? 0 : 4, "ring"],
    [0.4, "read"],
    [isReadable(world) ? 1 : 0, "readJob"],
    [3 * world.jobReads, "answerReader"],
    [1, "crash"],
    [0.7, "pass"],
    [openCalls.some(({ defer }) => defer !== null) ? 3 : 0, "defer"],
    [world.outside.senders.some(({ ended }) => ended === null) ? 3 : 0, "sender"],
    [0.4 * Math.min(world.outside.senders.length, 3), "sender"],
    [0.4, "arriveLate"],
    [isWaiting ? 7 : 0.4 * workers.length, "submit"],
    [isWaiting ? 0.4 : 0, "lose"],
    [0.3, "duplicateAlarm"],
    [hasKept(world.disk.written.record) ? 5 : 0.25, "deploy"],
    [0.1, "misconfigure"],
    [0.1, "fault"],
    [world.ledger.balance < PRICE ? 1 : 0.1, "adjust"],
  ]);
  const action = actionOf(kind, random, world);
  return random.isLucky(HURRY) ? { ...action, turns: random.below(MAX_TURNS) } : action;
}

/** Returns a move in which a pause of a receiver's host begins, changes or ends, or that follows soon after it. */
export function pauseMove(random: Random): Move {
  const host = random.pick(HOSTS);
  return random.weighted<Move>([
    [3, { kind: "pause", host, ms: random.pick(PAUSES_MS) }],
    [2, { kind: "resume", host }],
    [1, { kind: "pass", ms: random.pick([SECOND, 11 * SECOND, 5 * MINUTE]), isSlow: false }],
    [2, { kind: "ring", lateMs: 0, isSlow: false }],
    [0.5, { kind: "crash", afterPoints: random.below(10) }],
  ]);
}

function actionOf(kind: ChosenMove["kind"], random: Random, world: World): Action {
  switch (kind) {
    case "event":
      return { kind, event: eventFor(world.disk.written.record, random, world.submitters) };
    case "end":
      return { kind, pick: random.below(4), ending: random.isLucky(0.35) ? 0 : random.below(60) };
    case "ring":
      return {
        kind,
        lateMs: random.pick([0, 0, 0, 1, SECOND, MINUTE, HOUR]),
        isSlow: isSlow(random),
      };
    case "pass":
      return {
        kind,
        ms: random.pick([1, SECOND, 16 * SECOND, MINUTE, -1, -MINUTE, toDeadline(world)]),
        isSlow: isSlow(random),
      };
    case "crash":
      return { kind, afterPoints: random.below(10) };
    case "deploy":
      return { kind, setting: deployed(random, world) };
    case "misconfigure":
      return { kind, isBroken: random.isLucky(0.5) };
    case "fault":
      return { kind, reads: random.below(3) };
    case "adjust":
      return { kind, amount: random.pick([1, 50, 50, -2 * PRICE]) };
    case "sender":
      return { kind, pick: random.below(4), act: random.below(4 * SENDER_ACTS) };
    case "arriveLate":
      return { kind, pick: random.below(4) };
    case "answerReader":
      return { kind, pick: random.below(4), ending: random.below(60) };
    case "submit":
      return { kind, pick: nextSubmitter(random, world.submitters), ending: random.below(48) };
    case "lose":
      return { kind, pick: random.below(4) };
    case "read":
    case "readJob":
    case "defer":
    case "duplicateAlarm":
      return { kind };
  }
}

/** Tells whether clients can read the job of the task. */
function isReadable({ disk: { written } }: World): boolean {
  return written.record !== null && submittedJobOf(written.record) !== null;
}

/** Returns the index of a Worker, mostly of one whose outcome has not been brought. */
function nextSubmitter(random: Random, { list }: Submitters): number {
  const index = list.findIndex(({ brought }) => brought === 0);
  return index < 0 || random.isLucky(0.1) ? random.below(Math.max(1, list.length)) : index;
}

/**
 * Returns a move that deploys another configuration. It often removes the key while hooks are stored, because
 * an attachment then decides by the stored hooks.
 */
function deployed(random: Random, { disk }: World): Setting {
  const setting = settingFrom(random);
  return hasKept(disk.written.record) && random.isLucky(0.5)
    ? { ...setting, limits: null }
    : setting;
}

/**
 * Returns the time until just before the deadline, so that a call that begins then ends after the deadline.
 */
function toDeadline({ disk, clock }: World): number {
  const { record } = disk.durable;
  return record !== null && isOpen(record) ? Math.max(0, record.deadlineAt - clock - SECOND) : 1;
}

function isSlow(random: Random): boolean {
  return random.isLucky(0.15);
}

function eventFor(record: TaskRecord | null, random: Random, submitters: Submitters): OutsideEvent {
  if (record?.status === "charging" && random.isLucky(0.6)) return repeated(record, random);
  if (isLateHook(random, submitters)) return submissionHook(random, random.pick(submitters.sent));
  if (record === null || record.status === "charging") return beginning(random);
  const kind = kindFor(record, random);
  if (kind === "copies_ended") return endedCopies(record, random);
  return ownEvent(kind, record, random) ?? eventOf(kind, random);
}

/** Returns an event about the submission of a task: the request again, or a hook. Null for another event. */
function ownEvent(kind: ChosenEvent, record: CreatedTask, random: Random): OutsideEvent | null {
  if (record.submission === null) return null;
  if (kind === "register") return repeated(record, random);
  if (kind !== "hook" || !random.isLucky(0.9)) return null;
  return submissionHook(random, record.submission.id);
}

/** Chooses the kind of the next event for a task that readers see. */
function kindFor(record: CreatedTask, random: Random): ChosenEvent {
  return isOpen(record)
    ? random.weighted<ChosenEvent>([
        [hasKept(record) ? 1 : 5, "report"],
        [isJobUnknown(record) ? 6 : 3, "hook"],
        [hasKept(record) ? 8 : 2, "attach"],
        [0.6, "cancel"],
        [record.submission === null ? 0.05 : 0.6, "cancel_submitted"],
        [0.5, "register"],
        [0.3, "redeliver"],
        [0.3, "erase"],
        [0.2, "rewrite_index_row"],
        [0.05, "delete_outputs"],
      ])
    : random.weighted<ChosenEvent>([
        [2, "report"],
        [1, "hook"],
        [4, "redeliver"],
        [0.7, "erase"],
        [0.3, "cancel"],
        [0.05, "cancel_submitted"],
        [0.3, "attach"],
        [0.3, "register"],
        [0.3, "rewrite_index_row"],
        [record.outputs === null ? 0.1 : 3, "copies_ended"],
        [record.outputs === null ? 0.05 : 0.5, "delete_outputs"],
      ]);
}

/** Decides whether a hook comes to the URL of some submission, also of an earlier life. */
function isLateHook(random: Random, { sent }: Submitters): boolean {
  return sent.length > 0 && random.isLucky(0.06);
}

/** Returns a hook to the URL of a submission, mostly about its own job. */
function submissionHook(random: Random, submissionId: string): HookEvent {
  const own = jobIdOf(submissionId);
  const jobId = random.pick([own, own, own, null, OTHER_JOB.id]);
  return hookFrom(random, { jobId, isSigned: random.isLucky(0.3), submissionId });
}

/** Returns a hook with some news, or one that is not understood. */
function hookFrom(random: Random, changes: Parameters<typeof aHook>[1]): HookEvent {
  if (random.isLucky(0.1)) {
    return aHook(NO_OUTPUT, { ...changes, unread: random.pick(UNREAD_HOOKS) });
  }
  const news = random.pick(random.isLucky(OVERSIZED_SHARE) ? OVERSIZED : NEWS);
  const isRunning = news.status === "processing" && random.isLucky(0.7);
  return aHook(news, isRunning ? { ...changes, progress: random.below(101) } : changes);
}

/** Returns a report of the object that copies the outputs of a task, perhaps about an earlier task with the same id. */
function endedCopies(record: CreatedTask, random: Random): CopiesEndedEvent {
  const recordedAt = (record.recordedAt ?? 0) - (random.isLucky(0.1) ? 1 : 0);
  const ended = [1, 2].flatMap((number) =>
    random.isLucky(0.6) ? { number, state: random.pick(COPY_ENDS) } : [],
  );
  return { type: "copies_ended", recordedAt, ended };
}

function eventOf(type: Exclude<ChosenEvent, "copies_ended">, random: Random): OutsideEvent {
  switch (type) {
    case "register":
      return registration(random);
    case "report":
      return report(random, 0.3);
    case "hook": {
      const jobId = random.pick([JOB.id, JOB.id, null, OTHER_JOB.id]);
      const connection = random.pick([CONNECTION, CONNECTION, CONNECTION, "fal"]);
      return hookFrom(random, { jobId, connection, isSigned: random.isLucky(0.4) });
    }
    case "attach":
      return anAttachment(random.pick([JOB, JOB, JOB, OTHER_JOB]), CONNECTION, random.isLucky(0.5));
    case "redeliver": {
      const attempts = 1 + random.below(3);
      const idempotencyKey = random.pick(ORDER_KEYS);
      return build.aRedelivery({
        attempts,
        idempotencyKey,
        orderedBy: random.pick(["operator", "operator", "owner"]),
        ...(random.isLucky(0.2)
          ? { callbackUrl: endpointUrl("orders"), endpoint: random.pick(ORDERED) }
          : { callbackUrl: random.pick([null, null, URL_B]) }),
      });
    }
    case "rewrite_index_row":
      return { type, isAlwaysDue: random.isLucky(0.5) };
    case "cancel":
      return { type, isForced: random.isLucky(0.3) };
    case "delete_outputs":
      return { type, number: random.pick([1, 1, 2, 3, null]) };
    case "cancel_submitted":
    case "erase":
      return { type };
  }
}

function isJobUnknown(record: TaskRecord): boolean {
  return record.upstream !== null && record.upstream.job === null;
}

function hasKept(record: TaskRecord | null): boolean {
  return record !== null && isOpen(record) && record.tracking.keptHooks.length > 0;
}

/** Returns the same registration again, for a caller who got no answer; perhaps with another request. */
function repeated(
  { registration: known, submission, credits, account }: TaskRecord,
  random: Random,
): RegisterEvent {
  const chargeId = credits !== null && credits.chargeId !== null ? "another" : null;
  const endpoint = random.isLucky(0.3) ? { endpoint: random.pick(LATER) } : {};
  const given = build.aRegistration({ ...known, chargeId, account, ...endpoint });
  const rule = known?.priceRule === undefined ? {} : { priceRule: known.priceRule };
  const again = { ...given, registration: { ...given.registration, ...rule } };
  if (submission === null) return again;
  const requestDigest = random.isLucky(0.2) ? "another" : submission.requestDigest;
  const isCall = submission.isCall === true && random.isLucky(0.8);
  const call = isCall ? ({ isCall: true } as const) : {};
  return { ...again, submission: { ...SUBMISSION, requestDigest, ...call } };
}

/** Returns an event for a task that is not visible yet. */
function beginning(random: Random): OutsideEvent {
  return random.weighted<OutsideEvent>([
    [7, registration(random)],
    [3, report(random, 0.9)],
    [0.3, aHook(build.aCompletion())],
    [0.3, build.aRedelivery()],
  ]);
}

export function registration(random: Random): RegisterEvent {
  if (random.isLucky(SUBMITTED_SHARE)) return submitting(random);
  return random.weighted(REGISTRATIONS)({
    ...random.pick(CALLBACKS),
    provider: random.pick([null, CONNECTION, CONNECTION]),
    deadlineMs: random.pick([null, null, MINUTE, 2 * DAY]),
    job: random.isLucky(0.3) ? JOB : null,
  });
}

/** Returns the registration of a task whose job the relay submits itself. */
function submitting(random: Random): RegisterEvent {
  const given = random.weighted(REGISTRATIONS)({
    ...random.pick(CALLBACKS),
    provider: CONNECTION,
    deadlineMs: random.pick([null, null, MINUTE, 2 * DAY]),
  });
  const submission = {
    ...SUBMISSION,
    endpoint: random.pick([null, null, "fal/fox"]),
    isByOwner: random.isLucky(0.5),
    ...(random.isLucky(HOOKLESS_SHARE) && { isHookless: true as const }),
    ...senderOf(random),
  };
  return { ...given, submission: keyed(submission, random) };
}

/** Returns who sends the call of a submission: an object, if the caller does not wait or gets the answer through it. */
function senderOf(random: Random): Pick<SubmissionStart, "isCall" | "isPassedOn"> {
  if (random.isLucky(CALL_SHARE)) return { isCall: true };
  return random.isLucky(PASSED_SHARE) ? { isPassedOn: true } : {};
}

/** Returns a submission, perhaps with a key of the customer, which the world seals with the newest relay secret. */
function keyed(submission: SubmissionStart, random: Random): SubmissionStart {
  return random.isLucky(CUSTOMER_SHARE) ? { ...submission, customerKey: SEALED_KEY } : submission;
}

function report(random: Random, mayCreate: number): ReportEvent {
  const isProcessing = random.isLucky(0.25);
  const callback = random.pick(CALLBACKS);
  const creation = random.isLucky(mayCreate) ? build.aCreation(callback) : null;
  return build.aReport(isProcessing ? build.PROCESSING : random.pick(RESULTS), creation);
}
