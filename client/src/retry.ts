import { RelayProblem, retryAfterS } from "./problem.ts";

/** Sends one request. */
export type Send = (request: Request) => Promise<Response>;

export interface RetryOptions {
  /** Time in milliseconds, counted from the first failure, after which no further try begins. */
  readonly forMs: number;
  /** Longest wait in milliseconds for the headers of an answer. */
  readonly answerWithinMs: number;
  /**
   * Tells whether a request may be sent again although its first sending may have had an effect. Absent where every one may.
   */
  readonly isRepeatable?: (request: Request) => boolean;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8000;

/**
 * Sends requests again that were answered with 429 and, where they may be repeated, with 5xx or not at all, or while a
 * submission is in flight: after `Retry-After`, or after growing pauses.
 */
export function retrying(send: Send, { forMs, answerWithinMs, isRepeatable }: RetryOptions): Send {
  return async (request) => {
    let giveUpAt = Infinity;
    const isSafe = isRepeatable?.(request) ?? true;
    for (let failures = 0; ; failures++) {
      const outcome = await attempt(send, request, answerWithinMs);
      const pauseMs = pauseAfter(outcome, failures, isSafe);
      // That a submission is in flight is no failure.
      const isWaiting = isInFlight(outcome);
      const latest = Date.now() + forMs;
      const until = isWaiting ? latest : Math.min(giveUpAt, latest);
      if (pauseMs === null || Date.now() + pauseMs > until) return settled(outcome);
      giveUpAt = isWaiting ? Infinity : until;
      if ("response" in outcome) discard(outcome.response);
      await sleep(pauseMs, request.signal);
    }
  };
}

type Outcome = { readonly response: Response } | { readonly error: unknown };

/** Sends the request once. @throws the reason of the request's signal when it was aborted. */
async function attempt(send: Send, request: Request, withinMs: number): Promise<Outcome> {
  const timeout = new AbortController();
  const error = new DOMException(`no answer within ${withinMs} ms`, "TimeoutError");
  const timer = setTimeout(() => timeout.abort(error), withinMs);
  try {
    const signal = AbortSignal.any([request.signal, timeout.signal]);
    return { response: await send(new Request(request.clone(), { signal })) };
  } catch (cause) {
    request.signal.throwIfAborted();
    return { error: timeout.signal.aborted ? error : cause };
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the wait in milliseconds before the next try; null when there is no further try. */
function pauseAfter(outcome: Outcome, failures: number, isSafe: boolean): number | null {
  const grownMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
  const jitteredMs = grownMs * (0.5 + Math.random() / 2);
  if ("error" in outcome) return isSafe ? jitteredMs : null;
  const { status, headers } = outcome.response;
  const isFailure = status === 429 || (isSafe && status >= 500 && status !== 501);
  // An answer with the id of a task is that of the upstream to a submission, which the relay passes on.
  const isWorthIt = isFailure && !headers.has("Relay-Task-Id");
  if (!isWorthIt && !(isSafe && isInFlight(outcome))) return null;
  const askedS = retryAfterS(outcome.response);
  return Math.max(jitteredMs, (askedS ?? 0) * 1000);
}

/** Tells whether an answer is the problem `submission_running`, the only conflict that passes by itself. */
function isInFlight(outcome: Outcome): boolean {
  if ("error" in outcome) return false;
  const { response } = outcome;
  return (
    response.status === 409 &&
    !response.headers.has("Relay-Task-Id") &&
    retryAfterS(response) !== null
  );
}

/**
 * Discards the body of an answer to free the connection. Does not wait: the cancellation of a body that `send`
 * has cloned ends only with that of its copy.
 */
function discard({ body }: Response): void {
  body?.cancel().catch(() => {});
}

/**
 * Returns the answer to the last try. @throws the error of a request without an answer; RelayProblem for a web page
 * with a status of success, e.g. the login of a proxy in front of the relay.
 */
function settled(outcome: Outcome): Response {
  if ("error" in outcome) throw outcome.error;
  const { response } = outcome;
  const isPage = response.headers.get("Content-Type")?.startsWith("text/html") === true;
  if (response.ok && isPage) throw new RelayProblem(response, null);
  return response;
}

/** Waits for `ms` milliseconds. @throws the reason of the signal when it is aborted. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
  signal.throwIfAborted();
}
