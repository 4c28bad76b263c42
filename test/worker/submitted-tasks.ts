import type { SubmitOutcome } from "../../src/core/events/event.ts";
import { ORIGIN } from "./client.ts";
import { stubOf } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

const OPERATOR = { kind: "operator", role: "all", key: "test" } as const;

/** A task whose submission is in progress. */
export interface Submitted {
  readonly id: string;
  readonly submissionId: string;
}

/** Registers a task with the connection `ark` whose submission begins, as the Worker does that submits it. */
export async function submitted(): Promise<Submitted> {
  const id = crypto.randomUUID();
  const submissionId = crypto.randomUUID();
  const registration = {
    callbackUrl: CALLBACK_URL,
    provider: "ark",
    parameters: null,
    metadata: null,
    deadlineAt: null,
    accountId: null,
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
      account: null,
      chargeId: null,
      submission: { id: submissionId, requestDigest: "digest", endpoint: null },
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
