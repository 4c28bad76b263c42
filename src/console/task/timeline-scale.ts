import { sum } from "../../core/sum.ts";

/** Width of the drawing of a task's timeline, in units of the drawing. */
export const WIDTH = 1000;
/**
 * Width in the drawing of a pause of more than a second between two sections of the time axis, however long the pause
 * is. It is less than that of a shortened pause inside a section (`SHORTENED`).
 */
const BREAK = 74;
/** Width at the right of a single section for the label of its end, in units of the drawing. */
const LABEL_ROOM = 96;
/** Smallest width of an attempt in the drawing, so that even an attempt of a few milliseconds can be seen. */
export const MIN_BAR = 7;
/** A pause without events inside a section is shortened when it takes at least this fraction of the section's time. */
const LONG_GAP = 0.8;
/** Smallest fraction of a section's width that a shortened pause takes (see `LONG_GAP`). */
const SHORTENED = 0.3;

/**
 * One section of the time axis in the drawing of a task, with a scale of its own: the work of the upstream, or the
 * attempts that one order has caused (the first callback or a redelivery).
 */
export interface Stretch {
  readonly title: string;
  /** Times of the events and attempts in this section, in Unix milliseconds, in ascending order. */
  readonly stations: readonly number[];
  readonly weight: number;
  /** Shortest time that the section covers, in milliseconds. It keeps one short attempt from filling the section. */
  readonly leastMs: number;
  /** True when a pause without events that takes most of the section is drawn shortened. */
  readonly isCompressed: boolean;
}

/**
 * A section of the time axis (the work of the upstream, or the attempts that one order has caused), with its horizontal
 * position in the drawing.
 */
export interface Segment {
  readonly title: string;
  readonly from: number;
  readonly to: number;
  readonly durationMs: number;
}

/**
 * A section of the time axis with its horizontal position in the drawing. `xOf` converts a time in Unix milliseconds
 * to a horizontal position.
 */
export interface Placed extends Segment {
  readonly xOf: (at: number) => number;
  readonly stations: readonly number[];
  /** Horizontal positions of the middles of the times that are drawn shortened. */
  readonly breaks: readonly number[];
}

/**
 * Divides the width of the drawing among the sections of the time axis, and returns the sections with their positions.
 * A single section leaves room at its right for the label of its end.
 */
export function placed(stretches: readonly Stretch[]): readonly Placed[] {
  const width = stretches.length === 1 ? WIDTH - LABEL_ROOM : WIDTH;
  const weights = sum(stretches.map(({ weight }) => weight));
  const gaps = stretches.slice(1).map((stretch, at) => gapBefore(stretches[at], stretch));
  const free = width - sum(gaps);
  let from = 0;
  return stretches.map((stretch, at) => {
    const to = from + (free * stretch.weight) / weights;
    const segment = place(stretch, from, to);
    from = to + (gaps[at] ?? 0);
    return segment;
  });
}

function gapBefore(before: Stretch | undefined, { stations }: Stretch): number {
  const wait = (stations[0] ?? 0) - (before?.stations.at(-1) ?? 0);
  return wait > 1_000 ? BREAK : 18;
}

function place(
  { title, stations, leastMs, isCompressed }: Stretch,
  from: number,
  to: number,
): Placed {
  const [start = 0] = stations;
  const end = stations.at(-1) ?? start;
  const durationMs = Math.max(leastMs, end - start);
  // Keeps room for the bar of the last attempt, which begins at the end of the axis.
  const width = to - from - MIN_BAR;
  const gap = longestGap(stations);
  const isShort = gap === null || gap.ms < LONG_GAP * durationMs || stations.length < 3;
  if (!isCompressed || isShort) {
    const xOf = (at: number) => from + width * share(at - start, durationMs);
    return { title, from, to, durationMs, xOf, stations, breaks: [] };
  }
  const restMs = durationMs - gap.ms;
  const gapWidth = Math.max(SHORTENED * width, Math.min(2 * BREAK, 0.6 * width));
  const restWidth = width - gapWidth;
  const xOf = (at: number) => {
    const inGap = Math.min(Math.max(at - gap.from, 0), gap.ms);
    return from + restWidth * share(at - start - inGap, restMs) + gapWidth * share(inGap, gap.ms);
  };
  const middle = xOf(gap.from + gap.ms / 2);
  return { title, from, to, durationMs, xOf, stations, breaks: [middle] };
}

function share(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.min(1, Math.max(0, part / whole));
}

function longestGap(stations: readonly number[]) {
  return stations
    .slice(1)
    .reduce<{ readonly from: number; readonly ms: number } | null>((longest, at, index) => {
      const from = stations[index] ?? at;
      return longest !== null && longest.ms >= at - from ? longest : { from, ms: at - from };
    }, null);
}

/** Returns where pauses of more than a second between successive sections of the time axis are drawn shortened. */
export function between(segments: readonly Placed[]): readonly number[] {
  return segments.slice(1).flatMap((segment, index) => {
    const before = segments[index];
    const ms = (segment.stations[0] ?? 0) - (before?.stations.at(-1) ?? 0);
    return before === undefined || ms <= 1_000 ? [] : [(before.to + segment.from) / 2];
  });
}
