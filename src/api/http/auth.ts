import { sha256 } from "../../security/encoding.ts";
import { verify } from "../../security/signature.ts";
import type { Env } from "../../env.ts";
import type { Caller } from "../../task-object/caller.ts";
import type { Runtime } from "../../config/runtime.ts";
import { ownerOfKey } from "./key-owner.ts";
import { Problem } from "./problem.ts";

/**
 * The callers that a route admits: `operator` only the operator; `owner` also the account to which the path's
 * account or task belongs; `upstream` the operator, or a sender that signs the body with one of the
 * `EVENTS_SECRETS`; `anyone` every caller. Whether a task belongs to the account is checked by the task's
 * object (task-object/task-object.ts).
 */
export type Access = "operator" | "owner" | "upstream" | "anyone";

const REQUIRED = {
  operator: "An operator key is required: Authorization: Bearer <key>.",
  owner: "An operator or account key is required: Authorization: Bearer <key>.",
  upstream: "An operator key or a Standard Webhooks signature is required.",
};

/**
 * Tells whether the request carries an operator key. The comparison takes the same time for every wrong key,
 * so that its duration reveals nothing.
 */
export async function isOperator(headers: Headers, runtime: Runtime): Promise<boolean> {
  const given = bearerOf(headers);
  if (given === null) return false;
  // Digests have the same length, so the comparison reveals nothing about the keys.
  const digest = await sha256(given);
  const matches = await Promise.all(
    runtime.config.operatorKeys.map(async (key) =>
      crypto.subtle.timingSafeEqual(digest, await sha256(key)),
    ),
  );
  return matches.includes(true);
}

/**
 * Identifies the caller of a request by its API key, or by its signature of the body. The body is read only
 * to verify a signature.
 * @throws Problem `unauthenticated`; `operator_only` when an account calls a route for operators.
 */
export async function authenticate(
  access: Exclude<Access, "anyone">,
  headers: Headers,
  body: () => Promise<Uint8Array<ArrayBuffer>>,
  runtime: Runtime,
  env: Env,
): Promise<Caller> {
  if (access === "upstream" && !headers.has("Authorization") && headers.has("webhook-signature")) {
    const { eventsSecrets } = runtime.keyring;
    if (await verify(headers, await body(), eventsSecrets, Date.now())) return { kind: "upstream" };
    throw unauthenticated("The webhook signature is missing, wrong, or not within 300 s of now.");
  }
  if (await isOperator(headers, runtime)) return { kind: "operator" };
  const key = bearerOf(headers);
  const accountId = key === null ? null : await ownerOfKey(env, key);
  if (accountId === null) throw unauthenticated(REQUIRED[access]);
  if (access === "owner") return { kind: "account", id: accountId };
  throw new Problem("operator_only", { detail: "This route needs an operator key." });
}

function bearerOf(headers: Headers): string | null {
  const [scheme, key, ...more] = (headers.get("Authorization") ?? "").split(" ");
  const isBearer = scheme?.toLowerCase() === "bearer" && more.length === 0;
  return isBearer && key !== undefined && key !== "" ? key : null;
}

function unauthenticated(detail: string): Problem {
  const headers = { "WWW-Authenticate": 'Bearer realm="task-relay"' };
  return new Problem("unauthenticated", { detail, headers });
}
