import * as z from "zod/mini";
import { AccountId, optional, text, withDefault } from "../http/fields.ts";

/**
 * Schema of the reference, a text that the caller chooses for a grant or an adjustment. An account's ledger books each
 * reference at most once as a grant and once as an adjustment, so that a request can be repeated safely.
 */
const Reference = text(1, 255);

/** Body of `POST /v1/accounts`, which creates an account. */
export const NewAccount = z.strictObject({ id: AccountId });

const MAX_TAGS = 20;
const Tag = z.string().check(z.regex(/^[a-z0-9-]{1,40}$/, "must be 1 to 40 of a-z 0-9 -"));
const Credits = z.int().check(z.minimum(0));

/**
 * Body of `PUT /v1/accounts/{account}`, which replaces the settings of an account. A member that is absent or null
 * removes this setting.
 */
export const Settings = z.strictObject({
  tags: withDefault(
    z.array(Tag).check(
      z.maxLength(MAX_TAGS),
      z.refine((tags) => new Set(tags).size === tags.length, "must not repeat a tag"),
    ),
    [],
  ),
  low_balance: optional(Credits),
  monthly_limit: optional(Credits),
});

/** Body of `POST /v1/accounts/{account}/grants`, which grants credits. */
export const Grant = z.strictObject({
  reference: Reference,
  amount: z.int().check(z.minimum(1)),
});

/**
 * Body of `POST /v1/accounts/{account}/adjustments`, which adds credits to the balance or takes credits from
 * it.
 */
export const Adjustment = z.strictObject({
  reference: Reference,
  amount: z.int().check(z.refine((amount) => amount !== 0, "must not be 0")),
  reason: text(1, 500),
});

/**
 * Body of `POST /v1/accounts/{account}/signing-secrets`, which rotates the callback secret. It may state the
 * generation of the secret that the caller knows. The secret is then rotated only if this is the current generation,
 * so that a repeated request does not rotate it twice.
 */
export const Rotation = z.strictObject({
  generation: optional(z.int()),
});

/**
 * Body of `POST /v1/accounts/{account}/keys`, which adds an API key: a new one that the relay generates, or
 * an existing one given by its hash.
 */
export const NewKey = z.strictObject({
  label: optional(text(0, 100)),
  role: withDefault(z.enum(["read", "full"]), "full"),
  sha256: optional(z.string().check(z.regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits"))),
});
