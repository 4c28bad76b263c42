import * as z from "zod/mini";
import type { AttemptFacts, CallbackFacts } from "../../core/views/task-facts.ts";
import type { Env } from "../../env.ts";
import type { Runtime } from "../../config/runtime.ts";
import { callbackRequest, headersDigest } from "../../outbound/webhooks.ts";
import { describeHolders } from "../../security/roles.ts";
import { type SignerName, signersOf } from "../../security/signers.ts";
import { may } from "../../task-object/caller.ts";
import { findAccount } from "../accounts/account-client.ts";
import { json } from "../http/answer.ts";
import { Problem } from "../http/problem.ts";
import { Flag } from "../http/query.ts";
import { queryRoute } from "../http/route.ts";
import { requireCallback } from "./stored-callback.ts";

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
  /** Secrets and keys of the signatures, in the order of the header. */
  readonly signed_by: readonly SignerName[];
}

export const readAttemptRequest = queryRoute(
  {
    id: "readAttemptRequest",
    method: "GET",
    path: "/v1/tasks/{id}/attempts/{number}/request",
    access: "read",
    rateLimit: "LIMIT_LISTS",
  },
  z.strictObject({ fresh: Flag }),
  async ({ query, env, runtime, params: { id, number }, caller }) => {
    if (query.fresh && !may(caller, "redeliver")) {
      const detail = `A fresh signature needs ${describeHolders("redeliver")}.`;
      throw new Problem("forbidden", { detail });
    }
    const callback = await requireCallback(env, id, caller);
    const attempt = callback.attempts.find((each) => String(each.number) === number);
    if (attempt === undefined) {
      throw new Problem("not_found", { detail: "The task has no stored attempt of this number." });
    }
    const signedAt = query.fresh ? Date.now() : null;
    const headers = { "Cache-Control": "no-store" };
    return json(await requestOf(callback, attempt, signedAt, runtime, env), 200, headers);
  },
);

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

/** Returns the secrets and keys that sign a callback, named by the present generation of its account. */
export async function signersOfMessage(
  { account }: Pick<CallbackFacts["message"], "account">,
  { config, keyring }: Runtime,
  env: Env,
) {
  const present = account === null ? null : await findAccount(env, account.id);
  return signersOf(account, present?.generation ?? null, config, keyring);
}
