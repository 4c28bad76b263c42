import type { RefusedOutcome, SubmitOutcome } from "../../core/events/event.ts";
import { SECOND_MS } from "../../core/time.ts";
import { mayBeSentAgain } from "../../objects/call/call-plan.ts";
import { reportRefusal } from "../../objects/call/report-refusal.ts";
import {
  leaveOthers,
  type PlaceRefusal,
  takePlace,
  USUAL_RETRY_MS,
} from "../../objects/queue/place-request.ts";
import {
  type GrantedPlace,
  isCertainlyKept,
  type PlaceOrder,
} from "../../objects/queue/queue-row.ts";
import type { TaskReply } from "../../objects/task/reply.ts";
import { asMember } from "../../providers/provider.ts";
import { Problem } from "../http/problem.ts";
import { taskClient } from "../tasks/task-client.ts";
import { bringOutcome } from "./bring-outcome.ts";
import { type RegisteredTask, registeredTask } from "./registered-task.ts";
import type { SubmissionPlan, SubmitCall } from "./submission-plan.ts";
import { queuesFor } from "./submit-place.ts";
import type { Submitted } from "./submitted.ts";

/** An attempt to send the call of a submission, after its outcome is known and before the caller gets an answer. */
export interface CallAttempt {
  /** Outcome of the attempt. Null while it is not known yet, because an object goes on with the call. */
  readonly outcome: SubmitOutcome | null;
  /** True when the task and the queue have been told already that this attempt was refused. */
  readonly isReported: boolean;
  /** Ends the submission with this attempt, and returns the result for its caller. */
  readonly end: () => Promise<Submitted>;
  /** Gives back what the answer of this attempt takes, because another attempt follows. */
  readonly drop: () => void;
}

/**
 * Function that sends the call of a submission once.
 * @param task the task as it was registered.
 * @param place the place that the call uses; null when the jobs of the connection are not limited.
 */
export type Send = (
  plan: SubmissionPlan,
  task: TaskReply,
  submitCall: SubmitCall,
  place: GrantedPlace | null,
) => Promise<CallAttempt>;

/**
 * Registers the task of a submission whose caller waits, after a place was asked for it.
 * @param onUnsent is called when nothing is sent, although the task's object may have recorded the submission.
 * @throws Problem `connection_busy` when there is no place, unless the submission repeats an earlier one.
 */
export async function registeredWithPlace(
  plan: SubmissionPlan,
  submitCall: SubmitCall,
  onUnsent: () => unknown,
): Promise<RegisteredTask & { readonly place: GrantedPlace | null }> {
  const names = namesOf(plan);
  if (names.length === 0) {
    return { ...(await registeredTask(plan, submitCall, onUnsent)), place: null };
  }
  const since = Date.now();
  const reply = await search(plan, names, { attempt: 1, since }, submitCall);
  if (reply.kind !== "granted") {
    const registered = await registeredBefore(plan, submitCall, connectionBusy(reply));
    return { ...registered, place: null };
  }
  const { connection } = reply;
  const place = { connection, attempt: 1 };
  const { event } = plan;
  const submission = event.submission && { ...event.submission, place: connection };
  const placed = { ...plan, event: { ...event, ...(submission && { submission }) } };
  const leave = () => submitCall.env.startup.waitUntil(leaveAll(plan, place, submitCall));
  try {
    const registered = await registeredTask(placed, submitCall, onUnsent);
    if (!registered.isNew) leave();
    else if (!(await isKept(plan, place, since, submitCall))) {
      await onUnsent();
      throw connectionBusy(null);
    }
    return { ...registered, place };
  } catch (error) {
    leave();
    throw error;
  }
}

/**
 * Registers the task of a submission that got no place, which only repeats an earlier one.
 * @throws the problem when it does not.
 */
export async function registeredBefore(
  plan: SubmissionPlan,
  submitCall: SubmitCall,
  problem: Problem,
): Promise<RegisteredTask> {
  const { event, submissionId } = plan;
  if (!(await taskClient(submitCall.env, event.id).isKnown())) throw problem;
  const drop = () => bringOutcome(event.id, submissionId, { kind: "not_sent" }, submitCall);
  const registered = await registeredTask(plan, submitCall, drop);
  if (!registered.isNew) return registered;
  // The earlier task was erased in between.
  await drop();
  throw problem;
}

/**
 * Sends the call of a submission. If an attempt is refused for a reason that concerns the member of a pool and not the
 * call, and its body is in memory, the call is sent to the next member that has a place, once to each.
 */
