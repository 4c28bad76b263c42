import type { Callback } from "./messages.ts";
import type { Answer } from "./receiver.ts";

const FAILURES = {
  refused: "connection refused: nothing listens there",
  dns: "its name has no address",
  tls: "its certificate or its TLS is not valid",
  other: "no answer",
};

/** A callback that was passed on, with the receiver's answer and the result of the check of its signature. */
interface Delivery {
  readonly callback: Callback;
  readonly answer: Answer;
  readonly durationMs: number;
  /** Result of the check of the signature: `verified`, or the reason why it is not valid. */
  readonly verdict: string;
}

/** Returns the line that is printed for one callback, with a link to its task in the console. */
export function lineOf({ callback, answer, durationMs, verdict }: Delivery, relay: string): string {
  const header = (name: string) => callback.headers[name] ?? "?";
  const id = header("X-Task-Id");
  const result = "cause" in answer ? FAILURES[answer.cause] : String(answer.status);
  const words = [
    `${header("X-Event")} ${id} attempt ${header("X-Attempt")}`,
    `${result} in ${durationMs} ms`,
    verdict,
    `${relay}/tasks/${id}`,
  ];
  return timed(words.join(" · "));
}

/**
 * Returns a line with the time of day before it. Control characters are replaced, because they could move the
 * cursor of a terminal.
 */
export function timed(line: string): string {
  const time = new Date().toTimeString().slice(0, 8);
  return `${time} ${line.replaceAll(/\p{Cc}/gu, "�")}`;
}

/**
 * Returns the line about failed callbacks that the listener finds when it has connected, with a command to
 * redeliver them.
 */
export function missedLine(ids: readonly string[], isAll: boolean, relay: string): string {
  const count = isAll ? String(ids.length) : `${ids.length} or more`;
  const tasks = ids.length === 1 ? "task has" : "tasks have";
  const command = `curl -fsS -X POST '${relay}/v1/redeliveries?callback=failed&host=listen' -H "Authorization: Bearer $TASK_RELAY_KEY" -H "Idempotency-Key: $(date +%s)"`;
  return timed(
    `Missed: the callbacks of ${count} ${tasks} failed, such as ${ids[0]}. To redeliver them: ${command}`,
  );
}
