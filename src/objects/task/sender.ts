import type { Delivery } from "../../core/duties/callback-attempt.ts";
import { ANSWER_WAIT_MS } from "../../core/policy.ts";
import { traceIdOf, traceMember } from "../../core/record/trace.ts";
import { errorText, log } from "../../lib/log.ts";
import { withinTime } from "../../lib/timeout.ts";
import { deliver } from "../../outbound/webhooks.ts";
import { toListeners } from "../listeners/send-to-listeners.ts";
import { requiredRuntime } from "../placed-runtime.ts";
import { Alerts } from "./alerts.ts";
import { measureAttempt } from "./measure.ts";
import { LEDGER_TIMEOUT_MS, type ObjectBindings } from "./object-platform.ts";
import type { EndedAttempt, SentAttempt } from "./sender-binding.ts";
import { type TaskBindings, taskObject } from "./task-stub.ts";

// The calls that leave a task's object. They are made by an entrypoint without state, `Sender` in src/index.ts, which
// the object calls: the platform bills an object for as long as it waits, and the entrypoint only for its CPU time.

/** Environment of the sender. */
export type SenderEnv = ObjectBindings & TaskBindings;

/**
 * Waits in milliseconds before the tries to report an end. All tries fit into the time that `MAX_CALLBACK_TIMEOUT_MS`
 * leaves for the report.
 */
const REPORT_WAITS_MS = [0, 500, 2_000];

/**
 * Sends one attempt of a callback.
 * @returns its end; null when the receiver has not answered soon. The end is then reported to the task's object.
 */
export async function sendCallback(
  delivery: Delivery,
  env: SenderEnv,
): Promise<EndedAttempt | null> {
  const ending = endOf(delivery, env);
  // The platform would stop the sender if the object were reset while it waits, e.g. by a deployment.
  env.startup.waitUntil(ending);
  const ended = await withinTime(() => ending, null, ANSWER_WAIT_MS);
  if (ended === null) env.startup.waitUntil(ending.then((late) => report(late, env)));
  return ended;
}

async function endOf(delivery: Delivery, env: SenderEnv): Promise<EndedAttempt> {
  const runtime = requiredRuntime(env);
  const result = await deliver(delivery, runtime, toListeners(env));
  const ended = { attempt: attemptOf(delivery), result, endedAt: Date.now() };
  try {
    measureAttempt(env.METRICS, ended);
    if (result.outcome !== "delivered") {
      const alerts = new Alerts(env, LEDGER_TIMEOUT_MS, (line) => traced(line, delivery));
      env.startup.waitUntil(alerts.reportFailedAttempt(delivery, runtime));
    }
  } catch (error) {
    // An error while the attempt is measured must not make an attempt that was sent count as `interrupted`.
    log({ event: "measure.failed", ...about(ended.attempt), error: errorText(error) }, "error");
  }
  return ended;
}

function attemptOf({ taskId, number, startedAt, url, account, provider, trace }: Delivery) {
  return { taskId, number, startedAt, url, account, provider, ...traceMember(trace) };
}

/** Reports the end of an attempt to the task's object, and again if that fails. */
async function report(ended: EndedAttempt, env: SenderEnv): Promise<void> {
  let last: unknown = null;
  for (const waitMs of REPORT_WAITS_MS) {
    if (waitMs > 0) await scheduler.wait(waitMs);
    try {
      await taskObject(env, ended.attempt.taskId).endAttempt(ended);
      return;
    } catch (error) {
      last = error;
    }
  }
  const { outcome } = ended.result;
  const line = { event: "callback.unreported", ...about(ended.attempt), outcome };
  log({ ...line, error: errorText(last) }, "error");
}

function about(attempt: SentAttempt) {
  return traced({ task_id: attempt.taskId, number: attempt.number }, attempt);
}

/** Adds the trace id of a task to a log line. */
function traced<Line extends object>(line: Line, { trace }: Pick<Delivery, "trace">) {
  return trace === undefined ? line : { ...line, trace_id: traceIdOf(trace) };
}
