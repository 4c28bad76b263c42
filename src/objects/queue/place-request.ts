import { configOf, type WithStartup } from "../../config/runtime.ts";
import type { RefusedOutcome } from "../../core/events/event.ts";
import { SECOND_MS } from "../../core/time.ts";
import { answerWithin } from "../../lib/timeout.ts";
import { objectNamed } from "../placed-object.ts";
import type { AttemptRefusal, PlaceAnswer, PlaceQuestion } from "./job-queue.ts";
import type { GrantedPlace, PlaceOrder } from "./queue-row.ts";

/**
 * The methods of a queue that the sender of a call uses. They are declared here, because importing the class would make
 * the files of both objects import each other.
 */
interface AskedQueue extends Rpc.DurableObjectBranded {
  ask: (question: PlaceQuestion) => PlaceAnswer;
  refuse: (refused: AttemptRefusal) => true;
  leave: (submissionId: string, upTo?: number, hasRun?: boolean) => true;
}

/** The binding of the queues, in which senders of calls ask for places. */
export interface PlaceBindings extends WithStartup {
  readonly QUEUES: DurableObjectNamespace<AskedQueue>;
}

/** A place of this connection is free, and the submission has it. */
interface Granted {
  readonly kind: "granted";
  readonly connection: string;
}

/** No place is free and the submission does not wait (`busy`), or as many wait as may (`full`). */
export interface PlaceRefusal {
  readonly kind: "busy" | "full";
  /** Wait after which asking again makes sense, in milliseconds. */
  readonly retryAfterMs: number;
}

/** Result of asking for a place for a submission that waits if none is free. */
export type PlaceReply =
  | Granted
  /** The submission waits. `isEverywhere` is false when a queue could not be reached, or a connection is not configured. */
  | { readonly kind: "waiting"; readonly isEverywhere: boolean }
  | PlaceRefusal;

/** Time limit in milliseconds of a call to a queue. */
export const QUEUE_TIMEOUT_MS = 5 * SECOND_MS;
/** Time limit in milliseconds of the whole search for a place for a submission that does not wait. */
const SEARCH_MS = 5 * SECOND_MS;
/** Wait that the client of a full connection is told if no queue has stated one. */
export const USUAL_RETRY_MS = 5 * SECOND_MS;

/**
 * Asks the queues of these connections for a place for a submission that waits if none is free: one after the other, up
 * to the first that has one. The submission is then still in the queues that were asked before, of which one may have
 * granted it a place meanwhile: only its caller knows which place it has, and leaves the others.
 */
export async function askForPlace(
  env: PlaceBindings,
  connections: readonly string[],
  order: PlaceOrder,
): Promise<PlaceReply> {
  const answers: (PlaceAnswer | null)[] = [];
  for (const connection of configured(env, connections)) {
    const answer = await ask(env, connection, { ...order, mayWait: true }, QUEUE_TIMEOUT_MS);
    if (answer?.kind === "granted") return { kind: "granted", connection };
    answers.push(answer);
  }
  const known = answers.filter((answer) => answer !== null);
  const isWaiting = known.some(({ kind }) => kind === "waiting");
  const retryAfterMs = leastRetryMs(known);
  if (retryAfterMs !== null && !isWaiting) return { kind: "full", retryAfterMs };
  return { kind: "waiting", isEverywhere: known.length === connections.length };
}

/**
 * Asks the queues of these connections for a place for a submission that does not wait: one after the other, up to the
 * first that has one, and for a few seconds in all. Queues that have not answered are left, because they may grant the
 * place still.
 */
