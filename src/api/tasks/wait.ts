import { invalidRequest } from "../http/problem.ts";

const MAX_WAIT_S = 60;
/** Pauses between two questions to the object, then `LATER_PAUSE_MS`. */
const PAUSES_MS = [1000, 1000, 2000, 2000, 3000];
const LATER_PAUSE_MS = 5000;

/**
 * How long the reader wants the answer held: `?wait=N`, else `Prefer: wait=N` (RFC 7240 §4.3), in
 * seconds, clamped to 0…60. @throws Problem `invalid_request` when the parameter is not a number.
 */
export function waitMsOf(query: URLSearchParams, headers: Headers): number {
  const asked = query.get("wait");
  const preferred = /(?:^|,)\s*wait\s*=\s*"?(\d+)"?\s*(?:[;,]|$)/i.exec(
    headers.get("Prefer") ?? "",
  );
  const wait = asked ?? preferred?.[1] ?? "0";
  const seconds = wait.trim() === "" ? NaN : Number(wait);
  if (Number.isNaN(seconds)) {
    throw invalidRequest([{ path: "/wait", message: "must be a number of seconds" }]);
  }
  return Math.min(Math.max(seconds, 0), MAX_WAIT_S) * 1000;
}

/**
 * Asks again and again until the answer is the wanted one, there is none, or the time is up. The waiting
 * is done here, so that the object is never held in memory for a reader.
 */
export async function askUntil<T>(
  ask: () => Promise<T | null>,
  isWanted: (answer: T) => boolean,
  waitMs: number,
): Promise<T | null> {
  const giveUpAt = Date.now() + waitMs;
  for (let asked = 0; ; asked++) {
    const answer = await ask();
    const leftMs = giveUpAt - Date.now();
    if (answer === null || isWanted(answer) || leftMs <= 0) return answer;
    await scheduler.wait(Math.min(PAUSES_MS[asked] ?? LATER_PAUSE_MS, leftMs));
  }
}
