import { HOUR_MS, MINUTE_MS } from "../core/time.ts";
import type { Runtime } from "../config/runtime.ts";
import { ownerOfHash } from "../api/http/key-owner.ts";
import type { Env } from "../env.ts";
import { bytesOf, fromBase64, sha256Hex, toBase64Url, toHex } from "../security/encoding.ts";
import { signWithNewest, verifyAny } from "../security/hmac.ts";
import { keyName } from "../security/operator-keys.ts";
import type { KeyHolder } from "../task-object/caller.ts";
import { accessUserOf } from "./access.ts";
import { cookieHeader, cookieOf } from "./cookie.ts";

/** Longest time between two requests of a session. */
const IDLE_MS = HOUR_MS;
/** Longest time from the login to the end of a session. */
const MAX_AGE_MS = 12 * HOUR_MS;
/** Age of a cookie from which on a request gets a new one. */
const RENEWAL_MS = 5 * MINUTE_MS;

/**
 * What the session cookie contains: the hash of the key of the login, and no role, because the key is looked
 * up at every request and ends the session when it is removed.
 */
interface Session {
  /** Account that owns the key; null for an operator key. */
  readonly accountId: string | null;
  /** SHA-256 of the key, in lower-case hex. */
  readonly hash: string;
  readonly startedAt: number;
  readonly renewedAt: number;
}

/** A viewer, and the `Set-Cookie` header that renews the session; null when it is too early for that. */
export interface Visitor {
  readonly viewer: KeyHolder;
  readonly renewal: string | null;
}

const NAME = "task-relay-session";
const COOKIE = /^(\d{13})\.(\d{13})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{0,64})\.([A-Za-z0-9_-]{43})$/;

/** Starts the session of somebody who has shown a valid key. @returns the `Set-Cookie` header. */
export async function startSession(
  request: Request,
  viewer: KeyHolder,
  key: string,
  runtime: Runtime,
): Promise<string> {
  const now = Date.now();
  const accountId = viewer.kind === "account" ? viewer.id : null;
  const session = { accountId, hash: await sha256Hex(key), startedAt: now, renewedAt: now };
  return headerOf(request, session, runtime);
}

/** Makes the `Set-Cookie` header that removes the session from the browser. */
export function endSession(request: Request): string {
  return cookieHeader(request, NAME, "", 0);
}

/** Tells whether a browser has sent a session, valid or not. */
export function hasSession(request: Request): boolean {
  return cookieOf(request, NAME) !== null;
}

/**
 * Identifies the viewer by the session cookie, or without a session by Cloudflare Access; null when neither is
 * valid.
 */
export async function visitorOf(
  request: Request,
  runtime: Runtime,
  env: Env,
): Promise<Visitor | null> {
  const visitor = await ofSession(request, runtime, env);
  if (visitor !== null) return visitor;
  const viewer = await accessUserOf(request, runtime.config);
  return viewer === null ? null : { viewer, renewal: null };
}

/** Identifies the viewer by the session cookie; null when it is missing, invalid, expired or its key is gone. */
async function ofSession(request: Request, runtime: Runtime, env: Env): Promise<Visitor | null> {
  const now = Date.now();
  const session = await read(request, runtime.keyring.sessionKeys);
  if (session === null || !isCurrent(session, now)) return null;
  const viewer = await holderOf(session, runtime, env);
  if (viewer === null) return null;
  const isOld = now - session.renewedAt >= RENEWAL_MS;
  const renewal = isOld ? await headerOf(request, { ...session, renewedAt: now }, runtime) : null;
  return { viewer, renewal };
}

function isCurrent({ startedAt, renewedAt }: Session, now: number): boolean {
  return now - renewedAt < IDLE_MS && now - startedAt < MAX_AGE_MS;
}

/** Looks up the key of a session, as the API looks up the key of a request. */
async function holderOf(
  { accountId, hash }: Session,
  { operatorKeys }: Runtime,
  env: Env,
): Promise<KeyHolder | null> {
  if (accountId === null) {
    const key = operatorKeys.find(({ digest }) => toHex(digest) === hash);
    return key === undefined ? null : { kind: "operator", role: key.role, key: key.name };
  }
  const owner = await ownerOfHash(env, accountId, hash);
  if (owner === null) return null;
  return { kind: "account", id: accountId, role: owner.role, key: keyName(hash) };
}

async function read(request: Request, keys: readonly CryptoKey[]): Promise<Session | null> {
  const [, startedAt = "", renewedAt = "", hash = "", account = "", mac = ""] =
    COOKIE.exec(cookieOf(request, NAME) ?? "") ?? [];
  if (mac === "") return null;
  const content = `${startedAt}.${renewedAt}.${hash}.${account}`;
  if (!(await verifyAny(keys, fromBase64(mac), bytesOf(content)))) return null;
  const accountId = account === "" ? null : account;
  return { accountId, hash, startedAt: Number(startedAt), renewedAt: Number(renewedAt) };
}

async function headerOf(
  request: Request,
  { accountId, hash, startedAt, renewedAt }: Session,
  { keyring }: Runtime,
): Promise<string> {
  const content = `${startedAt}.${renewedAt}.${hash}.${accountId ?? ""}`;
  const mac = toBase64Url(await signWithNewest(keyring.sessionKeys, bytesOf(content)));
  const leftMs = Math.min(IDLE_MS, startedAt + MAX_AGE_MS - renewedAt);
  return cookieHeader(request, NAME, `${content}.${mac}`, leftMs);
}
