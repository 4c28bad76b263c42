import type { Policy } from "../policy.ts";
import { isReadable } from "../record/customer-key.ts";
import { isOpen, type TaskRecord } from "../record/task.ts";
import type { Duty, EventStep } from "./duty.ts";

/**
 * Returns the step that records whether the relay still has the secret to decrypt the customer's key of a task
 * (events/customer-key-events.ts). Only a deployment with other relay secrets changes this, so the step is done when
 * the task wakes next for any reason. Null when the record already states it correctly.
 */
export function noteCustomerKey(record: TaskRecord, policy: Policy): Duty<EventStep> | null {
  if (!isOpen(record)) return null;
  const key = record.submission?.customerKey ?? null;
  if (key?.kind !== "sealed") return null;
  if (isReadable(key, policy) === (key.unreadableSince === null)) return null;
  const event = { type: "customer_key_checked" } as const;
  return { dueAt: record.createdAt, step: () => ({ kind: "event", event }) };
}
