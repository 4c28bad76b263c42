import { SECOND_MS } from "../core/time.ts";
import { errorText, log, type LogLine } from "./log.ts";

/**
 * Time limit in milliseconds of a poll, including all its requests for the state of the job. `CALLBACK_TIMEOUT_S`, the
 * time limit of a callback, does not apply to polls, because providers answer a poll at once.
 */
export const POLL_TIMEOUT_MS = 10 * SECOND_MS;
/**
 * Time limit in milliseconds for a request to the content path of a job (the path with its output), which a poll sends
 * after asking for the state of the job. It is longer than the limit of a poll, because some gateways load the whole
 * file from their own upstream before they send the first byte.
 */
export const CONTENT_TIMEOUT_MS = 30 * SECOND_MS;

/**
 * Abort reason of a signal of `withDeadline` whose time is over. When the caller aborts the signal, it has another
 * reason, so that `isDeadlinePassed` can distinguish the two cases.
 */
const DEADLINE_PASSED = new Error("deadline passed");

/**
 * Runs `work` with a signal that aborts after `ms` milliseconds, or as soon as the signal `aborted` does. If `work`
 * fetches something, it must read the body of the response to its end or cancel it, because the signal does not abort
 * when `work` ends.
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

/**
 * Waits for `ms` milliseconds.
 * @throws the reason of the abort, when `aborted` aborts first.
 */
export async function sleep(ms: number, aborted: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await withDeadline(
    ms,
    (signal) => {
      signal.addEventListener("abort", () => resolve());
      return promise;
    },
    aborted,
  );
  aborted.throwIfAborted();
}

/** Tells whether a signal of `withDeadline` was aborted because the time was over, and not by the caller. */
export function isDeadlinePassed({ reason }: AbortSignal): boolean {
  return reason === DEADLINE_PASSED;
}

/**
 * Waits at most `ms` milliseconds for a call to another Durable Object or to the index, and returns `fallback` when
 * the call takes longer. The late call is not cancelled, so its outcome is unknown.
 * @throws the error of the call, when the call fails within this time.
 */
export function withinTime<T>(call: () => Promise<T>, fallback: T, ms: number): Promise<T> {
  return withDeadline(ms, async (signal) => {
    const { promise: late, resolve } = Promise.withResolvers<T>();
    signal.addEventListener("abort", () => resolve(fallback));
    return Promise.race([call(), late]);
  });
}

/**
 * Waits at most `ms` milliseconds for a call to another Durable Object or to the index. Returns `fallback` when the
 * call takes longer, and when it fails; a failure is logged.
 * @param name name of the called service, for the log.
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

/**
 * Waits at most `ms` milliseconds for the answer of another Durable Object to a call that is repeated or done without.
 * Returns null when the call takes longer, and when it fails; both are logged.
 * @param line line for the log, without the cause.
 */
export async function answerWithin<T>(
  ms: number,
  line: LogLine,
  call: () => Promise<T>,
): Promise<T | null> {
  let cause = "no answer in time";
  try {
    const answer = await withinTime<T | null>(call, null, ms);
    if (answer !== null) return answer;
  } catch (error) {
    cause = errorText(error);
  }
  log({ ...line, error: cause }, "warn");
  return null;
}
