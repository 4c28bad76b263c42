/** Requests of past attempts, computed again. The API imports this file at the first request that needs it. */
import type { AttemptFacts, CallbackFacts } from "../../core/views/task-facts.ts";
import type { Env } from "../../env.ts";
import type { Runtime } from "../../config/runtime.ts";
import { callbackRequest, headersDigest } from "../../outbound/webhooks.ts";
import { type SignerName, signersOf } from "../../security/signers.ts";
import { findAccount } from "../accounts/account-client.ts";

/** The request of one attempt of a callback, computed again. */
export interface AttemptRequest {
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /**
   * True when the headers are proved to be those that were sent, false when they differ, because secrets or
   * the public URL have changed or the request is signed freshly; null when it is not known.
   */
  readonly exact: boolean | null;
  /** Names of the secrets and keys that make the signatures, in the order of the signatures in the header. */
  readonly signed_by: readonly SignerName[];
}

/**
 * Computes the request of an attempt again.
 * @param signedAt time of a fresh signature, in Unix milliseconds; null to compute the request as it was sent.
 */
export async function requestOf(
  { message }: CallbackFacts,
  { number, startedAt, url, sentDigest }: AttemptFacts,
  signedAt: number | null,
  runtime: Runtime,
  env: Env,
): Promise<AttemptRequest> {
  const input = { ...message, number, url, startedAt: signedAt ?? startedAt };
  const { headers, body } = await callbackRequest(input, runtime);
  const isFresh = signedAt !== null;
  const isSame = sentDigest === null ? null : sentDigest === (await headersDigest(headers));
  const signers = await signersOfMessage(message, runtime, env);
  const signedBy = signers.map(({ name }) => name);
  return {
    method: "POST",
    url,
    headers,
    body,
    exact: isFresh ? false : isSame,
    signed_by: signedBy,
  };
}

/**
 * Returns the secrets and keys that sign a callback. The names of an account's secrets (current, next or
 * previous) refer to the secret that is current now, which may have been rotated since the task was made.
 */
export async function signersOfMessage(
  { account }: Pick<CallbackFacts["message"], "account">,
  { config, keyring }: Runtime,
  env: Env,
) {
  const present = account === null ? null : await findAccount(env, account.id);
  return signersOf(account, present?.generation ?? null, config, keyring);
}
