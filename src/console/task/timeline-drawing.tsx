import type { PlacedLabel } from "./timeline-labels.ts";
import { WIDTH } from "./timeline-scale.ts";
import type { Bar, Timeline } from "./timeline.ts";

/** Distance between two lines of text in the drawing of a task's timeline, in units of the drawing. */
const LINE = 20;
/** Vertical position of the titles of the sections, in units of the drawing. */
const TITLE = 16;
/** Distances from the axis to the baselines of the nearest labels above and below it, in units of the drawing. */
const [ABOVE, BELOW] = [20, 30];
/** Distance between the axis and the upper or lower end of an attempt, in units of the drawing. */
const HALF_BAR = 12;
/** Distance between a baseline and the upper end of a text at its largest size, in units of the drawing. */
const ASCENT = 10;
const GOOD: ReadonlySet<string | null> = new Set(["delivered"]);

/**
 * Drawing of the events and attempts of a task on a time axis. The list next to it has them too, so screen readers skip
 * the drawing.
 */
export function TimelineDrawing({ timeline }: { readonly timeline: Timeline }) {
  const { segments, titles, waits, breaks, bars, numbers, nextX } = timeline;
  const axis = TITLE + LINE + ABOVE + LINE * Math.max(0, ...timeline.names.map(({ row }) => row));
  const height = axis + (numbers.length === 0 ? ABOVE : BELOW + LINE / 2);
  return (
    <svg class="timeline" viewBox={`0 0 ${WIDTH} ${height}`} aria-hidden="true">
      <g class="titles">
        {titles.map((title) => (
          <Text label={title} y={TITLE} />
        ))}
      </g>
      {segments.map(({ from, to }, at) => (
        <path
          class={at === 0 ? "axis axis-upstream" : "axis"}
          d={`M${round(from)} ${axis}H${round(to)}`}
        />
      ))}
      {waits.map(({ from, to, isAhead }) => (
        <path
          class={isAhead ? "wait wait-ahead" : "wait"}
          d={`M${round(from)} ${axis}H${round(to)}`}
        />
      ))}
      {breaks.map((x) => (
        <Break x={x} axis={axis} />
      ))}
      <Events timeline={timeline} axis={axis} />
      {bars.map((bar) => (
        <Attempt bar={bar} axis={axis} />
      ))}
      {numbers.map((number) => (
        <g class={`attempt tone-${toneOf(number)}`}>
          <Text label={number} y={axis + BELOW} />
        </g>
      ))}
      {nextX === null ? null : (
        <g class="next">
          <path d={`M${round(nextX)} ${axis - HALF_BAR}v${2 * HALF_BAR}`} />
        </g>
      )}
    </svg>
  );
}

function Break({ x, axis }: { readonly x: number; readonly axis: number }) {
  return (
    <>
      <path class="break" d={`M${round(x - 2)} ${axis + 6}l5-12`} />
      <path class="break" d={`M${round(x - 5)} ${axis + 6}l5-12m1 12l5-12`} />
    </>
  );
}

function Events({ timeline, axis }: { readonly timeline: Timeline; readonly axis: number }) {
  const { names, marks } = timeline;
  return (
    <>
      {names.map((label) => {
        const y = axis - ABOVE - label.row * LINE;
        return (
          <g class={`mark mark-${label.kind}`}>
            <path d={`M${round(label.x)} ${axis}V${y - ASCENT}`} />
            <Text label={label} y={y} />
          </g>
        );
      })}
      {marks.map(({ x, kind }) => (
        <g class={`mark mark-${kind}`}>
          <circle cx={round(x)} cy={axis} r={kind === "result" ? 4.5 : 3.5} />
        </g>
      ))}
    </>
  );
}

function Attempt({ bar, axis }: { readonly bar: Bar; readonly axis: number }) {
  const { x, width, plannedX } = bar;
  return (
    <g class={`attempt tone-${toneOf(bar)}`}>
      <rect x={round(x)} y={axis - HALF_BAR} width={round(width)} height={2 * HALF_BAR} rx={2} />
      <path class="planned" d={`M${round(plannedX)} ${axis - HALF_BAR - 4}v${2 * HALF_BAR + 8}`} />
    </g>
  );
}

function Text({ label, y }: { readonly label: PlacedLabel; readonly y: number }) {
  const { text, textX, isLeftOfPole } = label;
  return (
    <text class={isLeftOfPole ? "text-end" : undefined} x={round(textX)} y={y}>
      {text}
    </text>
  );
}

function toneOf({ isRunning, outcome }: Bar): "busy" | "ok" | "bad" {
  if (isRunning) return "busy";
  return GOOD.has(outcome) ? "ok" : "bad";
}

function round(position: number): number {
  return Math.round(position * 10) / 10;
}
