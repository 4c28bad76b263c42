import * as z from "zod/mini";
import { FAULT_CODES } from "../../../../src/security/doctor/verdict.ts";
import { SENT_FIELDS } from "../../../../src/api/shapes/callback-shape.ts";
import { described, maybe, named } from "../../../../src/api/shapes/described.ts";

const Signer = named(
  "Signer",
  z.strictObject({
    scheme: z.enum(["v1", "v1a"]),
    age: described(
      z.enum(["current", "next", "previous"]),
      "Whether the secret is the present one, that after the next rotation, or an older one.",
    ),
    generation: maybe(z.int(), "Generation of the account's secret."),
    relay_secret: maybe(z.int(), "Place in RELAY_SECRET, from 1, unless it is the newest."),
    kid: maybe(z.string(), "Key id, as in `/.well-known/jwks.json`."),
  }),
  "A secret or key that signs callbacks, without the secret.",
);

export const AttemptRequest = named(
  "AttemptRequest",
  z.strictObject({
    ...SENT_FIELDS,
    exact: described(
      z.nullable(z.boolean()),
      "Whether these are proved to be the headers that were sent; null when that is not known.",
    ),
    signed_by: described(z.array(Signer), "In the order of the signatures in the header."),
  }),
  "The request of one attempt of a callback.",
);

const Fault = named(
  "Fault",
  z.strictObject({
    code: z.enum(FAULT_CODES),
    message: described(z.string(), "What is wrong."),
    cure: described(z.string(), "What to do about it."),
    header: maybe(z.string(), "The header that is missing or was changed."),
    expected: maybe(z.string(), "What the header should be."),
    by_s: maybe(z.int(), "Seconds beyond the 300 s that libraries accept."),
    task_id: maybe(z.string(), "Task of the callback."),
    byte: maybe(z.int(), "Position of the first byte of the body that differs, from 0."),
    sent: maybe(z.string(), "The body from there on, as it was sent."),
    received: maybe(z.string(), "The body from there on, as it was received."),
  }),
  "What is wrong with a callback as a server has received it.",
);

export const Verdict = named(
  "Verdict",
  z.strictObject({
    verdict: described(z.enum(["valid", "stale", "invalid"]), "`stale`: valid but for its age."),
    signed_by: described(z.array(Signer), "The secrets and keys under which it is valid."),
    attempt: described(z.nullable(z.int()), "Number of the attempt that has this timestamp."),
    age_s: described(z.nullable(z.int()), "Age of the timestamp in seconds."),
    faults: described(z.array(Fault), "What is wrong, gravest first."),
  }),
  "The judgement on a callback as a server has received it.",
);
