/** What the size of a video tells of it. Width and height in pixels; null: not told. */

const COMMON_RATIOS = [
  [16, 9],
  [9, 16],
  [1, 1],
  [4, 3],
  [3, 4],
  [21, 9],
] as const;

/** The nearest common ratio, e.g. `16:9`: sizes are rounded to what codecs like (1366 × 768). */
export function ratioOf(width: number | null, height: number | null): string | null {
  if (!isSide(width) || !isSide(height)) return null;
  const distances = COMMON_RATIOS.map(([w, h]) => ({
    ratio: `${w}:${h}`,
    distance: Math.abs(Math.log((width * h) / (height * w))),
  }));
  return distances.reduce((nearest, next) => (next.distance < nearest.distance ? next : nearest))
    .ratio;
}

/** The smaller side, e.g. `768p`. */
export function resolutionOf(width: number | null, height: number | null): string | null {
  return isSide(width) && isSide(height) ? `${Math.round(Math.min(width, height))}p` : null;
}

function isSide(pixels: number | null): pixels is number {
  return pixels !== null && pixels >= 1;
}
