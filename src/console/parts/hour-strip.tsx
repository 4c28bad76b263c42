/**
 * CSS classes for the share of callbacks, or jobs, of an hour or day that failed. Each class has the largest share for which it is used,
 * and the height of its mark, so that the classes can be told apart without colours.
 */
const LEVELS = [
  ["none", 0, 0],
  ["few", 0.05, 0.35],
  ["some", 0.5, 0.7],
  ["most", 1, 1],
] as const;

interface HourStripProps {
  /** Number of callbacks, or jobs, in each hour or day, oldest first. */
  readonly counts: readonly number[];
  /** Number of failed ones in each hour or day, oldest first. */
  readonly failed: readonly number[];
}

/**
 * Draws hours or days as cells, each with a mark for the share of callbacks, or jobs, that failed. The drawing has one
 * path per CSS class. Numbers next to the drawing say the same, so screen readers skip the drawing.
 */
export function HourStrip({ counts, failed }: HourStripProps) {
  const levels = counts.map((count, at) => levelOf(count, failed[at] ?? 0));
  const cells = (isDrawn: (level: string | null) => boolean, height: number) =>
    levels.map((each, at) => (isDrawn(each) ? `M${at} 1h.86v-${height}h-.86z` : "")).join("");
  return (
    <svg
      class="hours"
      viewBox={`0 0 ${counts.length} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="hour" d={cells((each) => each === null, 1)} />
      <path class="hour hour-none" d={cells((each) => each !== null, 1)} />
      {LEVELS.slice(1).map(([level, , height]) => (
        <path class={`hour hour-${level}`} d={cells((each) => each === level, height)} />
      ))}
    </svg>
  );
}

/** Returns the CSS class for the failed ones of `count` in one hour or day; null when there were none at all. */
function levelOf(count: number, failed: number): string | null {
  if (count === 0) return null;
  return LEVELS.find(([, share]) => failed / count <= share)?.[0] ?? "most";
}

/** Legend of the drawing `HourStrip`: the share of failed callbacks for which each colour stands. */
export function HourLegend() {
  return (
    <p class="legend">
      <span class="hour-none">no failed callback</span>
      <span class="hour-few">up to 5 % failed</span>
      <span class="hour-some">up to half</span>
      <span class="hour-most">more than half</span>
    </p>
  );
}
