import * as z from "zod/mini";

const MAX_WAIT_S = 60;
/**
 * Pauses in milliseconds between the first reads of the task by a request that waits for its result
 * (`?wait=N`), or a stream of its changes; each later pause lasts `LATER_PAUSE_MS`.
 */
const PAUSES_MS = [1000, 1000, 2000, 2000, 3000];
const LATER_PAUSE_MS = 5000;

/** Returns the pause in milliseconds after the read number `reads`, from 0, of a task that is being waited for. */
export function pauseMs(reads: number): number {
  return PAUSES_MS[reads] ?? LATER_PAUSE_MS;
}

/**
 * Schema of the parameter `wait`: the number of seconds by which the answer may be delayed until the task has
 * a result.
 */
export const Wait = z.optional(
  z.pipe(
    z.string().check(z.regex(/^\d+$/, "must be a whole number of seconds")),
    z.transform(Number),
  ),
);

/**
 * Returns for how many milliseconds the answer to a request may be delayed until the task has a result:
 * `?wait=N`, else `Prefer: wait=N` (RFC 7240 §4.3), in seconds, limited to 60.
 */
export function waitMsOf(param: number | undefined, headers = new Headers()): number {
  const preferred = /(?:^|,)\s*wait\s*=\s*"?(\d+)"?\s*(?:[;,]|$)/i.exec(
    headers.get("Prefer") ?? "",
  );
  const seconds = param ?? Number(preferred?.[1] ?? 0);
  return Math.min(seconds, MAX_WAIT_S) * 1000;
}

/**
 * Calls `read` again and again until `isWanted` accepts the answer, the answer is null, or `waitMs`
 * milliseconds have passed. The waiting happens in the Worker and not in the task's Durable Object, which
 * would be billed for the time that it stays in memory.
 * @returns the last answer.
 */
export async function pollUntil<T>(
  read: () => Promise<T | null>,
  isWanted: (answer: T) => boolean,
  waitMs: number,
): Promise<T | null> {
  const giveUpAt = Date.now() + waitMs;
  for (let reads = 0; ; reads++) {
    const answer = await read();
    const leftMs = giveUpAt - Date.now();
    if (answer === null || isWanted(answer) || leftMs <= 0) return answer;
    await scheduler.wait(Math.min(pauseMs(reads), leftMs));
  }
}
