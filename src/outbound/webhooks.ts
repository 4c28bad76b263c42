import { callbackUrlRulesOf } from "../config/callback-url-rules.ts";
import { isWanted } from "../config/operator-events.ts";
import type { Runtime } from "../config/runtime.ts";
import { type AttemptResult, unansweredAttempt } from "../core/record/callback.ts";
import type { Delivery } from "../core/duties/callback-attempt.ts";
import type { ProgressCallback } from "../core/events/progress-callback.ts";
import type { PastEndpoint } from "../core/record/endpoint-copy.ts";
import type { Account } from "../core/record/task.ts";
import type { Refund } from "../core/duties/refund.ts";
import type { Release } from "../core/duties/release.ts";
import { traceHeaders } from "../core/record/trace.ts";
import { toSeconds } from "../core/time.ts";
import { LISTEN_URL } from "../core/url.ts";
import { log } from "../lib/log.ts";
import { sha256Hex } from "../security/encoding.ts";
import type { HmacSecret } from "../security/hmac.ts";
import {
  accountSecrets,
  endpointSecrets,
  type Keyring,
  type Secrets,
} from "../security/keyring.ts";
import { sign, type SignedMessage, signedHeaders } from "../security/signature.ts";
import type { HeaderValues } from "../security/sealed-headers.ts";
import { checkCallbackUrl } from "../security/url-rules.ts";
import { headersOfEndpoint, withoutHeaderValues } from "./endpoint-headers.ts";
import { post, type PostRequest } from "./http.ts";
import { operatorBody, type OperatorEvent } from "./operator-body.ts";

type SigningKeys = Pick<Keyring, "callbackSecrets" | "signingKeys">;

const OPERATOR_TIMEOUT_MS = 5_000;
const DIGEST_CHARS = 16;

/**
 * Function that sends a callback to the listeners of an account (programs that receive the account's callbacks over a
 * WebSocket). It never throws: like `post`, it returns a failure as a result.
 */
export type SendToListeners = (
  accountId: string,
  request: PostRequest,
  timeoutMs: number,
) => Promise<AttemptResult>;

/**
 * Sends one attempt of a callback, as core/plans/callback-attempt-plan.ts has planned it. The URL is checked
 * again, because the URL rules or the relay's own address may have changed since the registration. All attempts
 * have the same body (core/record/callback-body.ts) and the same `webhook-id`. The timestamp and the signature are
 * new in each attempt.
 */
export async function deliver(
  delivery: Delivery,
  runtime: Runtime,
  toListeners: SendToListeners,
): Promise<AttemptResult> {
  if (isForbidden(delivery, runtime)) return unansweredAttempt("blocked");
  const own = await ownHeaders(delivery, runtime);
  if (own === null) return unansweredAttempt("blocked");
  const request = await callbackRequest(delivery, runtime);
  const result = await sendTo(delivery, request, own, runtime, toListeners);
  return { ...result, sentDigest: await headersDigest(request.headers) };
}

/**
 * Sends a progress callback. Its URL is checked and its request signed as those of any callback, under a `webhook-id` of
 * its own.
 * @param mayStart is asked right before the request leaves.
 * @returns null when `mayStart` has answered false, so that nothing was sent.
 */
export async function deliverProgress(
  callback: ProgressCallback,
  runtime: Runtime,
  toListeners: SendToListeners,
  mayStart: () => boolean,
): Promise<AttemptResult | null> {
  if (isForbidden(callback, runtime)) return unansweredAttempt("blocked");
  const own = await ownHeaders(callback, runtime);
  if (own === null) return unansweredAttempt("blocked");
  const request = await progressRequest(callback, `progress_${crypto.randomUUID()}`, runtime);
  return mayStart() ? sendTo(callback, request, own, runtime, toListeners) : null;
}

/** The receiver of a callback. */
type Receiver = Pick<Delivery, "taskId" | "account" | "endpoint" | "origin" | "url">;

