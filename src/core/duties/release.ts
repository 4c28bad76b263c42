import { MAX_CALLBACK_TIMEOUT_MS, type Policy } from "../policy.ts";
import { releasedOf } from "../record/credits.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";
import type { Usage } from "../record/upstream.ts";
import type { Duty } from "./duty.ts";
import { mayDelayClient } from "./operator-notice-send.ts";

/** An order to give back the difference between the credits charged for a completed task and its final price. */
export interface Release {
  readonly taskId: string;
  readonly accountId: string;
  /**
   * Reference of the charge in the ledger. Null when the credits are given back by the operator's own billing and not
   * by the ledger.
   */
  readonly chargeId: string | null;
  /** Credits to give back, more than 0. */
  readonly amount: number;
  /** Final price of the task in credits. */
  readonly final: number;
  /** Consumption or cost of the job as the upstream has stated it; null when it has stated none. */
  readonly usage: Usage | null;
}

export interface ReleaseStep {
  readonly kind: "release";
  readonly release: Release;
}

/** Time in milliseconds that must lie between a release by the ledger and a planned attempt of the callback. */
const LEDGER_CLEARANCE_MS = 2_500;
/**
 * Time in milliseconds that must lie between a release by the operator's own billing and a planned attempt of the
 * callback. The operator's billing may take as long to answer as a receiver of callbacks.
 */
const BILLING_CLEARANCE_MS = MAX_CALLBACK_TIMEOUT_MS + 500;

/**
 * Returns the order to give back the difference between the credits charged for a completed task and its final price.
 * It is repeated until it is confirmed; the waits are planned by `planRetry` in record/retry.ts. The Durable Object
 * of the account books this release (objects/account/ledger-book.ts). Null when no release is open, and when an attempt
 * of the callback is planned so soon that the call could delay it.
 */
export function release(record: TaskRecord, policy: Policy): Duty<ReleaseStep> | null {
  if (!isTerminal(record) || record.credits === null) return null;
  const { accountId, chargeId, final, state } = record.credits;
  if (state.kind !== "releasing" || final === null) return null;
  const clearanceMs = chargeId === null ? BILLING_CLEARANCE_MS : LEDGER_CLEARANCE_MS;
  if (mayDelayClient(record, policy, state.retryAt, clearanceMs)) return null;
  const { id: taskId, usage } = record;
  const amount = releasedOf(record.credits);
  const order: Release = { taskId, accountId, chargeId, amount, final: final.credits, usage };
  return { dueAt: state.retryAt, step: () => ({ kind: "release", release: order }) };
}
