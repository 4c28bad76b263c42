import type { WithStartup } from "../../config/runtime.ts";
import { SECOND_MS } from "../../core/time.ts";
import { errorText, log } from "../../lib/log.ts";
import { withinTime } from "../../lib/timeout.ts";
import { objectNamed } from "../placed-object.ts";
import type { PlaceAnswer, PlaceQuestion, RefusedAttempt } from "./job-queue.ts";

/**
 * The methods of a queue that the sender of a call uses. They are declared here, because importing the class would make
 * the files of both objects import each other.
 */
interface AskedQueue extends Rpc.DurableObjectBranded {
  ask: (question: PlaceQuestion) => PlaceAnswer;
  refuse: (refused: RefusedAttempt) => true;
  leave: (submissionId: string, upTo?: number) => true;
}

/** The binding of the queues, in which senders of calls ask for places. */
export interface PlaceBindings extends WithStartup {
  readonly QUEUES: DurableObjectNamespace<AskedQueue>;
}

/** Result of asking the queues of a submission for a place. */
export type PlaceReply =
  /** A place of this connection is free, and the submission has it. */
  | { readonly kind: "granted"; readonly connection: string }
  /** The submission waits. `isEverywhere` is false when not all queues could be reached. */
  | { readonly kind: "waiting"; readonly isEverywhere: boolean }
  /** No place is free and the submission does not wait (`busy`), or as many wait as may (`full`). */
  | { readonly kind: "busy" | "full"; readonly retryAfterMs: number };

const TIMEOUT_MS = 5 * SECOND_MS;
/** Wait that the client of a full connection is told if no queue has stated one. */
const USUAL_RETRY_MS = 5 * SECOND_MS;

/**
 * Asks the queues of these connections for a place, one after the other, and stops at the first that has one. A
 * submission that may wait is then still in the queues that were asked before, of which one may have granted it a place
 * meanwhile: only its caller knows which place it has, and leaves the others.
 */
export async function askForPlace(
  env: PlaceBindings,
  connections: readonly string[],
  question: PlaceQuestion,
): Promise<PlaceReply> {
  const answers: (PlaceAnswer | null)[] = [];
  for (const connection of connections) {
    const ask = async () => await queueOf(env, connection).ask(question);
    const answer = await answered<PlaceAnswer>(connection, ask);
    if (answer?.kind === "granted") return { kind: "granted", connection };
    answers.push(answer);
  }
  const known = answers.filter((answer) => answer !== null);
  const waits = known.flatMap((each) => ("retryAfterMs" in each ? each.retryAfterMs : []));
  const isEverywhere = known.length === answers.length;
  const isWaiting = known.some(({ kind }) => kind === "waiting");
  if (question.mayWait && (isWaiting || waits.length === 0))
    return { kind: "waiting", isEverywhere };
  const retryAfterMs = waits.length === 0 ? USUAL_RETRY_MS : Math.min(...waits);
  return { kind: question.mayWait ? "full" : "busy", retryAfterMs };
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
  { submissionId, attempt }: Pick<PlaceQuestion, "submissionId" | "attempt">,
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
  connection: string,
  { submissionId, attempt }: Pick<PlaceQuestion, "submissionId" | "attempt">,
): Promise<boolean> {
  const leave = async () => await queueOf(env, connection).leave(submissionId, attempt);
  return (await answered<true>(connection, leave)) !== null;
}

/**
 * Tells the queue of a connection that the upstream has refused an attempt, so that its place is free.
 * @returns false when the queue could not be reached.
 */
export async function refusePlace(
  env: PlaceBindings,
  connection: string,
  refused: RefusedAttempt,
): Promise<boolean> {
  const refuse = async () => await queueOf(env, connection).refuse(refused);
  return (await answered<true>(connection, refuse)) !== null;
}

/** Calls the queue of a connection. Returns null when it cannot be reached. */
async function answered<T>(connection: string, call: () => Promise<T>): Promise<T | null> {
  return withinTime<T | null>(call, null, TIMEOUT_MS).catch((error: unknown) => {
    log({ event: "queue.unreached", connection, error: errorText(error) }, "warn");
    return null;
  });
}

function queueOf(env: PlaceBindings, connection: string) {
  return objectNamed(env.QUEUES, connection, env);
}