/** Returns the headers of the endpoint that gets a callback. Null when they cannot be decrypted any more. */
async function ownHeaders(
  { account, endpoint, taskId }: Receiver,
  { keyring }: Runtime,
): Promise<HeaderValues | null> {
  const own = await headersOfEndpoint(endpoint, account?.id ?? null, keyring);
  if (own === null) {
    const line = { task_id: taskId, endpoint: endpoint?.name ?? null };
    log({ event: "callback.headers_unreadable", ...line }, "error");
  }
  return own;
}

/** Tells whether the URL rules refuse the URL of a callback. */
function isForbidden({ account, origin, url }: Receiver, { config }: Runtime): boolean {
  return !checkCallbackUrl(url, callbackUrlRulesOf(config, origin, account !== null)).ok;
}

/**
 * Sends the request of a callback to its URL or, for `listen:`, to the listeners of its account.
 * @param own headers of the endpoint. The result does not contain their values.
 */
async function sendTo(
  { account, url }: Receiver,
  request: PostRequest,
  own: HeaderValues,
  { config }: Runtime,
  toListeners: SendToListeners,
): Promise<AttemptResult> {
  const whole = { ...request, headers: { ...own, ...request.headers } };
  const sending =
    url === LISTEN_URL && account !== null
      ? toListeners(account.id, whole, config.callbackTimeoutMs)
      : post(whole, config.callbackTimeoutMs);
  return withoutHeaderValues(await sending, own);
}

/** Data from which the request of an attempt of a callback is computed. */
export interface CallbackInput extends Omit<Delivery, "provider" | "endpoint"> {
  readonly endpoint?: PastEndpoint;
}

/**
 * Returns the request of one attempt of a callback, without the headers of its endpoint, whose values are shown to
 * nobody. Computing it again later gives the same request, as long as the secrets and the public address of the relay
 * stay the same, because both signature schemes are deterministic.
 */
export function callbackRequest(input: CallbackInput, runtime: Runtime): Promise<PostRequest> {
  const message = { id: `msg_${input.taskId}`, type: `task.${input.status}` };
  return requestOf(input, message, runtime);
}

/**
 * Returns the request of a progress callback.
 * @param id value of `webhook-id`, which no other callback has.
 */
function progressRequest(
  callback: ProgressCallback,
  id: string,
  runtime: Runtime,
): Promise<PostRequest> {
  return requestOf({ ...callback, number: 1 }, { id, type: "task.processing" }, runtime);
}

async function requestOf(
  {
    account,
    endpoint,
    origin,
    taskId,
    number,
    startedAt,
    url,
    body,
    trace,
  }: Omit<CallbackInput, "status">,
  { id, type }: { readonly id: string; readonly type: string },
  { config, keyring }: Runtime,
): Promise<PostRequest> {
  const callbackSecrets = await callbackSecretsOf(account, endpoint, config, keyring);
  return signedRequest({
    url,
    body,
    id,
    signedAt: startedAt,
    headers: {
      "User-Agent": `TaskRelay/1 (+${config.publicUrl ?? origin})`,
      "X-Event": type,
      "X-Task-Id": taskId,
      "X-Timestamp": String(toSeconds(startedAt)),
      "X-Attempt": String(number),
      ...traceHeaders(trace),
    },
    keys: { callbackSecrets, signingKeys: keyring.signingKeys },
  });
}

/** Returns the header `webhook-signature` of a message to the receiver of a callback. */
export async function signatureFor(
  { account, endpoint }: Pick<Delivery, "account" | "endpoint">,
  message: SignedMessage,
  { config, keyring }: Runtime,
): Promise<string> {
  const callbackSecrets = await callbackSecretsOf(account, endpoint, config, keyring);
  return await sign(message, { callbackSecrets, signingKeys: keyring.signingKeys });
}

/** Returns the secrets that sign a callback: those of its endpoint, of its account, or of the relay. */
async function callbackSecretsOf(
  account: Account | null,
  endpoint: PastEndpoint | undefined,
  secrets: Secrets,
  { callbackSecrets }: Pick<Keyring, "callbackSecrets">,
): Promise<readonly HmacSecret[]> {
  if (endpoint?.secret !== undefined) return await endpointSecrets(secrets, endpoint.secret);
  return account === null ? callbackSecrets : await accountSecrets(secrets, account);
}

