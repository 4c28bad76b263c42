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
 * Computes again the HTTP request that an attempt of a callback has sent.
 * @param signedAt time to sign with, in Unix milliseconds, for a receiver that would refuse the old
 * signature; null signs with the time of the attempt, so that the request is the same as the one that was
 * sent.
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
 * Returns the secrets and keys that sign a callback, each with its name. An account's secret is called
 * `current`, `next` or `previous` by its age now: it may have been rotated since the task was made.
 */
export async function signersOfMessage(
  { account }: Pick<CallbackFacts["message"], "account">,
  { config, keyring }: Runtime,
  env: Env,
) {
  const present = account === null ? null : await findAccount(env, account.id);
  return signersOf(account, present?.generation ?? null, config, keyring);
}
