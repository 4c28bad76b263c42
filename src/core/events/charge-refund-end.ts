import { changed, type Decision, erasure, unchanged } from "./decision.ts";
import type { ChargeEndedEvent, RefundEndedEvent, ReleaseEndedEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import { startAutomatic } from "../plans/callback-attempt-plan.ts";
import { type ChargingCredits, type Credits, isCharging, startReturn } from "../record/credits.ts";
import { planRetry, type Retry } from "../record/retry.ts";
import { isNoticeWanted, noticeOf, withNotice } from "../record/operator-notice.ts";
import { restartSubmission } from "../record/submission.ts";
import {
  type ChargingTask,
  isTerminal,
  nextVersion,
  type TaskRecord,
  type TerminalTask,
} from "../record/task.ts";
import { trackingOf } from "../polls/next-poll.ts";
import { MINUTE_MS } from "../time.ts";

/**
 * Time in milliseconds after the end of a task. A refund or release that is not confirmed by then is reported to the
 * operator.
 */
export const REFUND_DELAYED_MS = 5 * MINUTE_MS;

/**
 * Returns the effect of the ledger's answer to a charge. A charged task becomes visible to readers, a refused one
 * is erased, and a charge without an answer is tried again later.
 */
export function endCharge(
  record: TaskRecord | null,
  { chargeId, answer }: ChargeEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record?.status !== "charging" || !isCharging(record.credits)) return unchanged(record);
  const { credits } = record;
  if (credits.chargeId !== chargeId) return unchanged(record);
  const version = nextVersion(record, now);
  switch (answer.kind) {
    case "charged": {
      const { submission } = record;
      if (submission?.state.kind === "unsent") {
        return changed({ ...record, version, credits: startReturn(chargedOf(credits), now) });
      }
      const account = { id: credits.accountId, generation: answer.generation };
      const charged = chargedOf(credits);
      const tracking = trackingOf(record.upstream, now);
      const task = { ...record, version, account, credits: charged, tracking, notices: [] };
      return changed({
        ...task,
        submission: submission && restartSubmission(submission, policy, now),
        status: "pending",
      });
    }
    case "insufficient": {
      const { balance, price, month } = answer;
      if (month !== undefined) return erasure(record, { code: "monthly_limit", price, ...month });
      return erasure(record, { code: "insufficient_credits", balance, price });
    }
    case "unknown_account":
      return erasure(record, { code: "unknown_account" });
    case "unknown": {
      const state = { kind: "charging", ...planRetry(credits.state, now) } as const;
      return changed({ ...record, version, credits: { ...credits, state } });
    }
  }
}

function chargedOf(credits: ChargingCredits): Credits {
  return { ...credits, final: null, state: { kind: "charged" } };
}

/**
 * Returns the effect of the answer to a refund. After a confirmed refund the attempts of the callback start; otherwise
 * the next try of the refund is planned. After the refund of a refused submission, the task is erased, and its id may
 * be used again at once; therefore an answer about another submission than the present one changes nothing.
 */
export function endRefund(
  record: TaskRecord | null,
  event: RefundEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record?.status === "charging") return endReturn(record, event, now);
  if (record === null || !isTerminal(record) || record.credits === null) return unchanged(record);
  const { credits, callback } = record;
  if (credits.state.kind !== "refunding" || event.submissionId !== null) return unchanged(record);
  const next = {
    ...record,
    version: nextVersion(record, now),
    expiresAt: now + policy.retentionMs,
  };
  if (event.isRefunded) {
    const refunded: Credits = { ...credits, state: { kind: "refunded", at: now } };
    return changed({
      ...next,
      credits: refunded,
      callback: callback && startAutomatic(callback, policy, now),
    });
  }
  const retry = planRetry(credits.state, now);
  const state = { kind: "refunding", ...retry } as const;
  const late = { ...next, credits: { ...credits, state } };
  return changed(withDelayNotice(late, record, credits.state, retry, policy, now));
}

/**
 * Returns the effect of the answer to a release, i.e. to the order to give back the difference between the credits
 * charged for a completed task and its final price. If the answer does not confirm the release, the next try is
 * planned.
 */
export function endRelease(
  record: TaskRecord | null,
  { isReleased }: ReleaseEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isTerminal(record) || record.credits === null) return unchanged(record);
  const { credits } = record;
  if (credits.state.kind !== "releasing") return unchanged(record);
  const version = nextVersion(record, now);
  const next = { ...record, version, expiresAt: now + policy.retentionMs };
  if (isReleased) {
    return changed({ ...next, credits: { ...credits, state: { kind: "released", at: now } } });
  }
  const retry = planRetry(credits.state, now);
  const state = { kind: "releasing", ...retry } as const;
  const late = { ...next, credits: { ...credits, state } };
  return changed(withDelayNotice(late, record, credits.state, retry, policy, now));
}

/**
 * Applies the ledger's answer to the refund of a task whose submission was refused: a confirmed refund erases the task,
 * otherwise the next try is planned.
 */
function endReturn(
  record: ChargingTask,
  { isRefunded, submissionId }: RefundEndedEvent,
  now: number,
): Decision {
  const { credits, submission } = record;
  if (isCharging(credits) || (submission?.id ?? null) !== submissionId) return unchanged(record);
  if (isRefunded) return erasure(record, "not_submitted");
  const state = { kind: "refunding", ...planRetry(credits.state, now) } as const;
  return changed({ ...record, version: nextVersion(record, now), credits: { ...credits, state } });
}

/**
 * Returns the task with a notice to the operator that its refund or release is delayed. The notice is added only when
 * the next try is the first one planned for later than 5 minutes (`REFUND_DELAYED_MS`) after the end of the task, so
 * that a delayed refund or release causes one notice. Otherwise the task is returned unchanged.
 * @param record the task before the try that has just ended.
 */
function withDelayNotice(
  next: TerminalTask,
  { finishedAt }: TerminalTask,
  tried: Retry,
  retry: Retry,
  policy: Policy,
  now: number,
): TerminalTask {
  if (!isNoticeWanted(policy, "refund.delayed")) return next;
  const limit = finishedAt + REFUND_DELAYED_MS;
  if (tried.retryAt > limit || retry.retryAt <= limit) return next;
  const notice = noticeOf("refund.delayed", next.version, now);
  return { ...next, notices: withNotice(next.notices, notice) };
}