export async function takePlace(
  env: PlaceBindings,
  connections: readonly string[],
  order: PlaceOrder,
): Promise<Granted | PlaceRefusal> {
  const endsAt = Date.now() + SEARCH_MS;
  const answers: PlaceAnswer[] = [];
  const silent: string[] = [];
  let taken: string | null = null;
  for (const [asked, connection] of connections.entries()) {
    const leftMs = endsAt - Date.now();
    if (leftMs <= 0) break;
    // A queue that hangs leaves time for the next.
    const limitMs = asked === connections.length - 1 ? leftMs : leftMs / 2;
    const answer = await ask(env, connection, { ...order, mayWait: false }, limitMs);
    if (answer?.kind === "granted") {
      taken = connection;
      break;
    }
    if (answer === null) silent.push(connection);
    else answers.push(answer);
  }
  if (silent.length > 0) env.startup.waitUntil(leaveOthers(env, silent, null, order));
  if (taken !== null) return { kind: "granted", connection: taken };
  return { kind: "busy", retryAfterMs: leastRetryMs(answers) ?? USUAL_RETRY_MS };
}

/** Returns the shortest wait that queues have stated, in milliseconds. Null when none has. */
function leastRetryMs(answers: readonly PlaceAnswer[]): number | null {
  const waits = answers.flatMap((each) => ("retryAfterMs" in each ? each.retryAfterMs : []));
  return waits.length === 0 ? null : Math.min(...waits);
}

function ask(
  env: PlaceBindings,
  connection: string,
  question: PlaceQuestion,
  limitMs: number,
): Promise<PlaceAnswer | null> {
  const put = async (): Promise<PlaceAnswer> => await queueOf(env, connection).ask(question);
  return answered(connection, put, limitMs);
}

/**
 * Lets a submission leave the queues of all these connections but one, up to its present attempt. A queue that cannot be
 * reached finds out by itself that the submission needs no place there.
 * @param kept connection whose place the submission has. Null when it leaves all.
 */
export async function leaveOthers(
  env: PlaceBindings,
  connections: readonly string[],
  kept: string | null,
  { submissionId, attempt }: Pick<PlaceOrder, "submissionId" | "attempt">,
): Promise<void> {
  const others = connections.filter((connection) => connection !== kept);
  const leave = (connection: string) =>
    answered<true>(connection, async () => queueOf(env, connection).leave(submissionId, attempt));
  await Promise.all(others.map(leave));
}

/**
 * Tells the queue of a connection that the job of an attempt has ended, so that its place is free.
 * @returns false when the queue could not be reached.
 */
export async function leavePlace(
  env: PlaceBindings,
  submissionId: string,
  { connection, attempt }: GrantedPlace,
): Promise<boolean> {
  const leave = async () => await queueOf(env, connection).leave(submissionId, attempt, true);
  return (await answered<true>(connection, leave)) !== null;
}

/**
 * Tells the queue of a connection that the upstream has refused an attempt, so that its place is free.
 * @returns false when the queue could not be reached.
 */
export async function refusePlace(
  env: PlaceBindings,
  submissionId: string,
  { connection, attempt }: GrantedPlace,
  { refusal, retryAfterMs }: Pick<RefusedOutcome, "refusal" | "retryAfterMs">,
): Promise<boolean> {
  const refused = { submissionId, attempt, refusal, retryAfterMs: retryAfterMs ?? null };
  const refuse = async () => await queueOf(env, connection).refuse(refused);
  return (await answered<true>(connection, refuse)) !== null;
}

/** Calls the queue of a connection. Returns null when it does not answer. */
function answered<T>(
  connection: string,
  call: () => Promise<T>,
  limitMs = QUEUE_TIMEOUT_MS,
): Promise<T | null> {
  return answerWithin(limitMs, { event: "queue.unanswered", connection }, call);
}

/** Returns those of the connections that are still configured; all when none is, so that the call gets a place and fails. */
function configured(env: PlaceBindings, connections: readonly string[]): readonly string[] {
  const known = configOf(env)?.connections;
  const rest = connections.filter((name) => known?.has(name) === true);
  return rest.length === 0 ? connections : rest;
}

function queueOf(env: PlaceBindings, connection: string) {
  return objectNamed(env.QUEUES, connection, env);
}
