import { accountOfKey } from "../../security/account-key.ts";
import { verify } from "../../security/signature.ts";
import { sha256Hex } from "../../security/encoding.ts";
import { findKey, keyName } from "../../security/operator-key-hashes.ts";
import { isForAccounts, type Permission } from "../../security/roles.ts";
import type { Env } from "../../env.ts";
import type { Caller, KeyHolder } from "../../objects/task/caller.ts";
import { measureRefusal } from "../../objects/task/measure.ts";
import type { Runtime } from "../../config/runtime.ts";
import { ownerOfHash, ownerOfKey } from "./key-owner.ts";
import { countFailedCredential } from "./rate-limit.ts";
import { Problem } from "./problem.ts";

/**
 * The permission that a route requires (security/roles.ts), or `anyone` for a route without authentication. Whether a
 * task belongs to the account that calls is checked elsewhere, by the task's object (objects/task/task-object.ts).
 */
export type Access = Permission | "anyone";

/** Detail of the refusal of a key that nobody has. */
export const UNKNOWN_KEY = "The key is unknown or revoked.";

/** Identifies the operator by the API key of a request. @returns null when the request has no valid operator key. */
export async function operatorOf(headers: Headers, runtime: Runtime): Promise<KeyHolder | null> {
  const given = bearerOf(headers);
  return given === null ? null : await operatorOfKey(given, runtime);
}

/**
 * Identifies the holder of an API key.
 * @param headers headers of the request with the key; one of them has the IP address of the sender.
 * @throws Problem `rate_limited` when too many credentials from this address have failed.
 * @returns null when nobody has this key.
 */
export async function holderOfKey(
  key: string,
  headers: Headers,
  runtime: Runtime,
  env: Env,
): Promise<KeyHolder | null> {
  const operator = await operatorOfKey(key, runtime);
  if (operator !== null) return operator;
  const owner = await ownerOfKey(env, runtime.keyring.accountMacKeys, key, headers);
  if (owner === null) return null;
  const { accountId: id, role, hash } = owner;
  return { kind: "account", id, role, key: keyName(hash) };
}

/**
 * Tells whether a text is an operator key, or an API key that the relay has generated for an account (even if it is
 * revoked by now). Account keys that were imported by their hash are not recognised.
 */
export async function isKeyOfRelay(
  text: string,
  { operatorKeys, keyring }: Runtime,
): Promise<boolean> {
  if ((await findKey(operatorKeys, text)) !== null) return true;
  return (await accountOfKey(text, keyring.accountMacKeys)) !== null;
}

async function operatorOfKey(given: string, { operatorKeys }: Runtime): Promise<KeyHolder | null> {
  const key = await findKey(operatorKeys, given);
  return key === null ? null : { kind: "operator", role: key.role, key: key.name };
}

/** The parts of a request by which its sender is identified: the headers, and the body that a signature covers. */
interface Credentials {
  readonly headers: Headers;
  /** Reads the body of the request, to verify a signature of the body. */
  readonly body: () => Promise<Uint8Array<ArrayBuffer>>;
  /** Caller to assume for a request without a credential. Null when such a request is to be refused. */
  readonly callerWithoutKey: KeyHolder | null;
}

/**
 * Identifies the caller of a request by its API key, or by its signature of the body. The body is read only when a
 * signature must be verified.
 * @param permission permission that the operation needs. Only a request with the permission `report` may be signed.
 * The refusal of a request without credentials names the credentials that this permission needs.
 * @throws Problem `unauthenticated`; `rate_limited` instead when too many credentials from the caller's address have
 * failed.
 */
export async function authenticate(
  permission: Permission,
  { headers, body, callerWithoutKey }: Credentials,
  runtime: Runtime,
  env: Env,
): Promise<Caller> {
  const key = bearerOf(headers);
  if (permission === "report" && key === null && isSigned(headers)) {
    if (await isSignedEvent(headers, body, runtime, env)) return { kind: "upstream" };
    await countFailedCredential(headers, env);
    measureRefusal(env.METRICS);
    throw unauthenticated("The webhook signature is missing, wrong, or not within 300 s of now.");
  }
  if (callerWithoutKey !== null && !headers.has("Authorization")) return callerWithoutKey;
  const caller = key === null ? null : await holderOfKey(key, headers, runtime, env);
  if (caller === null) {
    if (headers.has("Authorization")) measureRefusal(env.METRICS);
    throw unauthenticated(key === null ? requirementOf(permission) : UNKNOWN_KEY);
  }
  return caller;
}

/**
 * Checks that the account of the caller still has the API key of the request. A response that takes long needs this
 * check, because the key may be revoked in the meantime. An isolate looks up the key at most once a minute. Operator
 * keys are not checked, because they cannot change while an isolate runs.
 * @throws Problem `unauthenticated` when the account no longer has the key.
 */
export async function requireValidKey(caller: Caller, headers: Headers, env: Env): Promise<void> {
  const key = bearerOf(headers);
  if (caller.kind !== "account" || key === null) return;
  const owner = await ownerOfHash(env, caller.id, await sha256Hex(key));
  if (owner === null) throw unauthenticated(UNKNOWN_KEY);
}

/**
 * Tells whether the body of a request is signed with one of the secrets for events. A request whose body cannot be read
 * counts as one with a wrong credential, because its signature cannot be checked.
 */
async function isSignedEvent(
  headers: Headers,
  body: () => Promise<Uint8Array<ArrayBuffer>>,
  { keyring }: Runtime,
  env: Env,
): Promise<boolean> {
  try {
    return await verify(headers, body, keyring.eventsSecrets, Date.now());
  } catch (error) {
    await countFailedCredential(headers, env);
    throw error;
  }
}

/** Tells whether a request has a signature instead of an API key. */
function isSigned(headers: Headers): boolean {
  return headers.has("webhook-signature") && !headers.has("Authorization");
}

/** Returns a sentence that says which credentials a request needs, for the refusal of a request that has none. */
function requirementOf(permission: Permission): string {
  if (permission === "report") {
    return "An operator key or a Standard Webhooks signature is required.";
  }
  const both = isForAccounts(permission) ? "An operator or account key" : "An operator key";
  const keys = permission === "listen" ? "An account key" : both;
  return `${keys} is required: Authorization: Bearer <key>.`;
}

/** Returns the bearer token in the header `Authorization`; null when there is none. */
export function bearerOf(headers: Headers): string | null {
  const [scheme, key, ...more] = (headers.get("Authorization") ?? "").split(" ");
  const isBearer = scheme?.toLowerCase() === "bearer" && more.length === 0;
  return isBearer && key !== undefined && key !== "" ? key : null;
}

export function unauthenticated(detail: string): Problem {
  const headers = { "WWW-Authenticate": 'Bearer realm="task-relay"' };
  return new Problem("unauthenticated", { detail, headers });
}
