import type { PastEndpoint } from "../../core/record/endpoint-copy.ts";
import type { AttemptFacts, CallbackFacts } from "../../core/views/task-facts.ts";
import type { Env } from "../../env.ts";
import type { Runtime } from "../../config/runtime.ts";
import { callbackRequest, headersDigest } from "../../outbound/webhooks.ts";
import { type SignedFor, type SignerName, signersOf } from "../../security/signers.ts";
import { namedEndpoint } from "../endpoints/endpoint-client.ts";
import { findAccount } from "../accounts/account-client.ts";

/** The request of one attempt of a callback, computed again from what is stored. */
export interface AttemptRequest {
  readonly method: "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Names of the headers of the endpoint, which are sent too. Absent when there are none. */
  readonly hidden_headers?: readonly string[];
  readonly body: string;
  /**
   * True when the headers of this request are certainly those that were sent; false when they certainly differ, because
   * the signature is of another time, or secrets or the public URL have changed since; null when neither is known.
   */
  readonly exact: boolean | null;
  /** Names of the secrets and keys that sign the request, in the same order as their signatures in the header. */
  readonly signed_by: readonly SignerName[];
}

/**
 * Returns the HTTP request that an attempt of a callback has sent, computed again.
 * @param signedAt time for the signature, in Unix milliseconds, e.g. the present time for a receiver that would refuse
 * the old signature. Null means the time of the attempt, which gives the request that was sent.
 */
export async function requestOf(
  callback: CallbackFacts,
  { number, startedAt, url, endpoint, sentDigest }: AttemptFacts,
  signedAt: number | null,
  runtime: Runtime,
  env: Env,
): Promise<AttemptRequest> {
  const { endpoint: _, ...shared } = callback.message;
  const message = { ...shared, ...(endpoint && { endpoint }) };
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
    ...hiddenHeaders(endpoint),
    body,
    exact: isFresh ? false : isSame,
    signed_by: signedBy,
  };
}

/**
 * Returns the secrets and keys that sign a callback, each with its name. A secret of an account is named `current`,
 * `next` or `previous` by its present age, because it may have been rotated since the task was created.
 */
export async function signersOfMessage(message: SignedFor, { config, keyring }: Runtime, env: Env) {
  return await signersOf(message, await presentGeneration(message, env), config, keyring);
}

/**
 * Returns the present generation of the secret that signs a callback. Null when it is not known any more, and when the
 * relay's own secrets sign.
 */
async function presentGeneration(
  { account, endpoint }: SignedFor,
  env: Env,
): Promise<number | null> {
  const owner = account?.id ?? null;
  if (endpoint?.secret !== undefined) {
    const asked = await namedEndpoint(endpoint.name, owner, "", env);
    const present = asked.kind === "known" ? asked.copy.secret : undefined;
    return present?.id === endpoint.secret.id ? present.generation : null;
  }
  return owner === null ? null : ((await findAccount(env, owner))?.generation ?? null);
}

/** Returns the names of the headers of an endpoint, whose values are shown to nobody, as a member. */
export function hiddenHeaders(
  endpoint: PastEndpoint | undefined,
): Pick<AttemptRequest, "hidden_headers"> {
  return endpoint?.headers === undefined ? {} : { hidden_headers: endpoint.headers.names };
}
