import { countOf, percentText } from "../parts/format.ts";
import type { Tone } from "../parts/chip.tsx";
import type { IconName } from "../parts/icon.tsx";

/** Least share of callbacks that must be delivered for the relay to be called quiet. */
const QUIET_SHARE = 0.99;

interface Seen {
  readonly problems: readonly { readonly severity: string }[];
  /** Number of callbacks that have failed for good within the last day; null when this is not known. */
  readonly failedOfDay: { readonly count: number; readonly isCapped: boolean } | null;
  /** Share of the callbacks of the shown time range that were delivered; null when none has ended. */
  readonly successRate: number | null;
  /** Name of the shown time range, e.g. `24 h`. */
  readonly range: string;
  /** Names of the upstreams whose jobs fail. */
  readonly failingUpstreams: readonly string[];
}

/** State of the relay in a few words. */
interface Headline {
  readonly tone: Tone;
  readonly icon: IconName;
  readonly word: string;
}

/**
 * Says in a few words how the relay is. It is quiet only without a problem, without a callback that has failed within
 * a day, with at least 99 % of callbacks delivered in the shown time range, and while no upstream fails.
 */
export function headlineOf(seen: Seen): Headline {
  const grave = seen.problems.filter(({ severity }) => severity !== "notice");
  const word = grave.length > 0 ? countOf(grave.length, "problem") : unrestIn(seen);
  if (word === null) return { tone: "ok", icon: "check", word: "All quiet" };
  return grave.some(({ severity }) => severity === "error")
    ? { tone: "bad", icon: "cross", word }
    : { tone: "warn", icon: "warn", word };
}

/** Says what fails although the relay has no problem; null when nothing does. */
function unrestIn({ failedOfDay, successRate, range, failingUpstreams }: Seen): string | null {
  if (failingUpstreams.length > 1) return `${failingUpstreams.length} upstreams fail`;
  if (failingUpstreams.length === 1) return `Jobs of ${failingUpstreams.join("")} fail`;
  if (failedOfDay !== null && failedOfDay.count > 0) {
    const more = failedOfDay.isCapped ? " or more" : "";
    return `${countOf(failedOfDay.count, "callback")}${more} failed in 24 h`;
  }
  const isBad = successRate !== null && successRate < QUIET_SHARE;
  return isBad ? `${percentText(successRate)} delivered in ${range}` : null;
}
