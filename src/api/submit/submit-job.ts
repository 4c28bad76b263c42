import * as z from "zod/mini";
import type { Runtime } from "../../config/runtime.ts";
import type { SubmitOutcome } from "../../core/events/event.ts";
import { errorName, log } from "../../lib/log.ts";
import { withDeadline } from "../../lib/timeout.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { answerSecrets, withoutSecrets } from "../../outbound/answer-secrets.ts";
import { readSubmitAnswer, submit, type SubmitAnswer } from "../../outbound/http.ts";
import { simulatedAnswer } from "../../outbound/simulated-answer.ts";
import { outcomeOf } from "../../outbound/submit-outcome.ts";
import { keyHeadersOf } from "../../outbound/upstream-connection.ts";
import { bytesToClient, contentToClient } from "../http/client-stream.ts";
import { accountOf } from "../../objects/task/caller.ts";
import { NoQuery, operation } from "../operation.ts";
import { AnswerReservation } from "./answer-budget.ts";
import { BodyReservation } from "./body-budget.ts";
import { bringOutcome } from "./bring-outcome.ts";
import { answered, type EndedSubmission } from "./answered.ts";
import { callLater } from "./call-later.ts";
import { registeredWithPlace, sendAttempts, type CallAttempt } from "./call-place.ts";
import { passOn } from "./pass-on.ts";
import { PendingCall } from "./pending-call.ts";
import { sentHeaders } from "./sent-headers.ts";
import { planSubmission, type SubmissionPlan, type SubmitCall } from "./submission-plan.ts";
import { replayed, type Submitted } from "./submitted.ts";
import { UpstreamCall } from "./upstream-call.ts";

// The call of a submission is sent again only after a proof that it has started nothing or, in a pool with `failures`,
// that its job has failed; without queues (objects/queue) it is sent once. Four places hold this together:
//
// 1. The task's object stores the submission under an id that this request has drawn, before anything is sent, and joins
//    or refuses any other registration under the same task id (`register`, core/events/intake.ts). It also numbers the
//    attempts: the next one begins only after the refusal of the one before was stored (`refuseCall`,
//    core/events/call-refusal.ts).
// 2. Only the request whose id is stored sends, and only where the object says that the task is new (`submitOnce`), and
//    for each further attempt, that it begins (`sendAttempts`, call-place.ts).
// 3. Each attempt is sent once (`outcomeOfSending`). An answer that is missing or cannot be read leaves the outcome
//    unknown, and no attempt follows. Only the outcome is brought to the object more than once (bring-outcome.ts).
// 4. No duty of the object sends a submission (core/step.ts). After a crash its outcome is unknown: the task waits for a
//    hook, or for its end, or fails at once where nothing can show a job (core/duties/submission-wait.ts).
//
// A call whose client does not wait (`callLater`) is sent by an object of its own, which stores that it sends before it
// sends, and never sends again what it finds in this state (objects/call/call-object.ts); after a refusal it stores that
// before it goes on, and after a failed job the task has stored the failure (core/events/submit-again.ts). A call that
// is answered by the result (`passOn`) is sent by such an object too, in the one method that the request with the stored
// id calls once for each attempt.

/**
 * Submits a job to an upstream: registers its task, charges the price, sends the caller's own call, stores the upstream's
 * response, and then returns it. Whatever happens, the call is sent again only if it has provably started nothing,
 * or its job has failed.
 */
export const submitJob = operation(
  "submitJob",
  {
    access: "submit",
    rateLimit: "LIMIT_SUBMITS",
    params: ["connection"],
    query: NoQuery,
    body: z.instanceof(UpstreamCall),
    takesIdempotencyKey: true,
  },
  async (submitCall: SubmitCall): Promise<Submitted> => {
    const memory = new BodyReservation(accountOf(submitCall.caller));
    const pending = new PendingCall(submitCall.env);
    try {
      const plan = await planSubmission(submitCall, memory, pending);
      const work = plan.call.isAsync
        ? callLater(plan, submitCall, pending)
        : submitOnce(plan, submitCall);
      // A client that hangs up loses nothing: a charged call is sent, and its answer is stored all the same.
      submitCall.env.startup.waitUntil(work.catch(() => undefined));
      return await work;
    } finally {
      memory.release();
      submitCall.env.startup.waitUntil(pending.drop());
    }
  },
);

/** Registers the task of a submission, and sends the call only if the task's object confirms the registration. */
async function submitOnce(plan: SubmissionPlan, submitCall: SubmitCall): Promise<Submitted> {
  const { event, submissionId } = plan;
  const registered = await registeredWithPlace(plan, submitCall, () =>
    // Nothing was sent, and nothing will be.
    bringOutcome(event.id, submissionId, { kind: "not_sent" }, submitCall),
  );
  const { isNew, task, submission, place } = registered;
  if (!isNew) return await replayed(event, task, submission, plan.place.connection, submitCall);
  const send = event.submission?.isPassedOn === true ? passOn : sendCall;
  return await sendAttempts(plan, task, submitCall, place, send);
}

