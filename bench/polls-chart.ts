import { barChart } from "./bar-chart.ts";
import { type Panel, percent, type Row, seconds, titleOf } from "./polls-report.ts";

/**
 * Draws the mean lateness of each row as a bar, as a fraction of the job's duration; one panel below the
 * other.
 */
export function chart(panels: readonly Panel[]): string {
  const longest = Math.max(
    ...panels.flatMap(({ rows }) => rows.map(({ lateness }) => lateness.meanPart)),
  );
  const drawn = panels.map(({ durations, rows }) => ({
    title: `${titleOf(durations)}: mean lateness, as a part of the job’s duration`,
    bars: rows.map(barOf),
    longest,
  }));
  return barChart("Mean lateness of results by cadence of polls", drawn);
}

function barOf({ name, lateness }: Row) {
  const { meanPart, meanMs, polls } = lateness;
  const label = `${percent(meanPart)} (${seconds(meanMs)}), ${polls.toFixed(1)} polls`;
  return { name, value: meanPart, label };
}
