import { WIDTH } from "./timeline-scale.ts";
import type { Bar, Timeline } from "./timeline.ts";

const AXIS = 78;
/** Distance between two lines of text in the drawing of a task's timeline, in units of the drawing. */
const LINE = 16;
/**
 * Height of the drawing without labels of attempts, and additional height for each row of such labels, in units of the
 * drawing.
 */
const [HEIGHT, ROW] = [AXIS + 30, 50];
/** Width of a character at the largest text size, which narrow pages use, in units of the drawing. */
const CHARACTER = 7.8;
const GOOD: ReadonlySet<string | null> = new Set(["delivered"]);

/**
 * Drawing of the events and attempts of a task on a time axis. A list next to it says the same, so screen readers skip
 * it.
 */
export function TimelineDrawing({ timeline }: { readonly timeline: Timeline }) {
  const { segments, bars, waits, nextX } = timeline;
  const labels = placedLabels(bars);
  const height = HEIGHT + ROW * Math.max(0, ...labels.map(({ row }) => row + 1));
  return (
    <svg class="timeline" viewBox={`0 0 ${WIDTH} ${height}`} aria-hidden="true">
      {segments.map(({ title, from, to }, at) => (
        <g>
          <text class="timeline-title" x={round(from)} y={14}>
            {title}
          </text>
          <path
            class={at === 0 ? "axis axis-upstream" : "axis"}
            d={`M${round(from)} ${AXIS}H${round(to)}`}
          />
        </g>
      ))}
      {waits.map(({ from, to, text, isAhead }) => (
        <g>
          <path
            class={isAhead ? "wait wait-ahead" : "wait"}
            d={`M${round(from)} ${AXIS}H${round(to)}`}
          />
          {to - from < text.length * CHARACTER + 16 ? null : (
            <text class="wait-text" x={round((from + to) / 2)} y={AXIS - 9}>
              {text}
            </text>
          )}
        </g>
      ))}
      <Breaks timeline={timeline} />
      <Marks timeline={timeline} />
      {labels.map(({ bar, row }) => (
        <Attempt bar={bar} row={row} />
      ))}
      {nextX === null ? null : (
        <g class="next">
          <path d={`M${round(nextX)} ${AXIS - 12}v24`} />
          <path class="planned" d={planned(nextX)} />
        </g>
      )}
    </svg>
  );
}

function Breaks({ timeline: { breaks } }: { readonly timeline: Timeline }) {
  return (
    <>
      {breaks.map(({ at, text }) => (
        <g>
          <path class="break" d={`M${round(at - 2)} ${AXIS + 6}l5-12`} />
          <path class="break" d={`M${round(at - 5)} ${AXIS + 6}l5-12m1 12l5-12`} />
          <text class="break-text" x={round(at)} y={AXIS + 22}>
            {text}
          </text>
        </g>
      ))}
    </>
  );
}

function Marks({ timeline: { marks } }: { readonly timeline: Timeline }) {
  let ends: readonly number[] = [0, 0, 0];
  return (
    <g>
      {marks.map(({ x, name, kind }) => {
        const width = name.length * CHARACTER;
        const isAtEnd = kind === "result" || x + width > WIDTH;
        const from = isAtEnd ? Math.max(0, x - width) : x;
        // A refund is drawn in the second row or above, over the planned time of the first attempt.
        const lowest = kind === "money" ? 1 : 0;
        const row = Math.max(
          lowest,
          ends.findIndex((end, each) => each >= lowest && end <= from),
        );
        ends = ends.map((end, each) => (each === row ? from + width + 8 : end));
        const y = AXIS - 14 - row * LINE;
        return (
          <g class={`mark mark-${kind}`}>
            <path d={`M${round(x)} ${AXIS}V${y + 3}`} />
            <circle cx={round(x)} cy={AXIS} r={kind === "result" ? 4.5 : 3.5} />
            <text x={round(from)} y={y}>
              {name}
            </text>
          </g>
        );
      })}
    </g>
  );
}

function Attempt({ bar, row }: { readonly bar: Bar; readonly row: number }) {
  const { x, width, plannedX, outcome, isRunning, texts } = bar;
  const tone = isRunning ? "busy" : GOOD.has(outcome) ? "ok" : "bad";
  const isAtEnd = x + labelWidth(bar) > WIDTH;
  const at = round(isAtEnd ? x + width : x);
  const y = AXIS + 30 + row * ROW;
  return (
    <g class={`attempt tone-${tone}${isAtEnd ? " attempt-end" : ""}`}>
      <rect x={round(x)} y={AXIS - 12} width={round(width)} height={24} rx={2} />
      {row === 0 ? null : <path class="leader" d={`M${round(x + 1)} ${AXIS + 12}V${y - 9}`} />}
      {plannedX === null ? null : <path class="planned" d={planned(plannedX)} />}
      <text class="attempt-name" x={at} y={y}>
        {nameOf(bar)}
      </text>
      {texts.map((text, line) => (
        <text x={at} y={y + LINE * (line + 1)}>
          {text}
        </text>
      ))}
    </g>
  );
}

/** Returns the SVG path of the triangle above the axis that marks the planned time of an attempt. */
function planned(x: number): string {
  return `M${round(x - 4.5)} ${AXIS - 24}h9l-4.5 8z`;
}

function nameOf({ number, isRunning, outcome }: Bar): string {
  return `#${number} ${isRunning ? "running" : (outcome ?? "")}`;
}

function labelWidth(bar: Bar): number {
  return Math.max(...[nameOf(bar), ...bar.texts].map(({ length }) => length)) * CHARACTER;
}

/**
 * Puts the label of each attempt into one of two rows, so that labels of attempts that are close together do not
 * overlap.
 */
function placedLabels(bars: readonly Bar[]) {
  let ends: readonly number[] = [0, 0];
  return bars.map((bar) => {
    const width = labelWidth(bar);
    const from = bar.x + width > WIDTH ? bar.x + bar.width - width : bar.x;
    const free = ends.findIndex((end) => end <= from);
    const row = free === -1 ? 1 : free;
    ends = ends.map((end, at) => (at === row ? from + width + 6 : end));
    return { bar, row };
  });
}

function round(position: number): number {
  return Math.round(position * 10) / 10;
}
