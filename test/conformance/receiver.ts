import { createHmac, createPublicKey, verify } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { afterAll } from "vitest";
import { publishedPrivateKey, publishedSecret } from "../../scripts/conformance/keys.ts";
import { bodyOf, LoopbackServer } from "../process/harness/loopback.ts";

export const SECRET = await publishedSecret();
export const PRIVATE_KEY = await publishedPrivateKey();
const PUBLIC_KEY = Buffer.from(PRIVATE_KEY.slice("whsk_".length), "base64").subarray(32);

/** The steps of a receiver; tests replace one of them to build a receiver with a fault. */
export interface Receiver {
  readonly isRecent: (timestamp: string) => boolean;
  readonly signedBody: (body: string) => string;
  readonly signaturesIn: (header: string) => readonly string[];
  /**
   * Tells whether a signature, which begins with the name of its scheme, is a valid signature of the content.
   */
  readonly isSigned: (content: string, signature: string) => boolean;
  readonly answer: (isVerified: boolean, isNew: boolean, body: string) => Answer;
  /** Answer to a request that lacks a header of the signature; null for the answer to any forged request. */
  readonly missing: Answer | null;
  /** States that the receiver stores the `webhook-id` before it verifies the signature. */
  readonly storesFirst: boolean;
}

/** Answer of a receiver, and the value of its header `X-Acted`. */
export type Answer = { readonly status: number; readonly acted?: boolean } | "hang" | "close";

export const CORRECT: Receiver = {
  isRecent: (timestamp) => Math.abs(Number(timestamp) - Date.now() / 1000) <= 300,
  signedBody: (body) => body,
  signaturesIn: (header) => header.split(" "),
  isSigned: (content, signature) => signature === hmac(content),
  answer: (isVerified, isNew) =>
    isVerified ? { status: 204, acted: isNew } : { status: 401, acted: false },
  missing: null,
  storesFirst: false,
};

/** Computes a `v1` signature. */
export function hmac(content: string, secret = SECRET): string {
  const key = Buffer.from(secret.replace(/^wh.+_/, ""), "base64");
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
}

/** Tells whether a signature is a `v1a` signature of the content under the published key. */
export function isAsymmetric(content: string, signature: string): boolean {
  const [version, base64 = ""] = signature.split(",");
  const jwk = { kty: "OKP", crv: "Ed25519", x: PUBLIC_KEY.toString("base64url") };
  const key = createPublicKey({ key: jwk, format: "jwk" });
  const isValid = verify(null, Buffer.from(content), key, Buffer.from(base64, "base64"));
  return version === "v1a" && isValid;
}

/**
 * Tells whether a signature is accepted by a receiver that also accepts `v1` signatures made with the public
 * key as the secret.
 */
export function isConfused(content: string, signature: string): boolean {
  const publicKey = PUBLIC_KEY.toString("base64");
  return isAsymmetric(content, signature) || signature === hmac(content, publicKey);
}

/**
 * Starts a receiver, which stops after the tests of the file.
 * @param tells true when the receiver states in `X-Acted` whether it acted.
 * @returns its URL.
 */
export async function listen(parts: Partial<Receiver>, tells = true): Promise<string> {
  const respond = receiverOf({ ...CORRECT, ...parts });
  const server = await new LoopbackServer(async (request, response) => {
    const answer = respond(request.headers, (await bodyOf(request)) ?? "");
    if (answer === "hang") return;
    if (answer === "close") return void response.destroy();
    const { status, acted } = answer;
    const header = tells && acted !== undefined ? { "X-Acted": acted ? "yes" : "no" } : {};
    response.writeHead(status, header).end();
  }).listen();
  afterAll(() => server[Symbol.asyncDispose]());
  return server.origin;
}

function receiverOf(receiver: Receiver) {
  const seen = new Set<string>();
  return (headers: IncomingHttpHeaders, body: string): Answer => {
    const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    const [id, timestamp, header] = names.map((name) => headers[name]?.toString());
    if (!id || !timestamp || !header) return receiver.missing ?? receiver.answer(false, true, body);
    const isNew = !seen.has(id);
    if (receiver.storesFirst) seen.add(id);
    const content = `${id}.${timestamp}.${receiver.signedBody(body)}`;
    const signatures = receiver.signaturesIn(header);
    const isSigned = signatures.some((signature) => receiver.isSigned(content, signature));
    const isVerified = isSigned && receiver.isRecent(timestamp);
    if (isVerified) seen.add(id);
    return receiver.answer(isVerified, isNew, body);
  };
}
