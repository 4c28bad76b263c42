import type { Role } from "../core/view.ts";
import { verify } from "../callback/signature.ts";
import type { Relay } from "../relay.ts";
import { Problem } from "./problem.ts";

/** Whether the request carries an operator key. Takes the same time for every wrong key. */
export async function isOperator(headers: Headers, relay: Relay): Promise<boolean> {
  const given = bearerOf(headers);
  if (given === null) return false;
  // Digests have one length, so nothing about the keys shows in the comparison.
  const digest = await sha256(given);
  const matches = await Promise.all(
    relay.config.operatorKeys.map(async (key) =>
      crypto.subtle.timingSafeEqual(digest, await sha256(key)),
    ),
  );
  return matches.includes(true);
}

/** @throws Problem `unauthenticated`. */
export async function requireOperator(headers: Headers, relay: Relay): Promise<Role> {
  if (await isOperator(headers, relay)) return "operator";
  throw unauthenticated("An operator key is required: Authorization: Bearer <key>.");
}

/**
 * An upstream's event: with an operator key, or signed with the events secret (Standard Webhooks).
 * The body is asked for only when a signature has to be checked against it.
 * @throws Problem `unauthenticated`.
 */
export async function requireSender(
  headers: Headers,
  body: () => Promise<Uint8Array<ArrayBuffer>>,
  relay: Relay,
): Promise<Role> {
  if (headers.has("Authorization") || !headers.has("webhook-signature")) {
    return requireOperator(headers, relay);
  }
  const { eventsSecrets } = relay.keyring;
  if (await verify(headers, await body(), eventsSecrets, Date.now())) return "account";
  throw unauthenticated("The webhook signature is missing, wrong, or not within 300 s of now.");
}

function bearerOf(headers: Headers): string | null {
  const [scheme, key, ...more] = (headers.get("Authorization") ?? "").split(" ");
  const isBearer = scheme?.toLowerCase() === "bearer" && more.length === 0;
  return isBearer && key !== undefined && key !== "" ? key : null;
}

async function sha256(text: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
}

function unauthenticated(detail: string): Problem {
  const headers = { "WWW-Authenticate": 'Bearer realm="task-relay"' };
  return new Problem("unauthenticated", { detail, headers });
}
