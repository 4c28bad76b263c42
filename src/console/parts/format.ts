import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../core/time.ts";

const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Returns a count as text with a comma between thousands. */
export function countText(count: number): string {
  // `toLocaleString` takes far longer, and a page has hundreds of counts.
  return String(Math.round(count)).replaceAll(/\B(?=(?:\d{3}){1,7}$)/g, ",");
}

/** Returns an amount of credits as text, which may be negative. */
export function amountText(amount: number): string {
  return amount < 0 ? `−${countText(-amount)}` : countText(amount);
}

/** Returns a number with the name of what is counted, e.g. `1 task` or `1,284 tasks`. */
export function countOf(count: number, thing: string): string {
  return `${countText(count)} ${thing}${count === 1 ? "" : "s"}`;
}

/**
 * Returns a fraction as a percentage, e.g. `50.0 %` for 0.5. Only 0 and 1 themselves give `0 %` and `100 %`; other
 * fractions are never rounded to these.
 */
export function percentText(share: number): string {
  if (share === 0 || share === 1) return `${share * 100} %`;
  return `${Math.min(99.9, Math.max(0.1, share * 100)).toFixed(1)} %`;
}

/** Returns a number of bytes as text, e.g. `812 bytes`, `4.2 kB` or `17.3 MB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return countOf(bytes, "byte");
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Returns a duration as text, with at most two units, e.g. `4 ms`, `2.5 s` or `2 h 5 min`. */
export function durationText(durationMs: number): string {
  const ms = Math.abs(Math.round(durationMs));
  if (ms < SECOND_MS) return `${ms} ms`;
  if (ms < 10 * SECOND_MS) return `${Number((ms / SECOND_MS).toFixed(1))} s`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS) return twoUnits(ms, [MINUTE_MS, "min"], [SECOND_MS, "s"]);
  if (ms < DAY_MS) return twoUnits(ms, [HOUR_MS, "h"], [MINUTE_MS, "min"]);
  return twoUnits(ms, [DAY_MS, "d"], [HOUR_MS, "h"]);
}

type Unit = readonly [number, string];

function twoUnits(ms: number, [large, largeName]: Unit, [small, smallName]: Unit): string {
  const rest = Math.floor((ms % large) / small);
  const head = `${Math.floor(ms / large)} ${largeName}`;
  return rest === 0 ? head : `${head} ${rest} ${smallName}`;
}

/** Returns, in its largest unit, how long ago a time was, or how far ahead it is, e.g. `3 h ago` or `in 5 min`. */
export function relativeText(atMs: number, nowMs: number): string {
  const ms = Math.abs(atMs - nowMs);
  if (ms < SECOND_MS) return "now";
  const [size, name] = UNITS.find(([unit]) => ms >= unit) ?? [SECOND_MS, "s"];
  const amount = `${Math.floor(ms / size)} ${name}`;
  return atMs <= nowMs ? `${amount} ago` : `in ${amount}`;
}

const UNITS: readonly Unit[] = [
  [DAY_MS, "d"],
  [HOUR_MS, "h"],
  [MINUTE_MS, "min"],
  [SECOND_MS, "s"],
];

/** Returns a time in UTC as text, e.g. `22 Nov 14:31:07`, to the second or to the millisecond. */
export function utcText(atMs: number, precision: "s" | "ms" = "s"): string {
  const at = new Date(atMs);
  const day = String(at.getUTCDate()).padStart(2, "0");
  const clock = at.toISOString().slice(11, precision === "ms" ? 23 : 19);
  return `${day} ${MONTHS[at.getUTCMonth()]} ${clock}`;
}