/** Sends the call of a submission from this Worker. */
async function sendCall(
  plan: SubmissionPlan,
  registered: TaskReply,
  submitCall: SubmitCall,
): Promise<CallAttempt> {
  const memory = new AnswerReservation(accountOf(submitCall.caller));
  const orGiveBack = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      memory.giveBack();
      throw error;
    }
  };
  const sent = await orGiveBack(async () => {
    const send = await sendingOf(plan, memory, submitCall);
    return await outcomeOfSending(send, plan, submitCall.runtime);
  });
  const end = async () => {
    const ended = await endedWith(sent, plan, registered, submitCall);
    return await answered(ended, plan, submitCall, (bytes) => sentTo(submitCall, bytes, memory));
  };
  const { outcome } = sent;
  return { outcome, isReported: false, drop: () => memory.giveBack(), end: () => orGiveBack(end) };
}

/** Stores the outcome of a submission. */
async function endedWith(
  { answer, outcome }: Pick<EndedSubmission, "answer" | "outcome">,
  { event, submissionId }: SubmissionPlan,
  registered: TaskReply,
  submitCall: SubmitCall,
): Promise<EndedSubmission> {
  const { isStored, task } = await bringOutcome(event.id, submissionId, outcome, submitCall);
  const isLeft = !isStored && outcome.kind !== "refused";
  return { answer, outcome, isStored, task: isLeft ? registered : task };
}

/**
 * Returns the body of the upstream's response for the caller of a submission. For a long body, memory stays reserved
 * until the caller has read it.
 */
function sentTo({ env }: SubmitCall, bytes: Uint8Array<ArrayBuffer>, memory: AnswerReservation) {
  if (!memory.isTaken) return contentToClient(bytes);
  memory.keep(bytes.length);
  const { body, ended } = bytesToClient(bytes, () => memory.giveBack());
  env.startup.waitUntil(ended);
  return body;
}

/**
 * Function that sends the one call of a submission and returns the upstream's response, or null when there was none.
 */
type Sending = () => Promise<SubmitAnswer | null>;

/**
 * Builds the call of a submission.
 * @returns the function that sends the call.
 * @throws the error with which building the call failed, after the task's object was told that nothing is sent.
 */
async function sendingOf(
  plan: SubmissionPlan,
  memory: AnswerReservation,
  submitCall: SubmitCall,
): Promise<Sending> {
  try {
    return await builtCall(plan, memory, submitCall.runtime);
  } catch (error) {
    await bringOutcome(plan.event.id, plan.submissionId, { kind: "not_sent" }, submitCall);
    throw error;
  }
}

async function builtCall(
  { place, call, event, sent, secrets }: SubmissionPlan,
  memory: AnswerReservation,
  { config }: Runtime,
) {
  const { connection, credential, target } = place;
  const { provider, baseUrl } = connection;
  if (provider.polls === null) {
    const { simulation } = provider;
    return async () =>
      await withDeadline(config.submitTimeoutMs, async (signal) => {
        const response = await simulatedAnswer(simulation, event.model, call.path, signal);
        return await readSubmitAnswer(response, { isLarge: false }, signal);
      });
  }
  // The customer's own header goes up as it is: nothing is made of its key.
  const credentials = { ...(await keyHeadersOf(connection)), ...credential?.headers };
  const headers = sentHeaders(call.headers, { ...target.headers, ...credentials }, sent);
  const isLarge = target.answer === "job-or-result";
  const takeMemory = (bytes: number, signal: AbortSignal) => memory.take(bytes, signal);
  const url = `${baseUrl}${sent.path}`;
  const request = { url, headers, body: sent.body, isLarge, takeMemory };
  return async () => {
    const answer = await submit(request, config.submitTimeoutMs);
    return answer === null ? null : withoutSecrets(answer, answerSecrets(connection, secrets));
  };
}

/**
 * Sends the call of a submission, and returns its outcome. When the relay itself fails after the call may have been
 * sent, the outcome is unknown.
 */
async function outcomeOfSending(
  send: Sending,
  { place, call, event, jobId, isHookExpected }: SubmissionPlan,
  { config }: Runtime,
) {
  let answer: SubmitAnswer | null = null;
  try {
    answer = await send();
    const { path } = call;
    const outcome = outcomeOf(answer, place, { path, jobId, isHookExpected }, config);
    return { answer, outcome };
  } catch (error) {
    log({ event: "submission.unread", task_id: event.id, error: errorName(error) }, "error");
    const outcome: SubmitOutcome = { kind: "unknown", statusCode: answer?.status ?? null };
    return { answer, outcome };
  }
}
