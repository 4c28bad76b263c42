import * as z from "zod/mini";
import { AnyObject, Count, described } from "../shapes/described.ts";

const Text = z.string();

const Limit = z.strictObject({
  values: z.nullable(z.array(z.union([Text, z.number(), z.boolean()]))),
  min: z.nullable(z.number()),
  max: z.nullable(z.number()),
  optional: z.boolean(),
});

/**
 * Schema of the part of a price that depends on a number: a job costs `credits` for every `units` of it. The number is
 * taken from the job's usage under the name in `usage`, or from the output metadata under the name in `field`.
 */
const Rate = z.strictObject({
  usage: z.optional(Text),
  field: z.optional(Text),
  units: z.number(),
  credits: z.union([z.number(), z.record(Text, z.number())]),
});

export const OfferPrice = z.union([
  z.strictObject({ credits: Count }),
  z.strictObject({ hold: Count, min: Count, per: Rate }),
]);

/** Schema of an offer with the members with which operators write it. Members without a value are null. */
export const OfferForm = z.strictObject({
  name: Text,
  title: z.nullable(Text),
  description: z.nullable(Text),
  accounts: z.nullable(z.array(Text)),
  rank: z.int(),
  connection: Text,
  key: z.nullable(z.literal("customer")),
  path: z.nullable(Text),
  models: z.array(Text),
  limits: z.record(Text, Limit),
  price: z.nullable(OfferPrice),
  uploads: described(z.boolean(), "Whether accounts may upload files to the connection."),
  body: described(z.nullable(AnyObject), "What a caller of the offer's tool may set."),
  tool: described(z.nullable(Text), "Name of the tool at `POST /mcp`."),
});
