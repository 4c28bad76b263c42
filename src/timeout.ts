import { SECOND_MS } from "./core/time.ts";
import { errorText, log } from "./log.ts";

/**
 * Time limit in milliseconds of a poll with all its requests. Providers answer such a request at once, so that
 * the time which a callback may take (`CALLBACK_TIMEOUT_S`) does not matter here.
 */
export const POLL_TIMEOUT_MS = 10 * SECOND_MS;

/** Abort reason of a signal of `withDeadline` whose time was up; a caller who aborts has another reason. */
const DEADLINE_PASSED = new Error("deadline passed");

/**
 * Runs `work` with a signal that aborts after `ms` milliseconds, or earlier when `aborted` does. Work that
 * fetches must read or cancel the body of the response, because the signal does not abort when `work` ends.
 */
export async function withDeadline<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  aborted: AbortSignal | null = null,
): Promise<T> {
  const deadline = new AbortController();
  const signal = aborted === null ? deadline.signal : AbortSignal.any([aborted, deadline.signal]);
  const timer = setTimeout(() => deadline.abort(DEADLINE_PASSED), ms);
  try {
    return await work(signal);
  } finally {
    clearTimeout(timer);
  }
}

/** Tells whether a signal of `withDeadline` was aborted because the time was up, and not by the caller. */
export function isDeadlinePassed({ reason }: AbortSignal): boolean {
  return reason === DEADLINE_PASSED;
}

/**
 * Waits at most `ms` milliseconds for a call to another Durable Object or to the index, and returns
 * `fallback` when the call takes longer. The call is not cancelled, so its outcome is then unknown.
 * @throws what the call throws in time.
 */
export function withinTime<T>(call: () => Promise<T>, fallback: T, ms: number): Promise<T> {
  return withDeadline(ms, async (signal) => {
    const { promise: late, resolve } = Promise.withResolvers<T>();
    signal.addEventListener("abort", () => resolve(fallback));
    return Promise.race([call(), late]);
  });
}

/**
 * Does the same as `withinTime`, and also returns `fallback` when the call fails, with a line in the log.
 * @param name of the called service, for the log.
 */
export async function withTimeout<T>(
  name: string,
  call: () => Promise<T>,
  fallback: T,
  ms: number,
): Promise<T> {
  try {
    return await withinTime(call, fallback, ms);
  } catch (error) {
    log({ event: "call.unanswered", what: name, error: errorText(error) }, "warn");
    return fallback;
  }
}
