import { bytesOf, fromBase64, toBase64Url } from "../../security/encoding.ts";
import { signWithNewest, verifyAny } from "../../security/hmac.ts";

/**
 * Contents of the session cookie. They contain the hash of the API key with which the viewer has logged in, but not
 * its role: the key is looked up at every request, so that the session ends when the key is removed.
 */
export interface Session {
  /** Random name of the session. The relay stores this name when the session is ended. */
  readonly id: string;
  /** Account that owns the key; null for an operator key. */
  readonly accountId: string | null;
  /** SHA-256 of the key, in lower-case hex. */
  readonly hash: string;
  readonly startedAt: number;
  readonly renewedAt: number;
}

const ID_BYTES = 16;
const TEXT =
  /^([\w-]{22})\.(\d{13})\.(\d{13})\.([0-9a-f]{64})\.([A-Za-z0-9_-]{0,64})\.([A-Za-z0-9_-]{43})$/;

/** Returns a new random name for a session. */
export function newSessionId(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(ID_BYTES)));
}

/** Returns a session as text, followed by an HMAC of the text. */
export async function sessionText(session: Session, keys: readonly CryptoKey[]): Promise<string> {
  const content = contentOf(session);
  return `${content}.${toBase64Url(await signWithNewest(keys, bytesOf(content)))}`;
}

/**
 * Reads a session from its text. Null means that the text is malformed, or that its HMAC was made with none of
 * `keys`.
 */
export async function sessionIn(text: string, keys: readonly CryptoKey[]): Promise<Session | null> {
  const [, id = "", startedAt = "", renewedAt = "", hash = "", account = "", mac = ""] =
    TEXT.exec(text) ?? [];
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
