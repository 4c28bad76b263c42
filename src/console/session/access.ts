import { decodeHeader, verifyWithJwks } from "hono/utils/jwt/jwt";
import * as z from "zod/mini";
import type { AccessConfig } from "../../config/config.ts";
import { HOUR_MS } from "../../core/time.ts";
import { errorName, logAs, type LogSettings } from "../../lib/log.ts";
import type { KeyHolder } from "../../objects/task/caller.ts";
import { keyReader } from "../../outbound/jwks.ts";

/** Header in which Cloudflare Access passes the token of a user to the application that it protects. */
const HEADER = "Cf-Access-Jwt-Assertion";

const RsaJwk = z.looseObject({ kty: z.literal("RSA"), kid: z.string() });
const rsaKeys = keyReader(HOUR_MS, async (jwk) => RsaJwk.safeParse(jwk).data ?? null);

/**
 * Schema of what is read from a token: its expiry, which is required, and the name of its user, which is in `email` for
 * a person and in `common_name` for a service.
 */
const Claims = z.object({
  exp: z.number(),
  email: z.optional(z.string()),
  common_name: z.optional(z.string()),
});

/**
 * Error for a token that could not be verified because the keys could not be fetched. For a token that is not valid,
 * Hono throws its own errors.
 */
class KeysUnreachable extends Error {
  override readonly name = "KeysUnreachable";
}

/**
 * Identifies the user whom Cloudflare Access has let through, as an operator with the configured role.
 * @returns null when the request has no valid token for the configured application. The log says why a token is
 * refused.
 */
export async function accessUserOf(
  { headers }: Request,
  { access, logsDetails }: LogSettings & { readonly access: AccessConfig | null },
): Promise<KeyHolder | null> {
  const token = headers.get(HEADER);
  if (access === null || token === null) return null;
  try {
    const { email, common_name: service } = Claims.parse(await verified(token, access));
    return { kind: "operator", role: access.role, key: email ?? service ?? "access" };
  } catch (error) {
    const reason = errorName(error);
    const level = error instanceof KeysUnreachable ? "warn" : "detail";
    logAs(level, () => ({ event: "access.refused", reason }), { logsDetails });
    return null;
  }
}

/**
 * Verifies a token and returns its claims.
 * @throws Error when the token is not valid; the name of the error is the reason.
 */
async function verified(token: string, { origin, audience }: AccessConfig): Promise<unknown> {
  return verifyWithJwks(token, {
    keys: [...(await keysFor(decodeHeader(token).kid, origin))],
    allowedAlgorithms: ["RS256"],
    verification: { iss: origin, aud: audience },
  });
}

/**
 * Returns the keys that verify the tokens of a team of Cloudflare Access. They are cached, and fetched again when the
 * key `kid` is not among them, because teams rotate their keys.
 */
async function keysFor(kid: string | undefined, origin: string) {
  const url = `${origin}/cdn-cgi/access/certs`;
  const cached = await rsaKeys(url, false);
  const isKnown = cached?.some((key) => key.kid === kid) ?? false;
  const keys = isKnown ? cached : await rsaKeys(url, true);
  if (keys === null) throw new KeysUnreachable();
  return keys;
}
