import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/time.ts";
import type { LinkLife, UpstreamProvider } from "./provider.ts";

const NOT_DOCUMENTED = "not documented";
/**
 * Time in milliseconds between two polls of one job at providers that document no limit of polls. The documentation of
 * the relay shows only longer times as limits of the provider.
 */
const USUAL_GAP_MS = SECOND_MS;

/** The limits that a provider documents, in words. */
export interface DocumentedLimits {
  /** Text that says how long the links of a result work. */
  readonly linkLife: string;
  /** Text that says how long a job can be polled. */
  readonly jobLife: string;
  /** Text that says how many polls the provider permits, e.g. "one every 5 seconds of each job". */
  readonly polls: string;
}

/** Returns the limits of a provider in words, from the constants of its adapter. */
export function documentedLimits({ linkLife, polls }: UpstreamProvider): DocumentedLimits {
  const { maxAgeMs, perMinute, gapMs } = polls;
  const rates = [
    ...(perMinute === undefined ? [] : [`${perMinute.toLocaleString("en")} a minute of each key`]),
    ...(gapMs > USUAL_GAP_MS ? [`one every ${timeText(gapMs)} of each job`] : []),
  ];
  return {
    linkLife: linkLifeText(linkLife),
    jobLife: maxAgeMs === null ? NOT_DOCUMENTED : timeText(maxAgeMs),
    polls: rates.length === 0 ? NOT_DOCUMENTED : rates.join(", "),
  };
}

function linkLifeText(life: LinkLife | "stated" | null): string {
  if (life === null) return NOT_DOCUMENTED;
  if (life === "stated") return "as each job states";
  const { minMs, maxMs } = life;
  if (maxMs === null) return `at least ${timeText(minMs)}`;
  if (minMs === maxMs) return timeText(minMs);
  const [least = "", unit = ""] = timeText(minMs).split(/(?: |s$)/);
  const most = timeText(maxMs);
  return most.includes(unit) ? `${least} to ${most}` : `${timeText(minMs)} to ${most}`;
}

/** Returns a time in whole days, hours, minutes or seconds: "10 minutes", "24 hours", "7 days". */
function timeText(ms: number): string {
  if (ms > 2 * DAY_MS) return `${ms / DAY_MS} days`;
  if (ms >= HOUR_MS) return ms === HOUR_MS ? "1 hour" : `${ms / HOUR_MS} hours`;
  return ms >= MINUTE_MS ? `${ms / MINUTE_MS} minutes` : `${ms / SECOND_MS} seconds`;
}