/**
 * Returns a shortened SHA-256 of the headers of a request. It is stored with the attempt, and later shows whether
 * headers that are computed again are the same as those that were sent.
 */
export async function headersDigest(headers: PostRequest["headers"]): Promise<string> {
  return (await sha256Hex(JSON.stringify(headers))).slice(0, DIGEST_CHARS);
}

/** A message that asks the operator's own billing to give back credits. */
export interface SettlementMessage {
  /** Value of the header `webhook-id`, which is the same in every repetition of the message. */
  readonly id: string;
  readonly body: string;
}

/** Returns the message that asks the operator's own billing to refund a task. */
export function refundMessage({
  taskId,
  accountId: account,
  amount: credits,
  reason,
  submissionId,
}: Refund): SettlementMessage {
  return {
    // After a refused submission the id of the task is free again, and a later refund needs another name.
    id: submissionId === null ? `refund_${taskId}` : `refund_${taskId}.${submissionId}`,
    body: JSON.stringify({ task_id: taskId, account, credits, reason }),
  };
}

/**
 * Returns the message that asks the operator's own billing to give back the difference between the credits charged for
 * a completed task and its final price.
 */
export function releaseMessage({
  taskId,
  accountId: account,
  amount: credits,
  final,
  usage,
}: Release): SettlementMessage {
  const body = { task_id: taskId, account, credits, reason: "completed", final, usage };
  return { id: `settle_${taskId}`, body: JSON.stringify(body) };
}

/**
 * Asks the operator's own billing, at `SETTLEMENT_URL`, to give back credits.
 * @returns true when the billing has answered with a status from 200 to 299, which confirms that the credits are given
 * back.
 */
export async function settle(
  { id, body }: SettlementMessage,
  url: string,
  { config, keyring }: Runtime,
): Promise<boolean> {
  const request = await signedRequest({
    url,
    body,
    id,
    signedAt: Date.now(),
    headers: {},
    keys: { callbackSecrets: keyring.settlementSecrets, signingKeys: [] },
  });
  const { outcome } = await post(request, config.callbackTimeoutMs);
  return outcome === "delivered";
}

/**
 * Sends an event to `OPERATOR_CALLBACK_URL`, signed with the operator secrets.
 * @param id value of `webhook-id`, the same on every try.
 * @param happenedAt time of the event, in Unix milliseconds.
 * @returns true when the event was delivered. False when it was not, and when the configuration has no URL or
 * excludes events of this type.
 */
export async function sendOperatorEvent(
  event: OperatorEvent,
  id: string,
  happenedAt: number,
  { config, keyring }: Runtime,
  aborted: AbortSignal | null = null,
): Promise<boolean> {
  const url = config.operatorCallbackUrl;
  if (url === null || !isWanted(config, event.type)) return false;
  const request = await signedRequest({
    url,
    body: operatorBody(event, happenedAt, config),
    id,
    signedAt: Date.now(),
    headers: { "User-Agent": "TaskRelay/1" },
    keys: { callbackSecrets: keyring.operatorSecrets, signingKeys: [] },
  });
  const timeoutMs = Math.min(OPERATOR_TIMEOUT_MS, config.callbackTimeoutMs);
  const { outcome } = await post(request, timeoutMs, aborted);
  if (outcome === "delivered") return true;
  log({ event: "operator.unreachable", type: event.type, outcome }, "warn");
  return false;
}

interface SignedParts {
  readonly url: string;
  readonly body: string;
  /** Value of the header `webhook-id`, by which a receiver recognises a repeated request. */
  readonly id: string;
  /** Time of the signature, in Unix milliseconds. */
  readonly signedAt: number;
  /** Headers of the request, except the content type and those of the signature. */
  readonly headers: Readonly<Record<string, string>>;
  readonly keys: SigningKeys;
}

/** Returns a request with a JSON body and the headers of Standard Webhooks. */
async function signedRequest(parts: SignedParts): Promise<PostRequest> {
  const { url, body, id, signedAt, keys } = parts;
  const message = { id, timestamp: String(toSeconds(signedAt)), body };
  const headers = {
    "Content-Type": "application/json",
    ...parts.headers,
    ...signedHeaders(message, await sign(message, keys)),
  };
  return { url, headers, body };
}
