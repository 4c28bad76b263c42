import type { presentProblems } from "../../api/search/read-problems.ts";
import type { series } from "../../api/search/read-series.ts";
import { BOUNDS_MS } from "../../index-db/buckets.ts";

/**
 * A present problem of the relay, in the form in which `GET /v1/problems` lists it, e.g. a host at which callbacks
 * fail.
 */
export type PresentProblem = Awaited<ReturnType<typeof presentProblems>>["data"][number];
/** Counts and latencies of the tasks created in each hour or day. */
export type Series = Awaited<ReturnType<typeof series>>;
export type Step = Series["steps"][number];

/**
 * Upper bounds of the rows of the heatmap, in milliseconds: times from the result of a task to the first attempt of
 * its callback. One more row is for longer times.
 */
export const HEAT_BOUNDS_MS = [10, 50, 250, 1_000, 5_000, 30_000, 180_000] as const;
/** Number of shades in the heatmap. */
const SHADES = 8;

/** A cell of the heatmap, with its shade from 1 to 8. */
export interface HeatCell {
  readonly column: number;
  readonly row: number;
  readonly shade: number;
}

/**
 * Returns the cells of the heatmap that contain tasks. A column is an hour or a day, and a row is a range of
 * latencies, the shortest first. The shade of a cell grows with the logarithm of the number of its tasks, so that
 * even a single slow task can be seen.
 */
export function heatCells(steps: readonly Step[]): readonly HeatCell[] {
  const cells = steps.flatMap(({ latency }, column) =>
    HEAT_ROWS.map((isIn, row) => {
      const tasks = latency.first_attempt.filter((_, bucket) => isIn(bucket));
      return { column, row, tasks: tasks.reduce((sum, each) => sum + each, 0) };
    }),
  );
  const most = Math.max(1, ...cells.map(({ tasks }) => tasks));
  return cells
    .filter(({ tasks }) => tasks > 0)
    .map(({ column, row, tasks }) => {
      const share = Math.log1p(tasks) / Math.log1p(most);
      return { column, row, shade: Math.max(1, Math.ceil(share * SHADES)) };
    });
}

/** For each row of the heatmap, a function that tells whether a bucket of the histogram belongs to the row. */
const HEAT_ROWS = [...HEAT_BOUNDS_MS, Infinity].map((bound, row) => {
  const above = HEAT_BOUNDS_MS[row - 1] ?? -1;
  return (bucket: number) => {
    const upper = BOUNDS_MS[bucket] ?? Infinity;
    return upper > above && upper <= bound;
  };
});

/** A link to a page that helps to end a present problem of the relay. */
export interface Remedy {
  readonly title: string;
  readonly path: string;
}

/**
 * Returns links to pages that show the cause of a problem of the relay or help to end it. The most useful link comes
 * first.
 */
export function remediesOf({ kind, subject }: PresentProblem): readonly Remedy[] {
  const text = (name: string) => encodeURIComponent(String(subject[name] ?? ""));
  switch (kind) {
    case "host_failing":
      return [
        { title: "Why", path: `/hosts/${text("host")}` },
        { title: "Its failed callbacks", path: `/tasks?callback=failed&host=${text("host")}` },
      ];
    case "key_refused":
      return [
        {
          title: "Tasks that wait",
          path: `/tasks?status=processing&provider=${text("connection")}`,
        },
      ];
    case "submit_unknown":
      return [
        { title: "The oldest", path: `/tasks/${text("task_id")}` },
        { title: "All with this state", path: "/tasks?submission=unknown" },
      ];
    case "refund_delayed":
    case "deadline_near":
      return [{ title: "The oldest", path: `/tasks/${text("task_id")}` }];
    default:
      return [];
  }
}
