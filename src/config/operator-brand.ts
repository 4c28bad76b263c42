import { failure, type Result, success } from "../core/result.ts";

/** How the page of a status link presents the operator. Each part is null when it is not configured. */
export interface OperatorBrand {
  readonly name: string | null;
  /** Name of the file in `public/brand` that is the logo. */
  readonly logo: string | null;
  readonly color: BrandColor | null;
}

/** The colour of buttons, and the colour of the text on them. Both are written as `#rrggbb`. */
export interface BrandColor {
  readonly fill: string;
  readonly text: string;
}

/** Background of pages in light and in dark colours: the values of `--page` in `console.css`. */
export const PAGE_COLORS = { light: "#ffffff", dark: "#101114" } as const;
/**
 * Least contrast of a button to the page around it (WCAG 2.2, 1.4.11 Non-text Contrast:
 * https://www.w3.org/TR/WCAG22/#non-text-contrast).
 */
const MIN_CONTRAST = 3;
/**
 * Least contrast of a text to the button on which it stands (WCAG 2.2, 1.4.3 Contrast (Minimum):
 * https://www.w3.org/TR/WCAG22/#contrast-minimum). To each colour white or black has it.
 */
const MIN_TEXT_CONTRAST = 4.5;
const WHITE = "#ffffff";
const BLACK = "#000000";

const MAX_NAME_CHARACTERS = 40;

/** Reads the name of the operator. It must be short and visible, because it stands in the head of a page. */
export function parseBrandName(text: string): Result<string, string> {
  const isShort = Array.from(text).length <= MAX_NAME_CHARACTERS;
  if (isShort && !/\p{C}/u.test(text)) return success(text);
  return failure(`must have at most ${MAX_NAME_CHARACTERS} characters, all of them visible`);
}

/** Reads the name of the file that is the logo. */
export function parseBrandLogo(text: string): Result<string, string> {
  if (/^[\w-]{1,64}\.(?:png|webp|svg)$/.test(text)) return success(text);
  return failure("must be the name of a PNG, WebP or SVG file in public/brand, such as logo.svg");
}

/** Reads the colour of buttons, which must stand out from light and from dark pages. */
export function parseBrandColor(text: string): Result<BrandColor, string> {
  const fill = text.toLowerCase();
  if (!/^#[\da-f]{6}$/.test(fill)) return failure("must be a colour written as #rrggbb");
  for (const [theme, wanted] of [
    ["light", "darker"],
    ["dark", "lighter"],
  ] as const) {
    const contrast = contrastOf(fill, PAGE_COLORS[theme]);
    if (contrast >= MIN_CONTRAST) continue;
    // Rounded down, so that a contrast that is too low never looks like one that is enough.
    const shown = (Math.floor(contrast * 100) / 100).toFixed(2);
    return failure(
      `must be ${wanted}: its contrast to ${theme} pages is ${shown}:1, and must be at least ${MIN_CONTRAST}:1`,
    );
  }
  return success({ fill, text: contrastOf(fill, WHITE) >= MIN_TEXT_CONTRAST ? WHITE : BLACK });
}

/**
 * Returns the contrast of two colours, from 1 to 21 (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio).
 * @param one colour written as `#rrggbb`.
 * @param other colour in the same form.
 */
export function contrastOf(one: string, other: string): number {
  const luminances = [luminanceOf(one), luminanceOf(other)];
  return (Math.max(...luminances) + 0.05) / (Math.min(...luminances) + 0.05);
}

/** Returns the relative luminance of a colour (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance). */
function luminanceOf(color: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}
