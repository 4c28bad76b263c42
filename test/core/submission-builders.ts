import type { RefusalClass } from "../../src/core/record/refusal.ts";
import type {
  CallRefusedEvent,
  CallStartedEvent,
  RegisterEvent,
  SubmitEndedEvent,
  SubmitOutcome,
} from "../../src/core/events/event.ts";
import type { Policy } from "../../src/core/policy.ts";
import type { CustomerKey, SealedKey } from "../../src/core/record/customer-key.ts";
import type { QueueStay } from "../../src/core/record/queue-stay.ts";
import type {
  Submission,
  SubmissionAnswer,
  SubmissionStart,
  UnknownOutcome,
} from "../../src/core/record/submission.ts";
import type { ChargingTask, OpenTask } from "../../src/core/record/task.ts";
import type { UpstreamEnd } from "../../src/core/record/upstream.ts";
import {
  ACCOUNT,
  aPolicy,
  type aRegistration,
  CONNECTION,
  HOUR,
  LIMITS,
  MINUTE,
  NOW,
  POLICY,
  SEALED_WITH,
} from "./builders.ts";
import { aChargingTask, aPricedRegistration, credits } from "./credit-builders.ts";
import {
  aHook,
  aProvidedRegistration,
  aProvidedTask,
  aTracking,
  JOB,
  UPSTREAM,
} from "./upstream-builders.ts";

export const SUBMISSION_ID = "c3VibWlzc2lvbi1pZC0wMQ";
/** Id of the submission of another task, or of another life of the same task. */
export const OTHER_SUBMISSION_ID = "c3VibWlzc2lvbi1pZC0wMg";
/** Time at which the outcome of a submission that could be sent from NOW on becomes unknown. */
export const SENDING_ENDS_AT = NOW + POLICY.submitTimeoutMs + 10_000;
/** Time at which a task fails whose submission has had an unknown outcome since NOW. */
export const FAILS_AT = NOW + POLICY.submitUnknownMs;

export const ANSWER: SubmissionAnswer = {
  status: 200,
  contentType: "application/json",
  body: '{"id":"cgt-1"}',
};

/** Settings in which polls of the connection state the model and the creation of a job, as those of Ark do. */
export const STATING = aPolicy({
  polls: new Map([[CONNECTION, { ...LIMITS, isCreationStated: true }]]),
});

/** Returns settings in which the answers to polls prove which submission a job belongs to. */
export function stating(changes: Partial<Policy> = {}): Policy {
  return { ...STATING, ...changes };
}

function aStart(changes: Partial<SubmissionStart> = {}): SubmissionStart {
  return { id: SUBMISSION_ID, requestDigest: "digest-1", endpoint: null, ...changes };
}

/** Builds a registration with which the relay submits the job. */
export function aSubmittedRegistration(
  changes: Parameters<typeof aRegistration>[0] = {},
  start: Partial<SubmissionStart> = {},
): RegisterEvent {
  return { ...aProvidedRegistration(changes), submission: aStart(start) };
}

/** Builds a registration with a submission and with a price that the relay's own ledger charges. */
export function aPricedSubmission(
  changes: Parameters<typeof aRegistration>[0] = {},
  start: Partial<SubmissionStart> = {},
): RegisterEvent {
  const registration = aPricedRegistration({ provider: CONNECTION, ...changes });
  return { ...registration, submission: aStart(start) };
}

/** Builds a submission that the upstream has not answered yet. */
export function aSubmission(changes: Partial<Submission> = {}): Submission {
  const state = { kind: "sending", endsAt: SENDING_ENDS_AT } as const;
  const { id, requestDigest, endpoint } = aStart();
  const known = { isByOwner: false, startedAt: NOW, state, answer: null, customerKey: null };
  return { id, requestDigest, endpoint, ...known, ...changes };
}

/** Time at which a call fails its task that has waited to be sent since NOW. */
export const QUEUE_ENDS_AT = NOW + HOUR;
/** Time at which the outcome of a call that is sent at NOW becomes unknown. */
export const CALL_ENDS_AT = NOW + POLICY.asyncTimeoutMs + MINUTE;

/** Builds a task without a price whose call waits to be sent, and about which no hook can come. */
export function aQueuedTask(
  changes: Partial<OpenTask> = {},
  submission: Partial<Submission> = {},
): OpenTask {
  const state = { kind: "queued", failsAt: QUEUE_ENDS_AT } as const;
  const call = { isHookless: true, isCall: true, state } as const;
  return aSendingTask({ submission: aSubmission({ ...call, ...submission }), ...changes });
}

/** Builds a task without a price whose call is being sent since NOW, and about which no hook can come. */
export function aCallingTask(changes: Partial<OpenTask> = {}): OpenTask {
  return aQueuedTask(changes, { state: { kind: "sending", endsAt: CALL_ENDS_AT } });
}

/** Name of the pool to which a submission in queues is addressed, and of the members in whose queues it is. */
export const POOL = "ark-pool";
export const MEMBER_A = CONNECTION;
export const MEMBER_B = "ark-b";

/** Builds the stay of a submission in the queues of both members of a pool. */
export function aStay(changes: Partial<QueueStay> = {}): QueueStay {
  const leave = { retryAt: 0, tries: 0 };
  return {
    connections: [MEMBER_A, MEMBER_B],
    attempt: 1,
    startBy: QUEUE_ENDS_AT,
    leave,
    ...changes,
  };
}

