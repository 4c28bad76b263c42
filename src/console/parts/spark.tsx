interface SparkProps {
  /** Values of consecutive hours or days, oldest first; null for one without a value. */
  readonly values: readonly (number | null)[];
}

/** Least height of a bar, as a share of the drawing's height, so that small values are visible too. */
const LEAST = 0.06;

/**
 * Draws values over time as small bars, the largest one as high as the drawing. Numbers next to the drawing say the same,
 * so screen readers skip the drawing.
 */
export function Spark({ values }: SparkProps) {
  const most = Math.max(1, ...values.map((value) => value ?? 0));
  const bars = values.map((value, at) =>
    value === null ? "" : `M${at} 1h.86v-${Math.max(LEAST, value / most).toFixed(3)}h-.86z`,
  );
  return (
    <svg
      class="hours"
      viewBox={`0 0 ${values.length} 1`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path class="hour" d={values.map((_, at) => `M${at} 1h.86v-1h-.86z`).join("")} />
      <path class="spark" d={bars.join("")} />
    </svg>
  );
}
