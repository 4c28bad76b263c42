import { release } from "./callback.ts";
import { type Credits, laterRetry, type Retry } from "./credits.ts";
import { type Decision, commit, nothing } from "./decision.ts";
import type { ChargeEndedEvent, RefundEndedEvent } from "./event.ts";
import type { Policy } from "./schedule.ts";
import { noticeOf, withNotice } from "./notice.ts";
import { isTerminal, nextVersion, type TaskRecord, type TerminalTask } from "./task.ts";
import { trackingOf } from "./tracking.ts";

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
    return nothing(record);
  }
  const version = nextVersion(record, now);
  const { credits } = record;
  switch (event.answer.kind) {
    case "charged": {
      const account = { id: credits.accountId, generation: event.answer.generation };
      const charged: Credits = { ...credits, state: { kind: "charged" } };
      const tracking = trackingOf(record.upstream, policy, now);
      const task = { ...record, version, account, credits: charged, tracking };
      return commit({ ...task, status: "pending" });
    }
    case "insufficient":
    case "unknown_account":
      return { kind: "erase" };
    case "unknown": {
      const state = { kind: "charging", ...laterRetry(credits.state, now) } as const;
      return commit({ ...record, version, credits: { ...credits, state } });
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
  if (record === null || !isTerminal(record) || record.credits === null) return nothing(record);
  const { credits, callback } = record;
  if (credits.state.kind !== "refunding") return nothing(record);
  const changed = {
    ...record,
    version: nextVersion(record, now),
    expiresAt: now + policy.retentionMs,
  };
  if (event.isRefunded) {
    const refunded: Credits = { ...credits, state: { kind: "refunded" } };
    return commit({
      ...changed,
      credits: refunded,
      callback: callback && release(callback, policy, now),
    });
  }
  const retry = laterRetry(credits.state, now);
  const state = { kind: "refunding", ...retry } as const;
  const late = { ...changed, credits: { ...credits, state } };
  const isNews = policy.isOperatorTold && passesLimit(record, credits.state, retry);
  return commit(isNews ? told(late, now) : late);
}

/** The try that passes the limit, and no later one, is news for the operator. */
function passesLimit({ finishedAt }: TerminalTask, tried: Retry, next: Retry): boolean {
  if (finishedAt === null) return false;
  const limit = finishedAt + REFUND_DELAYED_MS;
  return tried.retryAt <= limit && next.retryAt > limit;
}

function told(record: TerminalTask, now: number): TerminalTask {
  const notice = noticeOf("refund.delayed", record.version, now);
  return { ...record, notices: withNotice(record.notices, notice) };
}
