/** Common ratios of width to height. `ratioOf` returns the one nearest to the size of a video in pixels. */
const COMMON_RATIOS = [
  [16, 9],
  [9, 16],
  [1, 1],
  [4, 3],
  [3, 4],
  [3, 2],
  [2, 3],
  [5, 4],
  [4, 5],
  [21, 9],
] as const;

/**
 * Returns the common ratio of width to height that is nearest to a size in pixels, e.g. `16:9` for 1366 × 768. The
 * exact ratio is not used, because encoders round sizes. Null when the size was not reported.
 */
export function ratioOf(width: number | null, height: number | null): string | null {
  if (!isSide(width) || !isSide(height)) return null;
  const distances = COMMON_RATIOS.map(([w, h]) => ({
    ratio: `${w}:${h}`,
    distance: Math.abs(Math.log((width * h) / (height * w))),
  }));
  return distances.reduce((nearest, next) => (next.distance < nearest.distance ? next : nearest))
    .ratio;
}

/**
 * Returns the resolution of a video, e.g. `768p`: the number is the smaller side in pixels. Null when the size was
 * not reported.
 */
export function resolutionOf(width: number | null, height: number | null): string | null {
  return isSide(width) && isSide(height) ? `${Math.round(Math.min(width, height))}p` : null;
}

function isSide(pixels: number | null): pixels is number {
  return pixels !== null && pixels >= 1;
}

/**
 * Returns the ratio of width to height that a text states, either directly (`16:9`) or as a size in pixels
 * (`1280:720`, `1280x720`, `1280*720`). Null for any other text, e.g. `adaptive`.
 */
export function ratioIn(text: string): string | null {
  const size = sizeIn(text);
  if (size !== null) return ratioOf(...size);
  return /^\d{1,5}:\d{1,5}$/.test(text) ? text : null;
}

/**
 * Returns the resolution that a text states, either directly (`720P`) or as a size in pixels (`1280x720`). Null for
 * any other text, e.g. `auto`.
 */
export function resolutionIn(text: string): string | null {
  const size = sizeIn(text);
  if (size !== null) return resolutionOf(...size);
  return /^\d{1,5}[pk]$/i.test(text) ? text.toLowerCase() : null;
}

function sizeIn(text: string): readonly [number, number] | null {
  const [, width, height] = /^(\d{3,5})[:x*](\d{3,5})$/i.exec(text) ?? [];
  return width === undefined ? null : [Number(width), Number(height)];
}
