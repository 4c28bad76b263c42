import { sum } from "../../core/sum.ts";
import type { RangeSeries } from "../../api/search/range-series.ts";

/**
 * Upper bounds, in milliseconds, of the rows of the heatmap, which shows the times from the result of a task to the
 * first attempt of its callback. One more row is for longer times.
 */
export const HEAT_BOUNDS_MS = [10, 50, 250, 1_000, 5_000, 30_000, 180_000] as const;
/** Number of shades in the heatmap. */
const SHADES = 8;

/** A column of the heatmap: the latencies of one hour or day. */
type Step = Pick<RangeSeries["steps"][number], "latency">;

interface HeatmapProps {
  readonly cells: readonly HeatCell[];
  /** Name of each column. A column with an empty name has no label. */
  readonly columns: readonly string[];
  /** Name of each row, the lowest row first. */
  readonly rows: readonly string[];
}

const HEIGHT = 150;
const BASE = 128;
/** Width of the space for the row names on the left, in percent of the drawing's width. */
const LEFT = 14;

/**
 * Draws how many tasks had which latency, by the hour or day in which they were created. A table next to the drawing
 * has the numbers, so screen readers skip the drawing.
 */
export function Heatmap({ cells, columns, rows }: HeatmapProps) {
  const rowHeight = BASE / rows.length;
  const width = (100 - LEFT) / columns.length;
  return (
    <svg class="chart" width="100%" height={HEIGHT} aria-hidden="true">
      {rows.map((name, row) => (
        <text x={`${LEFT - 1}%`} y={BASE - (row + 0.5) * rowHeight + 4} text-anchor="end">
          {name}
        </text>
      ))}
      <svg
        x={`${LEFT}%`}
        width={`${100 - LEFT}%`}
        height={BASE}
        viewBox={`0 0 ${columns.length} ${rows.length}`}
        preserveAspectRatio="none"
      >
        <rect class="heat-ground" width={columns.length} height={rows.length} />
        {Array.from({ length: SHADES }, (_, at) => at + 1).map((shade) => {
          const path = cells
            .filter((cell) => cell.shade === shade)
            .map(({ column, row }) => `M${column + 0.04} ${rows.length - row - 0.96}h.92v.92h-.92z`)
            .join("");
          return path === "" ? null : <path class={`heat-${shade}`} d={path} />;
        })}
      </svg>
      {columns.map((name, at) =>
        name === "" ? null : (
          <text x={`${LEFT + (at + 0.5) * width}%`} y={HEIGHT - 4} text-anchor="middle">
            {name}
          </text>
        ),
      )}
    </svg>
  );
}

/** A cell of the heatmap, with its shade from 1 to 8. */
interface HeatCell {
  readonly column: number;
  readonly row: number;
  readonly shade: number;
}

/**
 * Returns those cells of the heatmap in which there are tasks. A column is an hour or a day, a row is a range of
 * latencies, the shortest first. The shade of a cell grows with the logarithm of its number of tasks, so that even a
 * single slow task is visible.
 * @param boundsMs upper bounds of the buckets of the histograms.
 */
export function heatCells(
  steps: readonly Step[],
  boundsMs: readonly number[],
): readonly HeatCell[] {
  const cells = steps.flatMap(({ latency }, column) =>
    HEAT_ROWS.map((isIn, row) => {
      const tasks = latency.first_attempt.filter((_, bucket) => isIn(boundsMs[bucket] ?? Infinity));
      return { column, row, tasks: sum(tasks) };
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

/**
 * For each row of the heatmap, a function that tells, from the upper bound of a histogram's bucket, whether the bucket
 * belongs to the row.
 */
const HEAT_ROWS = [...HEAT_BOUNDS_MS, Infinity].map((bound, row) => {
  const above = HEAT_BOUNDS_MS[row - 1] ?? -1;
  return (upper: number) => upper > above && upper <= bound;
});
