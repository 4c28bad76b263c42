import { ownerOfHash } from "../../api/http/key-owner.ts";
import { callObject, unavailable } from "../../api/http/object-call.ts";
import { isLogoutPermitted } from "../../api/http/rate-limit.ts";
import type { Runtime } from "../../config/runtime.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import type { Env } from "../../env.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import { withTimeout } from "../../lib/timeout.ts";
import { deploymentObject } from "../../objects/object-names.ts";
import type { KeyHolder } from "../../objects/task/caller.ts";
import { bytesOf, fromBase64, sha256Hex, toBase64Url, toHex } from "../../security/encoding.ts";
import { signWithNewest, verifyAny } from "../../security/hmac.ts";
import { keyName } from "../../security/operator-key-hashes.ts";
import { accessUserOf } from "./access.ts";
import { cookieHeader, cookieOf } from "./cookie.ts";

/** Time in milliseconds without a request after which a session ends. */
const IDLE_MS = HOUR_MS;
/** Longest time in milliseconds from the login to the end of a session. */
const MAX_AGE_MS = 12 * HOUR_MS;
/** Longest time in milliseconds to wait for the Durable Object that stores which sessions were ended by a logout. */
const ANSWER_MS = 2 * SECOND_MS;
/** Age in milliseconds from which a session cookie is renewed by the next request. */
const RENEWAL_MS = 5 * MINUTE_MS;

/** A viewer, and the `Set-Cookie` header that renews the session. The header is null when no renewal is due yet. */
interface Visitor {
  readonly viewer: KeyHolder;
  readonly renewal: string | null;
}

const NAME = "task-relay-session";

/** Names of sessions that no logout had ended when this isolate last asked, at most one minute ago. */
const live = isolateCache<true>();

/** Returns the `Set-Cookie` header that starts a session for somebody who has shown a valid API key. */
export async function startSession(
  request: Request,
  viewer: KeyHolder,
  key: string,
  runtime: Runtime,
): Promise<string> {
  const now = Date.now();
  const accountId = viewer.kind === "account" ? viewer.id : null;
  const times = { startedAt: now, renewedAt: now };
  const session = { id: newSessionId(), accountId, hash: await sha256Hex(key), ...times };
  return headerOf(request, session, runtime);
}

/**
 * Ends the session of a browser: at once in this isolate, and within a minute in all others. When the account has
 * logged out too often within a minute, the end of the session is not stored; the browser then still loses its session
 * cookie, but a copy of the cookie stays valid.
 * @returns the `Set-Cookie` header that removes the cookie.
 */
export async function endSession(request: Request, runtime: Runtime, env: Env): Promise<string> {
  const session = await read(request, runtime);
  if (
    session !== null &&
    !(await isEnded(session, request, env)) &&
    (await mayStoreEnd(session, env))
  ) {
    live.delete(session.id);
    await callObject(async () => deploymentObject(env).endSession(session.id, endOf(session)));
  }
  return cookieHeader(request, NAME, "", 0);
}

/**
 * Counts a logout of an account, and tells whether the end of its session may be stored. The rate limit keeps the
 * holder of one API key from filling the storage with ended sessions.
 */
async function mayStoreEnd({ accountId }: Session, env: Env): Promise<boolean> {
  return accountId === null || isLogoutPermitted(accountId, env);
}

/** Tells whether a browser has sent a session cookie, valid or not. */
export function hasSession(request: Request): boolean {
  return cookieOf(request, NAME) !== null;
}

/**
 * Identifies the viewer by the session cookie or, when there is no valid session, by Cloudflare Access.
 * @returns null when neither identifies a viewer.
 */
export async function visitorOf(
  request: Request,
  runtime: Runtime,
  env: Env,
): Promise<Visitor | null> {
  const visitor = await sessionVisitorOf(request, runtime, env);
  if (visitor !== null) return visitor;
  const viewer = await accessUserOf(request, runtime.config);
  return viewer === null ? null : { viewer, renewal: null };
}

/**
 * Identifies the viewer by the session cookie.
 * @returns null when the cookie is missing, invalid or expired, when the viewer has logged out, or when the API key of
 * the login was removed.
 */
