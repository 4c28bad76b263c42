import { release } from "../record/callback.ts";
import { type Credits, laterRetry, type Retry } from "../record/credits.ts";
import { type Decision, changed, unchanged } from "./decision.ts";
import type { ChargeEndedEvent, RefundEndedEvent } from "./event.ts";
import type { Policy } from "../policy.ts";
import { noticeOf, withNotice } from "../record/notice.ts";
import { isTerminal, nextVersion, type TaskRecord, type TerminalTask } from "../record/task.ts";
import { trackingOf } from "../record/tracking.ts";

/** A refund that takes longer is told to the operator. */
const REFUND_DELAYED_MS = 300_000;

/** The ledger has answered a charge, or not: only now the task exists, or is gone without a trace. */
export function endCharge(
  record: TaskRecord | null,
  event: ChargeEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record?.status !== "charging" || record.credits.chargeId !== event.chargeId) {
    return unchanged(record);
  }
  const version = nextVersion(record, now);
  const { credits } = record;
  switch (event.answer.kind) {
    case "charged": {
      const account = { id: credits.accountId, generation: event.answer.generation };
      const charged: Credits = { ...credits, state: { kind: "charged" } };
      const tracking = trackingOf(record.upstream, policy, now);
      const task = { ...record, version, account, credits: charged, tracking };
      return changed({ ...task, status: "pending" });
    }
    case "insufficient":
    case "unknown_account":
      return { kind: "erase" };
    case "unknown": {
      const state = { kind: "charging", ...laterRetry(credits.state, now) } as const;
      return changed({ ...record, version, credits: { ...credits, state } });
    }
  }
}

/** The credits of a failure are back, and the callback may begin; or the refund is tried again later. */
export function endRefund(
  record: TaskRecord | null,
  event: RefundEndedEvent,
  policy: Policy,
  now: number,
): Decision {
  if (record === null || !isTerminal(record) || record.credits === null) return unchanged(record);
  const { credits, callback } = record;
  if (credits.state.kind !== "refunding") return unchanged(record);
  const next = {
    ...record,
    version: nextVersion(record, now),
    expiresAt: now + policy.retentionMs,
  };
  if (event.isRefunded) {
    const refunded: Credits = { ...credits, state: { kind: "refunded" } };
    return changed({
      ...next,
      credits: refunded,
      callback: callback && release(callback, policy, now),
    });
  }
  const retry = laterRetry(credits.state, now);
  const state = { kind: "refunding", ...retry } as const;
  const late = { ...next, credits: { ...credits, state } };
  const isNews = policy.isOperatorTold && passesLimit(record, credits.state, retry);
  return changed(isNews ? withDelayNotice(late, now) : late);
}

/** The try that passes the limit, and no later one, is news for the operator. */
function passesLimit({ finishedAt }: TerminalTask, tried: Retry, next: Retry): boolean {
  if (finishedAt === null) return false;
  const limit = finishedAt + REFUND_DELAYED_MS;
  return tried.retryAt <= limit && next.retryAt > limit;
}

function withDelayNotice(record: TerminalTask, now: number): TerminalTask {
  const notice = noticeOf("refund.delayed", record.version, now);
  return { ...record, notices: withNotice(record.notices, notice) };
}
