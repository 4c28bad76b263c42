import type { Policy } from "../policy.ts";
import { customerKeyNeededUntil } from "../polls/customer-key-need.ts";
import { sealedKeyOf } from "../record/customer-key.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";
import type { Duty, EventStep } from "./duty.ts";

/**
 * Returns the step that removes the customer's key from a task that has failed at its deadline, some time after the
 * last poll of its job. For any other task, the change that settles the task removes the key. Null when the task has no
 * such key, and while it is not known until when the key is needed.
 */
export function forgetCustomerKey(record: TaskRecord, policy: Policy): Duty<EventStep> | null {
  if (!isTerminal(record) || sealedKeyOf(record) === null) return null;
  const neededUntil = customerKeyNeededUntil(record, policy);
  if (neededUntil === Infinity) return null;
  const event = { type: "customer_key_checked" } as const;
  const dueAt = Math.max(neededUntil, record.createdAt);
  return { dueAt, step: () => ({ kind: "event", event }) };
}
