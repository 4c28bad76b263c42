import { isOpen, isTerminal, type OpenTask, type TaskRecord } from "../../src/core/record/task.ts";
import type { Change } from "./change.ts";
import { storedResult, TIMEOUT_CONTENT } from "./end-rules.ts";
import { observedWaits } from "./callback-rules.ts";

/** Returns names of the events that a commit shows. @param source source of the last event. */
export function observedEvents({ before, after }: Change, source: string): readonly string[] {
  if (!isTerminal(after)) return isOpen(after) ? waiting(after) : [];
  const { callback } = after;
  const attempts = callback?.attempts ?? [];
  const isEnd = before === null || !isTerminal(before);
  const by = isEnd && storedResult(after).content === TIMEOUT_CONTENT ? "its deadline" : source;
  const seen: readonly (readonly [what: string, isSeen: boolean])[] = [
    [`a task ends by ${by}`, isEnd],
    ["a result is too large", isEnd && after.body.includes("too large to be stored")],
    ["a callback is redelivered", callback !== null && callback.series.number > 1],
    [`attempt ${attempts.length} is interrupted`, attempts.at(-1)?.outcome === "interrupted"],
    ["a series fails", callback?.state.kind === "failed"],
  ];
  return [...observedWaits(callback), ...seen.flatMap(([what, isSeen]) => (isSeen ? [what] : []))];
}

function waiting({ tracking }: OpenTask): readonly string[] {
  const kept = tracking.keptHooks.length > 0 ? ["a hook is kept"] : [];
  return tracking.isExtended ? [...kept, "a deadline is extended"] : kept;
}

/** Summarises a record for the trace. */
export function summary(record: TaskRecord): string {
  const { status, version } = record;
  if (!isTerminal(record)) return `${status} v${version}`;
  const { credits, callback } = record;
  const state = JSON.stringify(callback?.state ?? null);
  const series = callback === null ? "" : ` series ${callback.series.number}`;
  return `${status} v${version} credits ${credits?.state.kind ?? "none"} callback ${state}${series}`;
}
