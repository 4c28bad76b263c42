import { hiddenTexts } from "../../security/hidden-texts.ts";
import { bytesOf } from "../../security/encoding.ts";
import { hideSecrets } from "../../security/spellings.ts";
import type { SubmitAnswer } from "../../outbound/http.ts";
import { hookParametersOf, type SubmitPlace } from "./prepared-call.ts";

/**
 * Returns the texts that an upstream's response must not contain when it is shown to the caller and stored: for every
 * caller the customer's own key, and for an account also the key and webhook secret of the connection and the token of
 * the task's hook URL, with which the account could report a result itself.
 * @param fields texts that the relay writes into the call, by the names of their fields.
 */
export function answerSecrets(
  place: SubmitPlace,
  fields: ReadonlyMap<string, string>,
  isOfAccount: boolean,
): readonly string[] {
  if (!isOfAccount) return hiddenTexts(place.credential?.key);
  const { key, webhookSecret } = place.connection;
  const hookUrl = fields.get(hookParametersOf(place)?.parameter ?? "");
  const token = hookUrl?.slice(hookUrl.lastIndexOf("/") + 1);
  return hiddenTexts(token, key, webhookSecret);
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
