/**
 * The automatic attempts of a callback in the drawing: the position on the axis in percent, and the wait before the
 * attempt.
 */
const ATTEMPTS = [
  { at: 4, title: "#1", wait: "at once" },
  { at: 30, title: "#2", wait: "3 min" },
  { at: 92, title: "#3", wait: "10 min" },
] as const;

/**
 * Draws the automatic attempts of a callback on a time axis. The text beside the drawing says the same, so screen
 * readers skip the drawing.
 */
export function Schedule() {
  return (
    <svg class="schedule" width="100%" height="64" aria-hidden="true">
      <line x1="4%" x2="92%" y1="40" y2="40" class="axis" />
      {ATTEMPTS.map(({ at, title, wait }, index) => {
        const before = ATTEMPTS[index - 1];
        const middle = before === undefined ? null : (before.at + at) / 2;
        return (
          <>
            <circle cx={`${at}%`} cy="40" r="5" />
            <text x={`${at}%`} y="22" text-anchor="middle" class="name">
              {title}
            </text>
            <text x={`${middle ?? at}%`} y={middle === null ? 62 : 34} text-anchor="middle">
              {wait}
            </text>
          </>
        );
      })}
    </svg>
  );
}
