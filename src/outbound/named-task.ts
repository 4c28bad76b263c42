import type { Poll } from "../core/duties/poll.ts";
import type { Reading } from "../providers/provider.ts";
import { isHookToken } from "../security/hook-token.ts";
import type { Keyring } from "../security/keyring.ts";

/**
 * The meaning of the last answer in a poll, as an adapter has read it. It is never `next` (one more request is
 * needed), because a poll ends only after all its requests.
 */
export type FinalReading = Exclude<Reading, { readonly kind: "next" }>;

/**
 * Tells whether a provider's answer about a job shows that the job was submitted for the task of the poll: the
 * answer contains the id of the task or its hook URL. An answer that is no report on a job, e.g. a refusal of the
 * API key, gives true, so that it has the same effect as in any other poll.
 */
export async function namesTask(
  reading: FinalReading,
  { connection, taskId }: Poll,
  { hookKeys }: Keyring,
): Promise<boolean> {
  if (reading.kind !== "observed") return true;
  const { taskId: named, hookUrl } = reading.observation;
  if (named?.toLowerCase() === taskId) return true;
  const { pathname } = URL.parse(hookUrl ?? "") ?? { pathname: "" };
  const [name, id, token = ""] = pathname.split("/").slice(-3);
  return id === taskId && name === connection && isHookToken(token, connection, taskId, hookKeys);
}
