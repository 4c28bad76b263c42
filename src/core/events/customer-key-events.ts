import { changed, type Decision, unchanged } from "./decision.ts";
import type { Policy } from "../policy.ts";
import { customerKeyNeededUntil } from "../polls/customer-key-need.ts";
import { isReadable, sealedKeyOf } from "../record/customer-key.ts";
import { isNoticeWanted, noticeOf, withNotice } from "../record/operator-notice.ts";
import { isOpen, nextVersion, type OpenTask, type TaskRecord } from "../record/task.ts";

/**
 * Returns the effect of a check of the customer's key of a task. The key of an ended task is removed when the task no
 * longer needs it. The key of an open task may have become unreadable, because the relay no longer has the secret with
 * which the key is encrypted, or may have become readable again.
 */
export function checkCustomerKey(record: TaskRecord | null, policy: Policy, now: number): Decision {
  if (record === null) return unchanged(record);
  if (isOpen(record)) return checkReadability(record, policy, now);
  const without = withoutUnneededKey(record, policy, now);
  return without === record ? unchanged(record) : changed(without);
}

/**
 * Returns the effect of a check whether the relay has the secret to decrypt the customer's key of an open task. When
 * the secret is missing, the operator gets a notice: without the key the job cannot be polled, and the task waits for
 * its hook.
 */
function checkReadability(record: OpenTask, policy: Policy, now: number): Decision {
  const { submission } = record;
  const key = submission?.customerKey ?? null;
  if (submission === null || key?.kind !== "sealed") return unchanged(record);
  const isLost = !isReadable(key, policy);
  if (isLost === (key.unreadableSince !== null)) return unchanged(record);
  const version = nextVersion(record, now);
  const customerKey = { ...key, unreadableSince: isLost ? now : null };
  const known = { ...record, version, submission: { ...submission, customerKey } };
  if (!isLost || !isNoticeWanted(policy, "key.unreadable")) return changed(known);
  const notice = noticeOf("key.unreadable", version, now);
  return changed({ ...known, notices: withNotice(known.notices, notice) });
}

/** Returns the record without the customer's key if the task no longer needs the key; otherwise the same record. */
export function withoutUnneededKey(record: TaskRecord, policy: Policy, now: number): TaskRecord {
  const { submission } = record;
  if (submission === null || sealedKeyOf(record) === null) return record;
  if (customerKeyNeededUntil(record, policy) > now) return record;
  return { ...record, submission: { ...submission, customerKey: { kind: "dropped" } } };
}
