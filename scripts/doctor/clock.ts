import { type Finding, ok, problem, unchecked } from "./finding.ts";
import type { Answer } from "./relay.ts";

/**
 * Largest difference in seconds between the clocks of the relay and of this machine that `npm run doctor`
 * accepts. Signatures are refused only beyond 300 s; the smaller limit leaves time for the transfer.
 */
const MAX_DIFFERENCE_S = 60;

/**
 * Compares the relay's clock with that of this machine: by the header `Date` of an answer, or else by the
 * timestamp of a test callback.
 * @param callback timestamp of the callback in Unix seconds, and the time of its arrival here in Unix
 * milliseconds; null when none arrived.
 */
export function clockFinding(
  { headers, at }: Answer,
  callback: { readonly sentAtS: number; readonly arrivedAt: number } | null,
): Finding {
  const date = Date.parse(headers.get("Date") ?? "");
  if (!Number.isNaN(date)) return judged(Math.round((date - at) / 1000));
  if (callback !== null) return judged(Math.round(callback.sentAtS - callback.arrivedAt / 1000));
  return unchecked("clock: neither the answer nor a callback had a time");
}

function judged(aheadS: number): Finding {
  const difference = Math.abs(aheadS);
  if (difference <= MAX_DIFFERENCE_S) return ok(`clock: within ${MAX_DIFFERENCE_S} s of this one`);
  return problem(
    `clock: ${difference} s ${aheadS > 0 ? "ahead of" : "behind"} this machine`,
    "set the clock that is wrong (NTP); signatures older than 300 s are refused",
  );
}
