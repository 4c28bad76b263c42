import * as z from "zod";
import { AccountId, optional } from "../http/fields.ts";

/** Body of `POST /v1/accounts`. */
export const NewAccount = z.strictObject({ id: AccountId });

/** Body of `POST /v1/accounts/{account}/grants`. */
export const Grant = z.strictObject({
  /** The caller's own name for the grant, which makes it repeatable. */
  reference: z.string().min(1).max(255),
  amount: z.int().min(1),
});

/** Body of `POST /v1/accounts/{account}/signing-secrets`: the latest generation seen makes it repeatable. */
export const Rotation = z.strictObject({
  generation: optional(z.int()),
});

/** Body of `POST /v1/accounts/{account}/keys`: a key is generated, or imported by its hash. */
export const NewKey = z.strictObject({
  label: optional(z.string().max(100)),
  sha256: optional(z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits")),
});

/** Query of `GET /v1/accounts`. */
export const Page = z.strictObject({
  limit: z.string().optional(),
  cursor: z.string().max(64).default(""),
});
