import { durationText } from "./format.ts";

/** Width of the drawing, in its own units. */
export const WIDTH = 1000;
const LEFT = 8;
const RIGHT = 992;
/** Width of a break, at which the axis leaves time out: between two stretches of time or inside one. */
const BREAK = 74;
/** Smallest width of an attempt, so that one of a few milliseconds can be seen. */
export const MIN_BAR = 7;
/** Fraction of a stretch's time that its longest gap must take at least to be drawn shorter than it is. */
const LONG_GAP = 0.8;
/** Smallest fraction of a stretch's width that a shortened gap takes. */
const SHORTENED = 0.3;

/**
 * One stretch of time on the axis of a task's timeline: the work of the upstream, or one series of attempts.
 */
export interface Stretch {
  readonly title: string;
  /** Times at which something happens, in Unix milliseconds, ascending. */
  readonly stations: readonly number[];
  readonly weight: number;
  /** Shortest time that the stretch shows, in milliseconds, so that one short attempt does not fill it. */
  readonly leastMs: number;
  /** States that a gap which takes most of the time is compressed, with its length written on the break. */
  readonly isCompressed: boolean;
}

/** A stretch of time (the work of the upstream, or one series of attempts) with its place in the drawing. */
export interface Segment {
  readonly title: string;
  readonly from: number;
  readonly to: number;
  readonly durationMs: number;
}

/** A compressed gap, with its true length. */
export interface Break {
  /** Place of the gap in the drawing. */
  readonly at: number;
  readonly text: string;
}

/** A stretch of time with its place in the drawing, and a function that converts its times to places. */
export interface Placed extends Segment {
  readonly xOf: (at: number) => number;
  readonly stations: readonly number[];
  readonly breaks: readonly Break[];
}

/** Divides the width of the drawing among the stretches, and places their times. */
export function placed(stretches: readonly Stretch[]): readonly Placed[] {
  const weights = stretches.reduce((sum, { weight }) => sum + weight, 0);
  const gaps = stretches.slice(1).map((stretch, at) => gapBefore(stretches[at], stretch));
  const free = RIGHT - LEFT - gaps.reduce((sum, gap) => sum + gap, 0);
  let from = LEFT;
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
  return {
    title,
    from,
    to,
    durationMs,
    xOf,
    stations,
    breaks: [{ at: middle, text: durationText(gap.ms) }],
  };
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

/** Returns the gaps of more than a second between successive stretches of the drawing, with their lengths. */
export function between(segments: readonly Placed[]): readonly Break[] {
  return segments.slice(1).flatMap((segment, index) => {
    const before = segments[index];
    const ms = (segment.stations[0] ?? 0) - (before?.stations.at(-1) ?? 0);
    if (before === undefined || ms <= 1_000) return [];
    return [{ at: (before.to + segment.from) / 2, text: durationText(ms) }];
  });
}