/** Builds a task whose call waits in the queues of both members of a pool. */
export function aWaitingTask(
  changes: Partial<OpenTask> = {},
  submission: Partial<Submission> = {},
): OpenTask {
  const { registration } = aProvidedRegistration({ provider: POOL });
  const upstream = { connection: POOL, job: null };
  return aQueuedTask({ registration, upstream, ...changes }, { stay: aStay(), ...submission });
}

/** Builds the order to begin an attempt of a call that has a place at a member of a pool. */
export function anAttemptStart(attempt = 1, connection = MEMBER_A): CallStartedEvent {
  return { ...aCallStart(), attempt, connection };
}

/** Builds the proof that an attempt of a call has started nothing, by default the first one at member A. */
export function aRefusedCall(changes: Partial<CallRefusedEvent> = {}): CallRefusedEvent {
  return {
    type: "call_refused",
    submissionId: SUBMISSION_ID,
    attempt: 1,
    connection: MEMBER_A,
    statusCode: 429,
    refusal: "busy",
    ...changes,
  };
}

/** Builds the order to begin the call of a submission. */
export function aCallStart(submissionId: string = SUBMISSION_ID): CallStartedEvent {
  return { type: "call_started", submissionId };
}

/** Builds the state of a submission whose outcome has been unknown since NOW, without an answer. */
export function unknown(changes: Partial<UnknownOutcome> = {}): UnknownOutcome {
  return {
    kind: "unknown",
    answeredAt: null,
    statusCode: null,
    failsAt: FAILS_AT,
    askAt: null,
    tries: 0,
    ...changes,
  };
}

/** Builds the state of a submission that the upstream has answered with its job. */
export function accepted(answeredAt: number | null = NOW, statusCode: number | null = 200) {
  return { kind: "accepted", answeredAt, statusCode } as const;
}

/** Builds the state of a submission whose job is known by something else than the upstream's answer. */
export function knownOtherwise() {
  return accepted(null, null);
}

/** Builds a task without a price whose submission the upstream has not answered yet. */
export function aSendingTask(changes: Partial<OpenTask> = {}): OpenTask {
  return aProvidedTask({
    tracking: aTracking({ poll: null }),
    submission: aSubmission(),
    ...changes,
  });
}

/** Builds a task without a price whose submission has had an unknown outcome since NOW. */
export function anUnknownTask(
  state: Partial<UnknownOutcome> = {},
  changes: Partial<OpenTask> = {},
): OpenTask {
  return aSendingTask({ submission: aSubmission({ state: unknown(state) }), ...changes });
}

/** Returns a task after the ledger has charged its price. */
export function withPrice(task: OpenTask, chargeId: string | null = "charge-1"): OpenTask {
  const { registration } = aPricedRegistration({ provider: CONNECTION });
  return { ...task, account: ACCOUNT, registration, credits: credits(undefined, { chargeId }) };
}

/** Builds a task with a submission whose price is being charged. */
export function aChargingSubmission(changes: Partial<ChargingTask> = {}): ChargingTask {
  const { registration } = aPricedSubmission();
  const upstream = { ...UPSTREAM, job: null };
  return aChargingTask({ registration, upstream, submission: aSubmission(), ...changes });
}

/** Builds the end of a submission. */
export function aSubmitEnd(
  outcome: SubmitOutcome,
  submissionId: string = SUBMISSION_ID,
): SubmitEndedEvent {
  return { type: "submit_ended", submissionId, outcome };
}

type Acceptance = Extract<SubmitOutcome, { readonly kind: "accepted" }>;

/** Builds the end of a submission whose answer names the job. */
export function anAcceptance(changes: Partial<Omit<Acceptance, "kind">> = {}): SubmitEndedEvent {
  const answered = { statusCode: 200, job: JOB, isHookExpected: false, answer: ANSWER };
  return aSubmitEnd({ kind: "accepted", ...answered, ...changes });
}

/** Builds the end of a submission whose answer is itself the end of the job. */
export function aResultAtOnce(
  news: UpstreamEnd,
  job: typeof JOB | null = JOB,
  answer: SubmissionAnswer | null = ANSWER,
): SubmitEndedEvent {
  return aSubmitEnd({ kind: "result", statusCode: 200, news, job, answer });
}

export function aRefusal(
  statusCode = 400,
  refusal: RefusalClass = "final",
  answer?: SubmissionAnswer,
): SubmitEndedEvent {
  return aSubmitEnd({ kind: "refused", statusCode, refusal, ...(answer && { answer }) });
}

export const NOT_SENT = aSubmitEnd({ kind: "not_sent" });

export function anUnknownOutcome(statusCode: number | null = null): SubmitEndedEvent {
  return aSubmitEnd({ kind: "unknown", statusCode });
}

/** Builds a hook that came to the URL of the submission. */
export function aSubmissionHook(...[news, changes]: Parameters<typeof aHook>) {
  return aHook(news, { submissionId: SUBMISSION_ID, ...changes });
}

/** A customer's key as it is sealed with the present relay secret. */
export const SEALED_KEY: SealedKey = {
  sealedWith: SEALED_WITH,
  nonce: "bm9uY2Utbm9uY2U",
  ciphertext: "Y2lwaGVydGV4dA",
};

/** Returns the customer's key of a submission. @param unreadableSince time from which its secret is gone. */
export function aCustomerKey(unreadableSince: number | null = null): CustomerKey {
  return { ...SEALED_KEY, kind: "sealed", unreadableSince };
}

/** Returns settings without the relay secret with which the keys of customers are sealed. */
export function withoutSecret(policy: Policy = POLICY): Policy {
  return { ...policy, sealingIds: new Set(["secret-2"]) };
}
