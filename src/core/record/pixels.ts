/** Common ratios of width to height, one of which `ratioOf` selects for the size of a video in pixels. */
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
 * Returns the common ratio nearest to a size in pixels, e.g. `16:9`, because encoders round sizes (1366 ×
 * 768); null when the size was not reported.
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
 * Returns the resolution of a video: its smaller side in pixels, e.g. `768p`; null when the size was not
 * reported.
 */
export function resolutionOf(width: number | null, height: number | null): string | null {
  return isSide(width) && isSide(height) ? `${Math.round(Math.min(width, height))}p` : null;
}

function isSide(pixels: number | null): pixels is number {
  return pixels !== null && pixels >= 1;
}

/**
 * Reads the ratio of width to height from a text such as `16:9`, or from a size in pixels (`1280:720`,
 * `1280x720`, `1280*720`); null for any other text, such as `adaptive`.
 */
export function ratioIn(text: string): string | null {
  const size = sizeIn(text);
  if (size !== null) return ratioOf(...size);
  return /^\d{1,5}:\d{1,5}$/.test(text) ? text : null;
}

/**
 * Reads the resolution from a text such as `720P` or from a size in pixels; null for any other text, such as
 * `auto`.
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
