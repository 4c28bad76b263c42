import { ark } from "../../src/providers/ark/ark.ts";
import type { Connection, Hook } from "../../src/providers/provider.ts";

/** Time of the test vectors, in Unix seconds: 2026-01-01T00:00:00Z. */
export const NOW_S = 1_767_225_600;
export const NOW = NOW_S * 1000;

/** Headers by name; undefined means that the header is not sent. */
export type SentHeaders = Readonly<Record<string, string | undefined>>;

export function aHook(
  headers: SentHeaders,
  body: string | Uint8Array,
  { path = "/hooks/provider/task/token", query = "" } = {},
): Hook {
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  const readBody = async () => new Uint8Array(bytes(body));
  return { path, query, headers: new Headers(sent), readBody };
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
    pollsPerMinute: null,
    inFlight: null,
    queueLimit: 0,
    pool: null,
    ...changes,
  };
}

/** Computes the HMAC-SHA-256 of `content`; texts are taken as UTF-8. */
export async function hmac(secret: string | Uint8Array, content: string): Promise<Uint8Array> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const raw = new Uint8Array(bytes(secret));
  const key = await crypto.subtle.importKey("raw", raw, algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, bytes(content)));
}

const RFC_8032_KEY = {
  kty: "OKP",
  crv: "Ed25519",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
  d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
};

/** Imports the key pair of the first vector of RFC 8032 §7.1. */
export async function rfc8032Keys(): Promise<{
  readonly sign: CryptoKey;
  readonly verify: CryptoKey;
}> {
  const { d: _, ...half } = RFC_8032_KEY;
  return {
    sign: await crypto.subtle.importKey("jwk", RFC_8032_KEY, "Ed25519", false, ["sign"]),
    verify: await crypto.subtle.importKey("jwk", half, "Ed25519", false, ["verify"]),
  };
}

export function hex(signature: Uint8Array): string {
  return [...signature].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function base64(signature: Uint8Array): string {
  return btoa(String.fromCharCode(...signature));
}

/** Encodes bytes as base64url without padding. */
export function base64Url(signature: Uint8Array): string {
  return base64(signature).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Returns `body` with its last byte changed. */
export function tampered(body: string): Uint8Array {
  const changed = bytes(body);
  changed.set([(changed.at(-1) ?? 0) ^ 1], changed.length - 1);
  return changed;
}

function bytes(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}