export async function sendAttempts(
  plan: SubmissionPlan,
  task: TaskReply,
  submitCall: SubmitCall,
  first: GrantedPlace | null,
  send: Send,
): Promise<Submitted> {
  const tried: string[] = [];
  for (let place = first; ;) {
    const sent = await send(planAt(plan, place), task, submitCall, place);
    if (place === null || sent.outcome === null || !mayBeSentAgain(sent.outcome)) {
      return await sent.end();
    }
    tried.push(place.connection);
    const isAgain = sent.isReported || (await waitsAgain(plan, place, sent.outcome, submitCall));
    const next = isAgain ? await nextPlace(plan, place, tried, submitCall) : null;
    if (next === null) return await sent.end();
    sent.drop();
    place = next;
  }
}

/** Tells the task and the queue that an attempt was refused. Returns whether the task waits for another attempt. */
async function waitsAgain(
  { event, submissionId }: SubmissionPlan,
  place: GrantedPlace,
  outcome: RefusedOutcome,
  { env }: SubmitCall,
): Promise<boolean> {
  const about = { taskId: event.id, submissionId };
  const { reply } = await reportRefusal(env, about, place, outcome);
  return reply === "again";
}

/** Takes a place for the next attempt, and lets the task begin it. Returns null when there will be none. */
async function nextPlace(
  plan: SubmissionPlan,
  last: GrantedPlace,
  tried: readonly string[],
  submitCall: SubmitCall,
): Promise<GrantedPlace | null> {
  // A body that was passed on unread is gone.
  if (plan.sent.body instanceof ReadableStream) return null;
  const { event, submissionId } = plan;
  const attempt = last.attempt + 1;
  const since = Date.now();
  const others = namesOf(plan).filter((name) => !tried.includes(name));
  const reply = await search(plan, others, { attempt, since }, submitCall);
  if (reply.kind !== "granted") return null;
  const place = { connection: reply.connection, attempt };
  const start = await taskClient(submitCall.env, event.id)
    .startCall({ type: "call_started", submissionId, ...place })
    .catch(() => null);
  // The queue has not taken the place back: before that it asks the task, which by then begins no further attempt.
  if (start?.kind === "send") return place;
  await leaveAll(plan, place, submitCall);
  return null;
}

/** Looks for a place of one of these connections that is free now. */
function search(
  { event, place, submissionId }: SubmissionPlan,
  connections: readonly string[],
  question: Pick<PlaceOrder, "attempt" | "since">,
  { env }: SubmitCall,
) {
  const order = { submissionId, taskId: event.id, account: event.registration.accountId };
  return takePlace(env, connections, { ...order, via: place.connection.name, ...question });
}

/**
 * Tells whether an attempt still has its place, now that its task is known. If this took long, the queue is asked again:
 * it renews the place, or grants another one if it has taken this one back.
 */
async function isKept(
  plan: SubmissionPlan,
  { connection, attempt }: GrantedPlace,
  since: number,
  submitCall: SubmitCall,
): Promise<boolean> {
  if (isCertainlyKept(since, Date.now())) return true;
  const reply = await search(plan, [connection], { attempt, since }, submitCall);
  return reply.kind === "granted";
}

function leaveAll(
  { submissionId }: SubmissionPlan,
  { connection, attempt }: GrantedPlace,
  { env }: SubmitCall,
): Promise<void> {
  return leaveOthers(env, [connection], null, { submissionId, attempt });
}

/** Returns the plan of a submission whose call goes to the connection that has a place for it. */
function planAt(plan: SubmissionPlan, place: GrantedPlace | null): SubmissionPlan {
  const member = queuesFor(plan.place).find(({ name }) => name === place?.connection);
  if (member === undefined) return plan;
  const connection = asMember(plan.place.connection, member);
  return { ...plan, place: { ...plan.place, connection } };
}

function namesOf({ event }: SubmissionPlan): readonly string[] {
  return event.submission?.queues ?? [];
}

/**
 * Returns the problem for a submission that found no free place, and does not wait for one.
 * @param refusal null when it has lost the place that it had found.
 */
function connectionBusy(refusal: PlaceRefusal | null): Problem {
  const detail =
    "All places for such jobs are taken. Nothing was sent or charged. With Prefer: respond-async the submission waits for a place.";
  return new Problem("connection_busy", {
    detail,
    headers: retryAfter(refusal ?? { retryAfterMs: USUAL_RETRY_MS }),
  });
}

/** Returns the problem for a submission that cannot wait, because as many wait for a place as may. */
export function queueFull(refusal: PlaceRefusal): Problem {
  const detail =
    "As many submissions wait for a place for such a job as may. Nothing was sent or charged.";
  return new Problem("queue_full", { detail, headers: retryAfter(refusal) });
}

function retryAfter({
  retryAfterMs,
}: Pick<PlaceRefusal, "retryAfterMs">): Readonly<Record<string, string>> {
  return { "Retry-After": String(Math.max(1, Math.ceil(retryAfterMs / SECOND_MS))) };
}
