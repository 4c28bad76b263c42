import { setTimeout as sleep } from "node:timers/promises";
import { withDeadline } from "../../../../src/lib/timeout.ts";
import { field } from "../../upstreams/apis.ts";
import { ARK_IMAGE_MODEL, ARK_IMAGES, ARK_MODEL, ARK_TASKS } from "../../submit/fake-ark.ts";
import type { Order } from "./orders.ts";

const REPEAT_AFTER_MS = 250;
/** Time limit for one answer in milliseconds, longer than the relay waits for the upstream. */
const ANSWER_WITHIN_MS = 20_000;
/** Time in milliseconds after which a submission is no longer repeated. */
const GIVE_UP_AFTER_MS = 150_000;

/** The answer after which a caller does not repeat a submission. */
export interface FinalAnswer {
  readonly status: number;
  readonly taskId: string;
  /** Id in the upstream's own answer; null for a problem, and where the upstream's answer has none. */
  readonly jobId: string | null;
  /** True when an earlier call had no answer, or one that says to come again. */
  readonly isRepeat: boolean;
}

/** Where and how callers submit. */
export interface Door {
  readonly url: string;
  readonly key: string;
  readonly callbackUrlOf: (order: Order) => string;
}

/**
 * Submits an order, and repeats the call with the same key until the answer is final: the upstream's own, or a problem
 * other than that the relay cannot answer yet.
 * @returns null when no answer was final in time.
 */
export async function submitUntilFinal(door: Door, order: Order): Promise<FinalAnswer | null> {
  await sleep(order.pauseMs);
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  for (let isRepeat = false; Date.now() < giveUpAt; isRepeat = true) {
    const answer = await submitOnce(door, order).catch(() => null);
    if (answer !== null && !isTemporary(answer)) return { ...answer, isRepeat };
    await sleep(REPEAT_AFTER_MS);
  }
  return null;
}

type Answer = Omit<FinalAnswer, "isRepeat"> & { readonly mayRepeat: boolean };

/** Tells whether an answer says that the same call is to be sent again later. */
function isTemporary({ status, mayRepeat }: Answer): boolean {
  return mayRepeat && (status === 503 || status === 409);
}

function submitOnce({ url, key, callbackUrlOf }: Door, order: Order): Promise<Answer> {
  const { path, body, more } = order.isCall ? imageCall(order) : jobCall(order);
  return withDeadline(ANSWER_WITHIN_MS, async (signal) => {
    const response = await fetch(`${url}/v1/submit/ark${path}`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${key}`,
        "Content-Type": "application/json",
        "Idempotency-Key": order.key,
        "Relay-Callback-Url": callbackUrlOf(order),
        ...more,
      },
      body: JSON.stringify(body),
      signal,
    });
    const json: unknown = await response.json();
    const { status, headers } = response;
    const taskId = headers.get("Relay-Task-Id") ?? String(field(json, "task", "id"));
    const jobId = status === 200 ? String(field(json, "id")) : null;
    return { status, taskId, jobId, mayRepeat: headers.has("Retry-After") };
  });
}

function jobCall({ prompt }: Order) {
  const content = [{ type: "text", text: prompt }];
  return { path: ARK_TASKS, body: { model: ARK_MODEL, content, duration: 5 }, more: {} };
}

/** Returns a call for an image that does not wait for the upstream's answer. */
function imageCall({ prompt }: Order) {
  const body = { model: ARK_IMAGE_MODEL, prompt, response_format: "b64_json" };
  return { path: ARK_IMAGES, body, more: { Prefer: "respond-async" } };
}
