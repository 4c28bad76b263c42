import type { Policy, PollLimits } from "../policy.ts";
import { hasCustomerKey, isReadable, sealedKeyOf } from "../record/customer-key.ts";
import type { TaskRecord } from "../record/task.ts";

/**
 * Returns the limits of the polls of a task's job. Null when there is no key to poll it: the connection has none or,
 * for a job that was submitted with a key of the customer, this key has been removed or cannot be decrypted any more.
 * Such a job is never polled with the key of the connection.
 */
export function limitsOf(
  task: Pick<TaskRecord, "upstream" | "submission">,
  policy: Policy,
): PollLimits | null {
  if (task.upstream === null) return null;
  const { connection } = task.upstream;
  if (!hasCustomerKey(task)) return policy.polls.get(connection) ?? null;
  const key = sealedKeyOf(task);
  if (key === null || !isReadable(key, policy)) return null;
  return policy.customerPolls.get(connection) ?? null;
}
