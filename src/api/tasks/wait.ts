import * as z from "zod/mini";

const MAX_WAIT_S = 60;
/** Schema of the parameter `wait`: for how many seconds the response may be delayed until the task has a result. */
export const Wait = z.optional(
  z.pipe(
    z.string().check(z.regex(/^\d+$/, "must be a whole number of seconds")),
    z.transform(Number),
  ),
);

/**
 * Returns for how many milliseconds the response to a request may be delayed until the task has a result: by the
 * parameter `wait` in seconds or, without it, by the header `Prefer: wait=N` (RFC 7240 §4.3), and at most 60 seconds.
 * @param prefer value of the header; null when the request has none.
 */
export function waitMsOf(param: number | undefined, prefer: string | null = null): number {
  const preferred = /(?:^|,)\s*wait\s*=\s*"?(\d+)"?\s*(?:[;,]|$)/i.exec(prefer ?? "");
  const seconds = param ?? Number(preferred?.[1] ?? 0);
  return Math.min(seconds, MAX_WAIT_S) * 1000;
}
