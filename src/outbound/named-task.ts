import type { Poll } from "../core/duties/poll.ts";
import { SECOND_MS } from "../core/time.ts";
import type { Observation } from "../providers/observation.ts";
import type { PollAdapter, Reading } from "../providers/provider.ts";
import type { Answer } from "../providers/provider-answer.ts";
import { readHookToken } from "../security/hook-token.ts";
import type { Keyring } from "../security/keyring.ts";

/**
 * The meaning of the last answer in a poll, as an adapter has read it. It is never `next` (one more request is needed),
 * because a poll ends only after all its requests.
 */
export type FinalReading = Exclude<Reading, { readonly kind: "next" }>;

/**
 * The last answer in a poll (which may consist of several requests), and what the adapter has read from this answer.
 */
export interface Answered {
  readonly reading: FinalReading;
  readonly head: Answer;
}

/**
 * Largest time in milliseconds by which the stated creation of a job may precede the beginning of its submission and
 * still count as later, because the upstream's clock may be behind that of the relay.
 */
const CLOCK_TOLERANCE_MS = 10 * SECOND_MS;

/**
 * Tells whether a provider's answer about a job shows that the job was submitted for the task of the poll: the answer
 * contains the id of the task or its hook URL. If the relay has submitted the job itself, it is enough that the answer
 * states the submitted model and a creation after the submission began, because the hook that named the job came to a
 * URL that only the upstream has seen. The model is not compared if the submission named it by an alias. Also true for
 * an answer that is no report on a job, e.g. a refusal of the API key, so that it has the same effect as in any other
 * poll.
 */
export async function namesTask(
  reading: FinalReading,
  poll: Poll,
  keyring: Pick<Keyring, "hookKeys">,
  { modelAliases }: Pick<PollAdapter, "modelAliases">,
): Promise<boolean> {
  if (reading.kind !== "observed") return true;
  const { observation } = reading;
  if (observation.taskId?.toLowerCase() === poll.taskId) return true;
  if (poll.submitted !== null && isOfSubmission(observation, poll.submitted, modelAliases)) {
    return true;
  }
  return isHookUrlOf(observation.hookUrl ?? "", poll, keyring);
}

/**
 * Tells whether a text is the hook URL of the task or, when the relay has submitted the job, that of its submission.
 */
async function isHookUrlOf(
  url: string,
  { connection, taskId, submitted, customerKey }: Poll,
  { hookKeys }: Pick<Keyring, "hookKeys">,
): Promise<boolean> {
  const { pathname } = URL.parse(url) ?? { pathname: "" };
  const [name, id, token = ""] = pathname.split("/").slice(-3);
  if (id !== taskId || name !== connection) return false;
  const read = await readHookToken(token, connection, taskId, hookKeys);
  if (read === null || read.hasCustomerKey !== (customerKey !== null)) return false;
  return read.submissionId === (submitted?.id ?? null);
}

function isOfSubmission(
  { model = null, submittedAt = null }: Observation,
  submitted: NonNullable<Poll["submitted"]>,
  aliases: RegExp | undefined,
): boolean {
  const earliest = submitted.startedAt - CLOCK_TOLERANCE_MS;
  const isSameModel = model === submitted.model || aliases?.test(submitted.model) === true;
  return isSameModel && submittedAt !== null && submittedAt >= earliest;
}
