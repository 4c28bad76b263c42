import { setTimeout as sleep } from "node:timers/promises";
import { withDeadline } from "../../../../src/lib/timeout.ts";
import { ARK_TASKS } from "../../submit/fake-ark.ts";
import {
  type FinalAnswer,
  jobBody,
  repeatUntilFinal,
  submitOnce,
} from "../submissions/submitting.ts";
import type { Order } from "./orders.ts";
import type { Evidence } from "./recording.ts";

/** How often a client that waits for the upstream's answer tries to get a place, and the pause in milliseconds. */
const TRIES = 12;
const PAUSE_MS = 400;
const REPEAT_AFTER_MS = 250;
const ANSWER_WITHIN_MS = 20_000;

/** What a client has got for its order. */
export type Outcome = Pick<Evidence, "order" | "answer" | "cancelStatus">;

/** Where and how a client submits an order. */
export interface Door {
  readonly url: string;
  /** API key of the account. */
  readonly key: string;
  readonly callbackUrl: string;
}

/** Submits an order, cancels it if its client wants to, and waits for its callback. */
export async function outcomeOf(
  door: Door,
  order: Order,
  callback: Promise<void>,
): Promise<Outcome> {
  const answer = await submitOrder(door, order);
  if (answer === null || answer.status === 400 || answer.status === 429) {
    return { order, answer, cancelStatus: null };
  }
  const canceled = cancelOrder(door, order, answer, callback);
  await callback;
  return { order, answer, cancelStatus: await canceled };
}

/** Submits an order, several times when no place is free and the submission does not wait for one. */
async function submitOrder(
  { url, key, callbackUrl }: Door,
  order: Order,
): Promise<FinalAnswer | null> {
  const startBy = order.startByS === null ? null : Math.ceil(Date.now() / 1_000 + order.startByS);
  const headers = {
    "Idempotency-Key": order.key,
    "Relay-Callback-Url": callbackUrl,
    ...(order.isWaiting ? {} : { Prefer: "respond-async" }),
    ...(startBy === null ? {} : { "Relay-Start-By": String(startBy) }),
  };
  const at = `${url}/v1/submit/${order.via}${ARK_TASKS}`;
  const call = { url: at, key, headers, body: jobBody(order.prompt) };
  for (let tries = 1; ; tries++) {
    const answer = await repeatUntilFinal(() => submitOnce(call));
    if (answer?.status !== 429 || tries === TRIES) return answer;
    await sleep(PAUSE_MS);
  }
}

/** Cancels the task of an order, if its client wants to, unless it ends before. @returns the status of the answer. */
async function cancelOrder(
  { url, key }: Door,
  { cancelAfterMs }: Order,
  { taskId }: FinalAnswer,
  callback: Promise<void>,
): Promise<number | null> {
  if (cancelAfterMs === null) return null;
  const over = new AbortController();
  void callback.then(() => over.abort());
  await Promise.race([sleep(cancelAfterMs), callback]);
  while (!over.signal.aborted) {
    const status = await cancelOnce(`${url}/v1/tasks/${taskId}/cancel`, key).catch(() => null);
    if (status !== null && status < 500) return status;
    await sleep(REPEAT_AFTER_MS);
  }
  return null;
}

function cancelOnce(url: string, key: string): Promise<number> {
  return withDeadline(ANSWER_WITHIN_MS, async (signal) => {
    const headers = { Authorization: `Bearer ${key}` };
    return (await fetch(url, { method: "POST", headers, signal })).status;
  });
}
