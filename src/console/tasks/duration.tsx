import type { TaskSummary } from "../../api/search/list-tasks.ts";
import { SECOND_MS } from "../../core/time.ts";
import { durationText } from "../parts/format.ts";

type Timed = Pick<TaskSummary, "created_at" | "finished_at">;

/** Share of the listed tasks whose bars are at most full, so that few very long tasks do not make all other bars short. */
const SHARE_WITHIN = 0.9;

interface DurationProps {
  readonly task: Timed;
  /** Duration in seconds of a full bar. */
  readonly fullS: number;
  readonly nowS: number;
}

/** The time from the creation of a task to its end, as a number and a bar; of an open task, the time until now. */
export function Duration({ task, fullS, nowS }: DurationProps) {
  const seconds = durationS(task, nowS);
  const isOpen = task.finished_at === undefined;
  const text = seconds === 0 ? "< 1 s" : durationText(seconds * SECOND_MS);
  const share = Math.min(1, seconds / Math.max(1, fullS));
  return (
    <>
      {isOpen ? (
        <span class="muted" title="open for">
          {text}
        </span>
      ) : (
        text
      )}
      <svg class={isOpen ? "duration duration-open" : "duration"} aria-hidden="true">
        <rect width={`${Math.round(100 * share)}%`} height="100%" />
      </svg>
    </>
  );
}

/** Returns the duration in seconds of a full bar in a list of tasks. */
export function fullBarS(tasks: readonly Timed[], nowS: number): number {
  const ascending = tasks.map((task) => durationS(task, nowS)).toSorted((a, b) => a - b);
  return ascending[Math.ceil(SHARE_WITHIN * ascending.length) - 1] ?? 0;
}

/** Returns the duration of a task. A stated creation time may lie after the end, because it is of another clock. */
function durationS({ created_at: createdS, finished_at: finishedS }: Timed, nowS: number): number {
  return Math.max(0, (finishedS ?? nowS) - createdS);
}
