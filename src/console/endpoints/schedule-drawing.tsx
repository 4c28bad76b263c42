import { DAY_SCHEDULE_MS } from "../../api/callbacks/callback-schedule.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { sum } from "../../core/sum.ts";
import { countOf, durationText } from "../parts/format.ts";

/** Time up to which the axis is about even. Beyond it the axis is logarithmic, so that seconds and hours are both seen. */
const KNEE_MS = 10 * SECOND_MS;
/** Margin at both ends of the axis, in percent of the width of the drawing. */
const MARGIN = 3.5;
/** Radius of the mark of an attempt, in pixels. */
const RADIUS = 9;
/** Height of a row of marks, in pixels. */
const ROW = 22;
/** Smallest distances, in percent, at which texts and marks do not overlap on a phone. */
const [MARK_GAP, TICK_GAP, END_GAP] = [7, 13, 18];
const TICKS_MS = [
  SECOND_MS,
  10 * SECOND_MS,
  MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  6 * HOUR_MS,
  DAY_MS,
  7 * DAY_MS,
];

/** Returns the attempts of a schedule in a few words, e.g. `3 attempts within 13 min`. */
export function scheduleSummary(waitsMs: readonly number[]): string {
  const attempts = countOf(waitsMs.length, "attempt");
  const totalMs = sum(waitsMs);
  return totalMs === 0 ? `${attempts}, at once` : `${attempts} within ${durationText(totalMs)}`;
}

/** Returns the waits of a schedule as they are typed into a form: seconds with commas between them, or `day`. */
export function typedSchedule(waitsMs: readonly number[]): string {
  const [typed, day] = [waitsMs, DAY_SCHEDULE_MS].map((each) => each.join());
  if (typed === day) return "day";
  return waitsMs.map((waitMs) => waitMs / SECOND_MS).join(", ");
}

/** Shows the attempts of a schedule on a time axis, and as a list that says the same. */
export function ScheduleDrawing({ waitsMs }: { readonly waitsMs: readonly number[] }) {
  return (
    <div class="stack-s">
      <p>
        <strong>{scheduleSummary(waitsMs)}</strong>, until one is delivered.
      </p>
      <Axis waitsMs={waitsMs} />
      <ol class="waits">
        {attemptsOf(waitsMs).map(({ number, waitMs, atMs }) => (
          <li>
            <span class="wait-number">{number}</span> {waitText(number, waitMs)}
            {number < 3 || atMs === waitMs ? null : (
              <span class="muted"> ({durationText(atMs)} in all)</span>
            )}
          </li>
        ))}
      </ol>
      <p class="muted small">
        Each wait counts from the end of the attempt before, so the time that attempts take is
        added.
      </p>
    </div>
  );
}

function waitText(number: number, waitMs: number): string {
  if (waitMs === 0) return "at once";
  return number === 1 ? `${durationText(waitMs)} after the task` : `${durationText(waitMs)} later`;
}

/** An attempt of a schedule. */
interface Planned {
  readonly number: number;
  readonly waitMs: number;
  /** Time from the end of the task to the attempt, when the attempts before it take no time. */
  readonly atMs: number;
}

function attemptsOf(waitsMs: readonly number[]): readonly Planned[] {
  return waitsMs.map((waitMs, at) => ({
    number: at + 1,
    waitMs,
    atMs: sum(waitsMs.slice(0, at + 1)),
  }));
}

/** The attempts on a time axis. Positions are in percent, so that texts have the same size at any width. */
function Axis({ waitsMs }: { readonly waitsMs: readonly number[] }) {
  const totalMs = sum(waitsMs);
  const marks = placed(attemptsOf(waitsMs).map(({ atMs }) => percentOf(atMs, totalMs)));
  const axis = RADIUS + 2 + ROW * Math.max(...marks.map(({ row }) => row));
  const [from, to] = [percent(MARGIN), percent(100 - MARGIN)];
  return (
    <svg class="schedule" height={axis + RADIUS + 18} aria-hidden="true">
      <line class="schedule-axis" x1={from} x2={to} y1={axis} y2={axis} />
      {ticksOf(totalMs).map(({ x, text, anchor }) => (
        <g>
          <line x1={percent(x)} x2={percent(x)} y1={axis} y2={axis + 6} />
          <text x={percent(x)} y={axis + RADIUS + 14} text-anchor={anchor}>
            {text}
          </text>
        </g>
      ))}
      {marks.map(({ x, row }, at) => (
        <g class="schedule-mark">
          {row === 0 ? null : (
            <line x1={percent(x)} x2={percent(x)} y1={axis} y2={axis - ROW * row} />
          )}
          <circle cx={percent(x)} cy={axis - ROW * row} r={RADIUS} />
          <text x={percent(x)} y={axis - ROW * row + 4} text-anchor="middle">
            {at + 1}
          </text>
        </g>
      ))}
    </svg>
  );
}

/** Puts each mark into the lowest row in which it does not cover the one before it. */
function placed(positions: readonly number[]) {
  const ends: number[] = [];
  return positions.map((x) => {
    const free = ends.findIndex((end) => x - end >= MARK_GAP);
    const row = free === -1 ? ends.length : free;
    ends[row] = x;
    return { x, row };
  });
}

/** Returns the labels of the axis: its beginning, its end, and round times between them where there is room. */
function ticksOf(totalMs: number) {
  const start = { x: MARGIN, text: "0", anchor: "middle" };
  if (totalMs === 0) return [start];
  const end = { x: 100 - MARGIN, text: durationText(totalMs), anchor: "end" };
  let last = start.x;
  const between = TICKS_MS.flatMap((atMs) => {
    const x = percentOf(atMs, totalMs);
    if (x - last < TICK_GAP || end.x - x < END_GAP) return [];
    last = x;
    return [{ x, text: durationText(atMs), anchor: "middle" }];
  });
  return [start, ...between, end];
}

/** Returns the position of a time on the axis, in percent of the width of the drawing. */
function percentOf(atMs: number, totalMs: number): number {
  if (totalMs === 0) return MARGIN;
  const share = Math.log1p(atMs / KNEE_MS) / Math.log1p(totalMs / KNEE_MS);
  return MARGIN + (100 - 2 * MARGIN) * share;
}

function percent(position: number): string {
  return `${Math.round(position * 100) / 100}%`;
}
