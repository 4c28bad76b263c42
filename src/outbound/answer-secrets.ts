import { hiddenTexts } from "../security/hidden-texts.ts";
import { bytesOf } from "../security/encoding.ts";
import { hideSecrets } from "../security/spellings.ts";
import type { Connection } from "../providers/provider.ts";
import type { SubmitAnswer } from "./http.ts";

/** What decides which texts in the upstream's answer to a submission are hidden. */
export interface SecretsOfCall {
  /** True when the call was sent with a key of the customer. */
  readonly hasCustomerKey: boolean;
  /** True when an account has sent the call, or the task has an account. */
  readonly isOfAccount: boolean;
  /** Token of the hook URL in the call. Null when the call has no hook URL of the relay. */
  readonly hookToken: string | null;
}

/**
 * Returns the texts that an upstream's response must not contain when it is shown to the caller and stored: for every
 * caller the customer's own key, and for an account also the key and webhook secret of the connection and the token of
 * the task's hook URL, with which the account could report a result itself.
 */
export function answerSecrets(
  { key, webhookSecret }: Pick<Connection, "key" | "webhookSecret">,
  { hasCustomerKey, isOfAccount, hookToken }: SecretsOfCall,
): readonly string[] {
  if (!isOfAccount) return hiddenTexts(hasCustomerKey ? key : null);
  return hiddenTexts(hookToken, key, webhookSecret);
}

/**
 * Returns a copy of an upstream's response in which `…` replaces each secret, however it is spelled. An upstream may
 * repeat parts of the call in its response: Replicate's has a member `webhook` (type `Prediction` of the npm package
 * `replicate`).
 */
export function withoutSecrets(answer: SubmitAnswer, secrets: readonly string[]): SubmitAnswer {
  const bytes = bytesWithout(secrets, answer.bytes);
  return bytes === answer.bytes ? answer : { ...answer, bytes };
}

/**
 * Returns a body in which `…` replaces each secret, however the body spells it. A body without a secret is returned
 * unchanged.
 */
export function bytesWithout(
  secrets: readonly string[],
  bytes: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  if (secrets.length === 0) return bytes;
  const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
  const shown = hideSecrets(text, secrets);
  return shown === text ? bytes : bytesOf(shown);
}