export async function sessionVisitorOf(
  request: Request,
  runtime: Runtime,
  env: Env,
): Promise<Visitor | null> {
  const now = Date.now();
  const session = await read(request, runtime);
  if (session === null || !isCurrent(session, now) || (await isEnded(session, request, env)))
    return null;
  const viewer = await holderOf(session, runtime, env);
  if (viewer === null) return null;
  const isOld = now - session.renewedAt >= RENEWAL_MS;
  const renewal = isOld ? await headerOf(request, { ...session, renewedAt: now }, runtime) : null;
  return { viewer, renewal };
}

function isCurrent(session: Session, now: number): boolean {
  return now - session.renewedAt < IDLE_MS && now < endOf(session);
}

/** Returns the time in Unix milliseconds at which a session ends even if the viewer is still active. */
function endOf({ startedAt }: Session): number {
  return startedAt + MAX_AGE_MS;
}

/**
 * Looks up the API key of a session, in the same way as the key of a request to the API.
 * @returns null when the key was removed.
 */
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

async function read(request: Request, { keyring }: Runtime): Promise<Session | null> {
  return sessionIn(cookieOf(request, NAME) ?? "", keyring.sessionKeys);
}

/**
 * Tells whether a logout has ended the session. Each isolate asks the Durable Object that stores ended sessions, at
 * most once a minute for each session. When the object does not respond, a request that only reads is allowed, so that
 * an outage of the object does not close the console to everybody.
 * @throws Problem `unavailable` when the object does not respond and the request changes something.
 */
async function isEnded(session: Session, { method }: Request, env: Env): Promise<boolean> {
  const { id } = session;
  if (live.has(id)) return false;
  const ask = async (): Promise<boolean | null> =>
    deploymentObject(env).isSessionEnded(id, endOf(session));
  const hasEnded = await withTimeout("sessions", ask, null, ANSWER_MS);
  if (hasEnded === false) live.set(id, true);
  if (hasEnded !== null) return hasEnded;
  if (method === "GET" || method === "HEAD") return false;
  throw unavailable("The relay could not check whether this session has ended.");
}

async function headerOf(request: Request, session: Session, { keyring }: Runtime): Promise<string> {
  const leftMs = Math.min(IDLE_MS, endOf(session) - session.renewedAt);
  const text = await sessionText(session, keyring.sessionKeys);
  return cookieHeader(request, NAME, text, leftMs);
}

/**
 * Contents of the session cookie. They include the hash of the API key with which the viewer has logged in, but not the
 * role of the key: the key is looked up at every request, so that the session ends when the key is removed.
 */
export interface Session {
  /**
   * Random name of the session. When a viewer logs out, the relay stores this name, so that the cookie is refused from
   * then on.
   */
  readonly id: string;
  /** Account that owns the key; null for an operator key. */
  readonly accountId: string | null;
  /** SHA-256 of the key, in lower-case hex. */
  readonly hash: string;
  readonly startedAt: number;
  readonly renewedAt: number;
}

const ID_BYTES = 16;
const SESSION_TEXT =
  /^([\w-]{22})\.(\d{13})\.(\d{13})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{0,64})\.([A-Za-z0-9_-]{43})$/;

/** Returns a new random name for a session. */
function newSessionId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(ID_BYTES)));
}

/** Returns a session as text, followed by an HMAC of the text. */
export async function sessionText(session: Session, keys: readonly CryptoKey[]): Promise<string> {
  const content = contentOf(session);
  return `${content}.${toBase64Url(await signWithNewest(keys, bytesOf(content)))}`;
}

/**
 * Reads a session from its text.
 * @returns null when the text is malformed, or when its HMAC was made with none of `keys`.
 */
export async function sessionIn(text: string, keys: readonly CryptoKey[]): Promise<Session | null> {
  const [, id = "", startedAt = "", renewedAt = "", hash = "", account = "", mac = ""] =
    SESSION_TEXT.exec(text) ?? [];
  if (mac === "") return null;
  const accountId = account === "" ? null : account;
  const times = { startedAt: Number(startedAt), renewedAt: Number(renewedAt) };
  const session = { id, accountId, hash, ...times };
  const isOwn = await verifyAny(keys, fromBase64(mac), bytesOf(contentOf(session)));
  return isOwn ? session : null;
}

function contentOf({ id, startedAt, renewedAt, hash, accountId }: Session): string {
  return `${id}.${startedAt}.${renewedAt}.${hash}.${accountId ?? ""}`;
}
