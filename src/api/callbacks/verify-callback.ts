import * as z from "zod/mini";
import type { Runtime } from "../../config/runtime.ts";
import type { CallbackFacts } from "../../core/views/task-facts.ts";
import { SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import type { Caller } from "../../objects/task/caller.ts";
import { signatureFor } from "../../outbound/webhooks.ts";
import { examine, type Received, type Sent } from "../../security/doctor/examine.ts";
import type { Verdict } from "../../security/doctor/verdict.ts";
import { secretsOwner } from "../../security/signers.ts";
import { json } from "../http/answer.ts";
import { optional, TimeS } from "../http/fields.ts";
import { routeOf } from "../http/route.ts";
import { NoQuery, operation } from "../operation.ts";
import { signersOfMessage } from "./attempt-request.ts";
import { otherSigners } from "./other-signers.ts";
import { requireCallback } from "./stored-callback.ts";

/** Body of `POST /v1/tasks/{id}/verify`: a callback as a server has received it. */
const ReceivedCallback = z.strictObject({
  headers: z.union([z.string(), z.record(z.string(), z.unknown())], "must be an object or a text"),
  body: z.string(),
  received_at: optional(TimeS),
});

/** Tells whether a callback that a server has received has the signature of the relay, and if not, what is wrong. */
export const verifyCallback = operation(
  "verifyCallback",
  {
    access: "read",
    rateLimit: "LIMIT_LISTS",
    params: ["id"],
    query: NoQuery,
    body: ReceivedCallback,
  },
  async ({ env, runtime, params: { id }, caller, body }) => {
    const callback = await requireCallback(env, id, caller);
    const { received_at: receivedAt, ...received } = body;
    const now = receivedAt === null ? Date.now() : receivedAt * SECOND_MS;
    return await verdictOn(received, callback, now, { caller, runtime, env });
  },
);

export const verifyCallbackRoute = routeOf(
  { method: "POST", path: "/v1/tasks/{id}/verify" },
  verifyCallback,
  (verdict) => json(verdict),
);

/**
 * Compares a callback that a server has received with the one that the relay sent.
 * @param now time at which the server received the callback, in Unix milliseconds.
 * @param asking who asks: only operators learn that another account has signed the callback.
 * @returns whether the signature is valid, and each fault with its cure.
 */
export async function verdictOn(
  received: Received,
  { message, attempts }: CallbackFacts,
  now: number,
  asking: { readonly caller: Caller; readonly runtime: Runtime; readonly env: Env },
): Promise<Verdict> {
  const { runtime, env } = asking;
  const { taskId, body } = message;
  const sent: Sent = {
    taskId,
    body,
    attempts,
    owner: secretsOwner(message),
    signers: await signersOfMessage(message, runtime, env),
    others: otherSigners(message, asking),
    sign: (signed) => signatureFor(message, signed, runtime),
  };
  return await examine(received, sent, now);
}
