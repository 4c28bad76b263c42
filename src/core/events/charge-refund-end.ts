import { changed, type Decision, erasure, unchanged } from "./decision.ts";
import type { ChargeEndedEvent, RefundEndedEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import { release } from "../record/callback-attempt-plan.ts";
import {
  type ChargingCredits,
  type Credits,
  isCharging,
  planRetry,
  type Retry,
  startReturn,
} from "../record/credits.ts";
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
 * Time in milliseconds after the end of a task. A refund that is not confirmed by then is reported to the operator.
 */
const REFUND_DELAYED_MS = 5 * MINUTE_MS;

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
      const { balance, price } = answer;
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
  return { ...credits, state: { kind: "charged" } };
}

/**
 * Returns the effect of the answer to a refund. After a confirmed refund the attempts of the callback start;
 * otherwise the next try of the refund is planned. The refund of a refused submission ends in the erasure of its task,
 * whose id may be used again at once, so an answer about another submission changes nothing.
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
      callback: callback && release(callback, policy, now),
    });
  }
  const retry = planRetry(credits.state, now);
  const state = { kind: "refunding", ...retry } as const;
  const late = { ...next, credits: { ...credits, state } };
  const isNews =
    isNoticeWanted(policy, "refund.delayed") && passesLimit(record, credits.state, retry);
  return changed(isNews ? withDelayNotice(late, now) : late);
}

/** Returns the effect of the answer to the refund of a refused submission. */
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
 * Tells whether the next try of a refund is the first one later than 5 minutes (`REFUND_DELAYED_MS`) after the end
 * of the task. The operator gets a notice only when this try is planned, so that one late refund causes one notice.
 */
function passesLimit({ finishedAt }: TerminalTask, tried: Retry, next: Retry): boolean {
  if (finishedAt === null) return false;
  const limit = finishedAt + REFUND_DELAYED_MS;
  return tried.retryAt <= limit && next.retryAt > limit;
}

function withDelayNotice(record: TerminalTask, now: number): TerminalTask {
  const notice = noticeOf("refund.delayed", record.version, now);
  return { ...record, notices: withNotice(record.notices, notice) };
}
