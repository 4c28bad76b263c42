import type { Cancel } from "../core/duties/cancel-job.ts";
import type { CancelAnswer } from "../core/events/event.ts";
import type { Runtime } from "../config/runtime.ts";
import type { Answer } from "../providers/provider-answer.ts";
import type { CancelableState, CancelAdapter, CancelRequest } from "../providers/cancel.ts";
import { type Observation, phaseIn } from "../providers/observation.ts";
import type { Connection, PollAdapter } from "../providers/provider.ts";
import { POLL_TIMEOUT_MS, withDeadline } from "../lib/timeout.ts";
import { askProvider } from "./ask-upstream.ts";
import { send } from "./http.ts";
import { connectionOf } from "./upstream-connection.ts";

const UNANSWERED: CancelAnswer = { kind: "unanswered", statusCode: null };
const NOT_FOUND = 404;

/**
 * Everything that the call for a cancellation needs: the connection, its key, the request, and the adapter's
 * descriptions of cancellations and polls.
 */
interface Plan {
  readonly cancel: Cancel;
  readonly connection: Connection;
  readonly key: string;
  readonly request: CancelRequest;
  readonly cancels: CancelAdapter;
  readonly polls: PollAdapter;
}

/**
 * Asks the provider to cancel a job. If the provider permits the call only in some states of a job, the state is asked
 * first. All this takes at most 10 seconds and never throws: a failure is returned as an answer.
 * core/events/cancel-end.ts applies the answer.
 */
export async function cancelUpstream(
  cancel: Cancel,
  runtime: Runtime,
  aborted: AbortSignal,
): Promise<CancelAnswer> {
  const connection = await connectionOf(cancel, runtime);
  if (connection === null) return UNANSWERED;
  const { provider, key } = connection;
  if (provider.polls === null) {
    const ageMs = Date.now() - cancel.createdAt;
    return whileSimulated(provider.simulation.observe(cancel.job, ageMs));
  }
  const { cancels, polls } = provider;
  const request = cancels?.request(cancel.job) ?? null;
  if (key === null || cancels === undefined || request === null) return UNANSWERED;
  const plan = { cancel, connection, key, request, cancels, polls };
  return withDeadline(
    POLL_TIMEOUT_MS,
    async (signal) => (await stateFault(plan, signal)) ?? (await call(plan, signal)),
    aborted,
  );
}

/**
 * Returns the answer to the cancellation of a simulated job. The job is canceled at once, unless it has ended already.
 */
function whileSimulated(observation: Observation): CancelAnswer {
  const isEnded = endedOrNull(observation) !== null;
  return { kind: isEnded ? "ended" : "canceled", statusCode: null };
}

/**
 * If the cancellation is permitted only in some states, asks for the state of the job. Returns the answer to the
 * cancellation when the call must not be sent in the present state; null when it may be sent.
 */
async function stateFault(plan: Plan, signal: AbortSignal): Promise<CancelAnswer | null> {
  const { cancel, cancels, connection, key, polls } = plan;
  if (cancels.onlyWhile === undefined) return null;
  const answered = await askProvider(cancel.job, connection, key, polls, signal);
  if (answered === null) return UNANSWERED;
  const { reading, head } = answered;
  const { status: statusCode } = head;
  if (reading.kind !== "observed") {
    if (reading.kind === "unauthorized") return { kind: "refused", statusCode };
    return reading.kind === "limited"
      ? { kind: "unanswered", statusCode }
      : unread(plan, statusCode);
  }
  const { observation } = reading;
  const isPermitted = isIn(observation, cancels.onlyWhile);
  return endedOrNull(observation) ?? (isPermitted ? null : REFUSED_BY_STATE);
}

const REFUSED_BY_STATE: CancelAnswer = { kind: "refused", statusCode: null };

function endedOrNull(observation: Observation): CancelAnswer | null {
  const phase = phaseIn(observation);
  const isEnded = phase === "completed" || phase === "failed";
  return isEnded ? { kind: "ended", statusCode: null } : null;
}

function isIn(observation: Observation, states: readonly CancelableState[]): boolean {
  const phase = phaseIn(observation);
  return states.some((each) => each === phase);
}

/** Sends the request that cancels the job, and returns what the provider's answer means. */
async function call(plan: Plan, signal: AbortSignal): Promise<CancelAnswer> {
  const { connection, key, request, cancels, polls } = plan;
  const { method, path, body } = request;
  const headers = await polls.headers(key, Date.now());
  const url = `${connection.baseUrl}${path}`;
  const answer = await send({ method, url, headers, ...(body && { body }) }, signal);
  if (answer === null) return UNANSWERED;
  const { status: statusCode } = answer;
  if (statusCode === 401 || statusCode === 403) return { kind: "refused", statusCode };
  if (statusCode === 429) return { kind: "unanswered", statusCode };
  const kind = statusCode >= 500 ? "unknown" : cancels.read(answer);
  return kind === "unknown" ? unread(plan, statusCode) : { kind, statusCode };
}

/**
 * Returns what an answer to a cancellation means if the adapter does not understand the answer. A 404 to a repeated
 * cancellation means that the job is canceled, if the provider is known to forget canceled jobs.
 */
function unread({ cancel, cancels }: Plan, statusCode: Answer["status"]): CancelAnswer {
  const isForgotten = statusCode === NOT_FOUND && cancel.isRepeat && cancels.forgetsCanceled;
  if (isForgotten === true) return { kind: "canceled", statusCode };
  return { kind: statusCode >= 500 ? "unanswered" : "unclear", statusCode };
}
