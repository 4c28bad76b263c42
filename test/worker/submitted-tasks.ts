import type { SubmitOutcome } from "../../src/core/events/event.ts";
import type { SubmissionStart } from "../../src/core/record/submission.ts";
import { ORIGIN } from "./client.ts";
import { stubOf } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

const OPERATOR = { kind: "operator", role: "all", key: "test" } as const;

/** A task whose submission is in progress. */
export interface Submitted {
  readonly id: string;
  readonly submissionId: string;
}

/**
 * Registers a task with the connection `ark` whose submission begins, as the Worker does that submits it.
 * @param start what differs in the submission from one whose caller waits for the upstream.
 * @param accountId account that owns the task; null for none.
 */
export async function submitted(
  start: Partial<SubmissionStart> = {},
  accountId: string | null = null,
): Promise<Submitted> {
  const id = crypto.randomUUID();
  const submissionId = crypto.randomUUID();
  const registration = {
    callbackUrl: CALLBACK_URL,
    provider: "ark",
    parameters: null,
    metadata: null,
    deadlineAt: null,
    accountId,
    credits: null,
  };
  const applied = await stubOf(id).apply(
    {
      type: "register",
      id,
      model: "seedance",
      origin: ORIGIN,
      registration,
      job: null,
      deadlineMs: null,
      account: accountId === null ? null : { id: accountId, generation: 1 },
      chargeId: null,
      submission: { id: submissionId, requestDigest: "digest", endpoint: null, ...start },
    },
    OPERATOR,
  );
  if (applied.kind !== "recorded") throw new Error(`not registered: ${applied.kind}`);
  return { id, submissionId };
}

/** Brings the outcome of a submission to the task's object. */
export async function endSubmission(
  { id, submissionId }: Submitted,
  outcome: SubmitOutcome,
): Promise<void> {
  await stubOf(id).endSubmission({ type: "submit_ended", submissionId, outcome }, OPERATOR);
}

/** Registers a task whose call waits to be sent, and about which no hook can come. */
export function queued(): Promise<Submitted> {
  return submitted({ isCall: true, isHookless: true });
}

/** Begins the call of a submission, as the object that makes the call does. */
export function startCall({ id, submissionId }: Submitted) {
  return stubOf(id).startCall({ type: "call_started", submissionId });
}

/** Brings the outcome of a call, as the object that has made it does. */
export function endCall({ id, submissionId }: Submitted, outcome: SubmitOutcome) {
  return stubOf(id).endCall({ type: "submit_ended", submissionId, outcome });
}
