import { setTimeout as sleep } from "node:timers/promises";
import { withDeadline } from "../../../../src/lib/timeout.ts";
import { field } from "../../upstreams/apis.ts";
import { ARK_IMAGE_MODEL, ARK_IMAGES, ARK_MODEL, ARK_TASKS } from "../../submit/fake-ark.ts";
import { jsonOf } from "../caller.ts";
import type { Order } from "./orders.ts";

const REPEAT_AFTER_MS = 250;
/** Time limit for one answer in milliseconds, longer than the relay waits for the upstream. */
const ANSWER_WITHIN_MS = 20_000;
/** Time in milliseconds after which a submission is no longer repeated. */
const GIVE_UP_AFTER_MS = 240_000;

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
  return repeatUntilFinal(() => submitOnce(submissionOf(door, order)));
}

/**
 * Repeats a submission until the answer is final.
 * @returns null when no answer was final in time.
 */
export async function repeatUntilFinal(
  submit: () => Promise<SubmitAnswer>,
): Promise<FinalAnswer | null> {
  const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
  for (let isRepeat = false; Date.now() < giveUpAt; isRepeat = true) {
    const answer = await submit().catch(() => null);
    if (answer !== null && !isTemporary(answer)) return { ...answer, isRepeat };
    await sleep(REPEAT_AFTER_MS);
  }
  return null;
}

/** The answer to one call. */
export type SubmitAnswer = Omit<FinalAnswer, "isRepeat"> & { readonly mayRepeat: boolean };

/** Tells whether an answer says that the same call is to be sent again later. */
function isTemporary({ status, mayRepeat }: SubmitAnswer): boolean {
  return mayRepeat && (status === 503 || status === 409);
}

/** A submission as a client sends it. */
export interface SentSubmission {
  readonly url: string;
  /** API key of the account. */
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export function submitOnce({ url, key, headers, body }: SentSubmission): Promise<SubmitAnswer> {
  return withDeadline(ANSWER_WITHIN_MS, async (signal) => {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${key}`,
        "Content-Type": "application/json",
        ...headers,
      },
      body: JSON.stringify(body),
      signal,
    });
    const text = await response.text();
    const { status } = response;
    // The relay passes a refusal on although its body does not end in time. Any other answer must be JSON.
    const json: unknown = status === 400 ? jsonOf(text) : JSON.parse(text);
    const taskId = response.headers.get("Relay-Task-Id") ?? String(field(json, "task", "id"));
    const jobId = status === 200 ? String(field(json, "id")) : null;
    return { status, taskId, jobId, mayRepeat: response.headers.has("Retry-After") };
  });
}

function submissionOf({ url, key, callbackUrlOf }: Door, order: Order): SentSubmission {
  const { path, body, more } = order.isCall ? imageCall(order) : jobCall(order);
  const named = { "Idempotency-Key": order.key, "Relay-Callback-Url": callbackUrlOf(order) };
  return { url: `${url}/v1/submit/ark${path}`, key, headers: { ...named, ...more }, body };
}

function jobCall({ prompt }: Order) {
  return { path: ARK_TASKS, body: jobBody(prompt), more: {} };
}

/** Returns the body of a call for a job. */
export function jobBody(prompt: string): object {
  return { model: ARK_MODEL, content: [{ type: "text", text: prompt }], duration: 5 };
}

/** Returns a call for an image that does not wait for the upstream's answer. */
function imageCall({ prompt }: Order) {
  const body = { model: ARK_IMAGE_MODEL, prompt, response_format: "b64_json" };
  return { path: ARK_IMAGES, body, more: { Prefer: "respond-async" } };
}
