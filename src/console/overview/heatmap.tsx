import type { HeatCell } from "./series.ts";

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
const SHADES = [1, 2, 3, 4, 5, 6, 7, 8];

/**
 * Draws how many tasks had which latency, by the hour or day of their creation. The table beside the drawing has the
 * numbers, so screen readers skip the drawing.
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
        {SHADES.map((shade) => {
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
