import * as z from "zod/mini";
import { described, Id, maybe, named, Time } from "../../../../src/api/shapes/described.ts";

export const Account = named(
  "Account",
  z.strictObject({
    id: z.string(),
    balance: described(z.int(), "Whole credits; negative after an adjustment below zero."),
    created_at: Time,
    deleted_at: z.optional(Time),
  }),
  "An account: a tenant with API keys, a callback secret and credits of its own.",
);

export const ListedAccount = z.strictObject({ id: z.string(), created_at: Time });

export const Booking = named(
  "Booking",
  z.strictObject({ reference: z.string(), amount: z.int(), balance: z.int() }),
  "A grant, with the balance after it.",
);

export const AdjustmentBooking = named(
  "AdjustmentBooking",
  z.strictObject({
    reference: z.string(),
    amount: z.int(),
    reason: z.string(),
    balance: z.int(),
  }),
  "An adjustment, with the balance after it.",
);

export const Entry = named(
  "Entry",
  z.strictObject({
    kind: z.enum(["opening", "grant", "adjustment", "charge", "refund", "release"]),
    amount: described(z.int(), "Credits; an adjustment has its sign, and a charge is subtracted."),
    balance: described(z.int(), "Balance after the entry."),
    reference: z.string(),
    task_id: z.optional(Id),
    reason: maybe(z.string(), "Reason of an adjustment."),
    created_at: Time,
    booked_by: maybe(z.string(), "Name of the key that ordered it. Only operators see it."),
  }),
  "An entry of a ledger.",
);

const KEY_FIELDS = {
  id: z.string(),
  name: described(z.string(), "First eight hex digits of the SHA-256 of the key."),
  prefix: described(z.string(), "First characters of the key, by which people tell keys apart."),
  label: z.nullable(z.string()),
  role: z.enum(["read", "full"]),
  created_at: Time,
};

export const AccountKey = named(
  "AccountKey",
  z.strictObject({ ...KEY_FIELDS, last_used_at: maybe(Time, "Day of the last use.") }),
  "An API key of an account, without the key itself.",
);

export const NewAccountKey = named(
  "NewAccountKey",
  z.strictObject({
    ...KEY_FIELDS,
    last_used_at: z.optional(Time),
    key: maybe(z.string(), "The key, which is never shown again; absent for an imported one."),
  }),
  "A new API key of an account.",
);

export const AccountSecrets = named(
  "AccountSecrets",
  z.strictObject({
    generation: described(z.int(), "Number of the newest secret; each rotation raises it."),
    callbacks: described(z.array(z.string()), "Secrets of the `v1` signatures, newest first."),
    public_keys: described(z.array(z.string()), "Public keys of the `v1a` signatures."),
  }),
  "The secrets that receivers of an account verify callbacks with.",
);
