import * as z from "zod/mini";
import { Count, described, maybe, Time } from "../shapes/described.ts";

const Places = z.strictObject({
  held: described(Count, "Places that are taken."),
  waiting: described(
    Count,
    "Submissions that wait for a place. Those to a pool wait at each of its members.",
  ),
  oldest_since: maybe(Time, "Since when the first of them has waited."),
  wait_ms: maybe(
    z.strictObject({ p50: z.number(), p99: z.number() }),
    "How long the submissions have waited that got the latest places, at most 1,000: half of them, and 99 %, not longer.",
  ),
  cool_until: maybe(
    Time,
    "When places are given again at the latest, after the upstream has refused a call: it was busy, or got too many calls.",
  ),
  out_until: maybe(
    Time,
    "Until when the connection gets no jobs of its pools, because the upstream has refused the key, or the account there has no money left.",
  ),
});

export const Connection = z.strictObject({
  provider: z.string(),
  key: described(
    z.enum(["set", "refused", "not_needed"]),
    "Whether the provider has lately refused the key, or takes none.",
  ),
  refused_at: z.optional(Time),
  in_flight: maybe(
    z.int(),
    "Largest number of its jobs in flight. Absent where the relay sets no limit.",
  ),
  queue: maybe(
    z.int(),
    "How many submissions may wait for a place. Absent where the relay sets no limit.",
  ),
  places: maybe(
    Places,
    "The present state of its queue. Absent where the relay sets no limit and no pool has the connection, and when the queue does not answer.",
  ),
  funds_refused_at: maybe(
    Time,
    "When the provider last refused a submission because the account there has no money left, within 35 minutes.",
  ),
  hooks: maybe(z.literal("missing"), "Hooks are expected and none come."),
  unclear: maybe(
    z.strictObject({
      at: Time,
      status_code: z.nullable(z.int()),
      word: z.nullable(z.string()),
    }),
    "The last answer to a poll that was not understood.",
  ),
});

export const Pool = z.strictObject({
  provider: described(z.string(), "Provider of its members."),
  of: described(z.array(z.string()), "Its members, the preferred ones first."),
  queue: described(z.int(), "How many submissions may wait for a place."),
  failures: maybe(z.literal(true), "A job that has failed is submitted to the further members."),
});

export const WithoutKey = z.strictObject({
  provider: z.string(),
  needs: described(
    z.array(z.string()),
    "Settings that it needs, e.g. `FAL_KEY`; empty for the sandbox that is switched on.",
  ),
  accepts_tasks: described(
    z.boolean(),
    "Whether tasks may name it; without a key their results come by hooks only.",
  ),
});
