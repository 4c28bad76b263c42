import { ark } from "../../src/providers/ark.ts";
import type { Connection, Hook, HookContext } from "../../src/providers/provider.ts";

/** 2026-01-01T00:00:00Z, the time of the composed vectors. */
export const NOW_S = 1_767_225_600;
export const NOW = NOW_S * 1000;

/** The headers by name; undefined: not sent. */
export type SentHeaders = Readonly<Record<string, string | undefined>>;

export function aHook(
  headers: SentHeaders,
  body: string | Uint8Array,
  { path = "/hooks/provider/task/token", query = "" } = {},
): Hook {
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return { path, query, headers: new Headers(sent), body: new Uint8Array(bytes(body)) };
}

export function aConnection(changes: Partial<Connection> = {}): Connection {
  return {
    name: "connection",
    provider: ark,
    baseUrl: "https://api.example",
    key: null,
    webhookSecret: null,
    userId: null,
    jwksUrl: null,
    ...changes,
  };
}

/** At `now` (Unix milliseconds), where no public keys can be had. */
export function aContext(now: number = NOW): HookContext {
  return { now, publicKeys: async () => null };
}

/** HMAC-SHA-256 of `content`, both as UTF-8. */
export async function hmac(secret: string, content: string): Promise<Uint8Array> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const raw = new Uint8Array(bytes(secret));
  const key = await crypto.subtle.importKey("raw", raw, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes(content)));
}

export function hex(signature: Uint8Array): string {
  return [...signature].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function base64(signature: Uint8Array): string {
  return btoa(String.fromCharCode(...signature));
}

/** `body` with its last byte changed. */
export function tampered(body: string): Uint8Array {
  const changed = bytes(body);
  changed.set([(changed.at(-1) ?? 0) ^ 1], changed.length - 1);
  return changed;
}

/** Other spellings of `seconds` that some readers of numbers accept. */
export function otherSpellings(seconds: number): readonly string[] {
  return [`0${seconds}`, `+${seconds}`, `${seconds}.0`, `${seconds}e0`, `${seconds}000`, "", "now"];
}

function bytes(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}
