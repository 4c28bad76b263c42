import * as z from "zod/mini";
import type { Connection } from "../providers/provider.ts";
import type { ConfigIssue } from "./issue.ts";

/** Number of submissions that may wait for a place of a connection or pool, unless its entry states another. */
export const USUAL_QUEUE = 1_000;

const SCHEMAS = { in_flight: wholeNumber(1, 10_000), queue: wholeNumber(0, 100_000) };
const NAMES = ["in_flight", "queue"] as const;

/** The members of an entry of `CONNECTIONS` that limit jobs and waiting submissions, before they are checked. */
interface Limits {
  readonly in_flight?: unknown;
  readonly queue?: unknown;
}

/** Returns the faults in the limits of an entry of `CONNECTIONS`. Each fault names the entry and the member. */
export function queueLimitIssues({
  variable,
  name,
  entry,
}: {
  readonly variable: string;
  readonly name: string;
  readonly entry: Limits;
}): readonly ConfigIssue[] {
  return NAMES.flatMap((member) => {
    const { error } = SCHEMAS[member].safeParse(entry[member]);
    const path = `${variable}.${name}.${member}`;
    return (error?.issues ?? []).map(({ message }) => ({ path, message }));
  });
}

/** Returns the limits of an entry of `CONNECTIONS` that has no faults. */
export function queueLimitsOf({
  in_flight: inFlight,
  queue,
}: Limits): Pick<Connection, "inFlight" | "queueLimit"> {
  return {
    inFlight: SCHEMAS.in_flight.parse(inFlight) ?? null,
    queueLimit: SCHEMAS.queue.parse(queue) ?? USUAL_QUEUE,
  };
}

function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.nullish(z.int(message).check(z.gte(min, message), z.lte(max, message)));
}
