import type { Credits, CreditsState } from "../../src/core/record/credits.ts";
import type { ChargeAnswer, ChargeEndedEvent, RegisterEvent } from "../../src/core/events/event.ts";
import type { PriceRule } from "../../src/core/record/price-rule.ts";
import type { ChargingTask, OpenTask, TerminalTask } from "../../src/core/record/task.ts";
import { NO_KEY_NAMES } from "../../src/core/record/key-names.ts";
import { NO_COUNTS } from "../../src/core/record/counts.ts";
import { NO_INDEX_ROW } from "../../src/core/record/index-row-state.ts";
import {
  ACCOUNT,
  aCallback,
  aFinishedTask,
  anOpenTask,
  aRegistration,
  ID,
  MODEL,
  NOW,
  NOW_S,
} from "./builders.ts";

export const CHARGE_ID = "charge-1";
export const PRICE = 40;
const CHARGED: ChargeAnswer = { kind: "charged", generation: ACCOUNT.generation };

/** Builds a registration with a price that the relay's own ledger charges. */
export function aPricedRegistration(
  changes: Parameters<typeof aRegistration>[0] = {},
): RegisterEvent {
  return aRegistration({
    accountId: ACCOUNT.id,
    credits: PRICE,
    chargeId: CHARGE_ID,
    ...changes,
  });
}

/** Builds a registration with a price that the operator's own billing has charged. */
export function aSettledRegistration(
  changes: Parameters<typeof aRegistration>[0] = {},
): RegisterEvent {
  return aPricedRegistration({ account: ACCOUNT, chargeId: null, ...changes });
}

export function aChargeEnd(answer: ChargeAnswer = CHARGED, chargeId = CHARGE_ID): ChargeEndedEvent {
  return { type: "charge_ended", chargeId, answer };
}

/** Builds the end of a refund. @param submissionId submission that was refused; null for a failed task. */
export function aRefundEnd(isRefunded: boolean, submissionId: string | null = null) {
  return { type: "refund_ended", isRefunded, submissionId } as const;
}

export function credits(
  state: CreditsState = { kind: "charged" },
  changes: Partial<Credits> = {},
): Credits {
  return {
    accountId: ACCOUNT.id,
    amount: PRICE,
    chargeId: CHARGE_ID,
    final: null,
    state,
    ...changes,
  };
}

export function refunding(retryAt = NOW, tries = 0): CreditsState {
  return { kind: "refunding", retryAt, tries };
}

export function aChargingTask(changes: Partial<ChargingTask> = {}): ChargingTask {
  const { callbackUrl, deadlineAt, v, version, id, model, createdAt, recordedAt, origin } =
    anOpenTask();
  return {
    v,
    version,
    id,
    model,
    createdAt,
    recordedAt,
    origin,
    callbackUrl,
    deadlineAt,
    registration: aPricedRegistration().registration,
    submission: null,
    cancellation: null,
    account: null,
    upstream: null,
    indexRow: { ...NO_INDEX_ROW, outdatedAt: NOW },
    counts: NO_COUNTS,
    keyNames: NO_KEY_NAMES,
    status: "charging",
    credits: {
      accountId: ACCOUNT.id,
      amount: PRICE,
      chargeId: CHARGE_ID,
      state: { kind: "charging", retryAt: NOW, tries: 0 },
    },
    ...changes,
  };
}

/** Builds an open task whose price was charged. */
export function aChargedTask(changes: Partial<OpenTask> = {}): OpenTask {
  const { registration } = aPricedRegistration();
  return anOpenTask({ account: ACCOUNT, registration, credits: credits(), ...changes });
}

export function failedBody(code: string, message: string): string {
  const head = { id: ID, status: "failed", model: MODEL, created_at: NOW_S };
  return JSON.stringify({ ...head, error: { code, message } });
}

/** Builds a charged task that has just failed: its refund is pending, so its callback is on hold. */
export function aRefundingTask(changes: Partial<TerminalTask> = {}): TerminalTask {
  const { account, registration } = aChargedTask();
  return aFinishedTask({
    account,
    registration,
    status: "failed",
    body: failedBody("content_policy", "The prompt was refused."),
    credits: credits(refunding()),
    callback: aHeldCallback(),
    ...changes,
  });
}

/** Price by usage: three credits for two tokens. */
const TOKEN_RULE: PriceRule = {
  by: "usage",
  name: "total_tokens",
  units: 2,
  rate: 3,
  min: 0,
};

/** Builds a registration with a price by usage, of which the relay's own ledger charges the most that it can be. */
export function aUsagePricedRegistration(
  changes: Parameters<typeof aRegistration>[0] = {},
): RegisterEvent {
  return withRule(aPricedRegistration(changes));
}

/** Builds a registration with a price by usage, of which the operator's own billing has charged the most. */
export function aUsageSettledRegistration(
  changes: Parameters<typeof aRegistration>[0] = {},
): RegisterEvent {
  return withRule(aSettledRegistration(changes));
}

function withRule(event: RegisterEvent): RegisterEvent {
  return { ...event, registration: { ...event.registration, priceRule: TOKEN_RULE } };
}

/** Price by usage: a second costs half a credit. */
export const PRICE_RULE: PriceRule = { by: "usage", name: "seconds", units: 2, rate: 1, min: 0 };

/** Builds a completed task of 25 seconds by `PRICE_RULE`: its callback is delivered, and the rest is to be released. */
export function aReleasingTask(changes: Partial<TerminalTask> = {}): TerminalTask {
  const { account, registration } = aChargedTask();
  return aFinishedTask({
    account,
    registration: registration && { ...registration, priceRule: PRICE_RULE },
    usage: { seconds: 25 },
    credits: credits(
      { kind: "releasing", retryAt: NOW, tries: 0 },
      { final: { credits: 13, basis: "usage" } },
    ),
    ...changes,
  });
}

export function aReleaseEnd(isReleased: boolean) {
  return { type: "release_ended", isReleased } as const;
}

export function aHeldCallback() {
  return aCallback({
    attempts: [],
    lastNumber: 0,
    series: { number: 1, started: 0, ordered: null, keyName: null },
    state: { kind: "held" },
    deliveredAt: null,
  });
}
