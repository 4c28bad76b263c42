import * as z from "zod/mini";
import { Count, described, Time } from "../shapes/described.ts";

const Lag = z.nullable(z.number());

export const Index = z.strictObject({
  databases: Count,
  is_reachable: described(z.boolean(), "Whether all databases answered within 2 seconds."),
  counted_at: described(z.nullable(Time), "When the cron trigger last found something to count."),
  lag_ms: described(
    z.strictObject({ p50: Lag, p95: Lag, p99: Lag }),
    "How long tasks of this and the previous hour took to reach it once they were settled.",
  ),
  size_bytes: described(z.nullable(Count), "Size of the largest database."),
});
