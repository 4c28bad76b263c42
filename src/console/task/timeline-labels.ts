import { WIDTH } from "./timeline-scale.ts";

/** Width of a character at the largest text size, which narrow pages use, in units of the drawing. */
const CHARACTER = 8.4;
/** Smallest distance between two labels in one row, in units of the drawing. */
const GAP = 8;
/** Distance between a label and the line that connects it to the axis, in units of the drawing. */
const POLE = 4;

/** A name for a point of the time axis. */
export interface Label {
  readonly text: string;
  /** Horizontal position of the point. */
  readonly x: number;
}

/** A label with its place beside the vertical line (pole) that connects it to its point of the axis. */
export interface PlacedLabel extends Label {
  /** Number of the row, counted from the axis. */
  readonly row: number;
  /** Horizontal position at which the text begins or, at the left of its pole, ends. */
  readonly textX: number;
  readonly isLeftOfPole: boolean;
}

/** Space that a text takes in its row, or a pole takes in all rows up to `row`. */
interface Space {
  readonly row: number;
  readonly from: number;
  readonly to: number;
}

/**
 * Places labels so that no text meets another text or the pole of another label. Each gets the lowest free row, the
 * last label first: where labels are close together, those of earlier points are further away from the axis. A label
 * for which no row is free is left out.
 * @param labels labels in the order of their points on the axis.
 */
export function placedLabels<Item extends Label>(
  labels: readonly Item[],
  rows: number,
): readonly (Item & PlacedLabel)[] {
  const texts: Space[] = [];
  const poles: Space[] = [];
  return labels.toReversed().flatMap((label) => {
    const free = placesOf(label, rows).find(({ text, pole }) => {
      const isTextFree = !texts.some((other) => meetsText(text, other));
      const isPoleFree = !texts.some((other) => crosses(pole, other));
      return isTextFree && isPoleFree && !poles.some((other) => crosses(other, text));
    });
    if (free === undefined) return [];
    texts.push(free.text);
    poles.push(free.pole);
    const { isLeftOfPole, text } = free;
    const textX = isLeftOfPole ? text.to : text.from;
    return [{ ...label, row: text.row, textX, isLeftOfPole }];
  });
}

/**
 * Places labels so that no text meets another text or the pole of another label, by the rules of `placedLabels`. Where
 * not all of them find a place, the less important ones are left out.
 * @param labels labels in the order of their points on the axis; a lower `rank` is more important.
 */
export function importantLabels<Item extends Label & { readonly rank: number }>(
  labels: readonly Item[],
  rows: number,
): readonly (Item & PlacedLabel)[] {
  const chosen = labels
    .toSorted((a, b) => a.rank - b.rank)
    .reduce<ReadonlySet<Item>>((kept, label) => {
      const more = new Set([...kept, label]);
      const isRoom = placedLabels(among(labels, more), rows).length === more.size;
      return isRoom ? more : kept;
    }, new Set());
  return placedLabels(among(labels, chosen), rows);
}

function among<Item>(labels: readonly Item[], chosen: ReadonlySet<Item>): readonly Item[] {
  return labels.filter((label) => chosen.has(label));
}

/** Returns the places that a label can have within the width of the drawing, the best first. */
function placesOf({ text: { length }, x }: Label, rows: number) {
  const width = length * CHARACTER;
  const sides = [
    { isLeftOfPole: false, from: x + POLE },
    { isLeftOfPole: true, from: x - POLE - width },
  ].filter(({ from }) => from >= 0 && from + width <= WIDTH);
  return sides.flatMap(({ isLeftOfPole, from }) =>
    Array.from({ length: rows }, (_, row) => ({
      isLeftOfPole,
      text: { row, from, to: from + width },
      pole: { row, from: x - 1, to: x + 1 },
    })),
  );
}

function meetsText(text: Space, other: Space): boolean {
  return text.row === other.row && text.from < other.to + GAP && other.from < text.to + GAP;
}

/** Tells whether a pole, which begins at the axis, crosses a text on its way. */
function crosses(pole: Space, text: Space): boolean {
  return pole.row >= text.row && pole.from < text.to && text.from < pole.to;
}
