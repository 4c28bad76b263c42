import { readFileSync } from "node:fs";
import { join } from "node:path";
import axe from "axe-core";
import { expect, it } from "vitest";
import * as z from "zod";
import { contrastOf, PAGE_COLORS } from "../../src/config/operator-brand.ts";
import { configuredWith } from "./configuration.ts";

/** Returns how a configuration with these variables presents the operator, or its faults. */
function brandWith(vars: object) {
  const result = configuredWith(vars);
  return result.ok ? result.value.brand : result.error;
}

interface AxeColor {
  readonly parseHexString: (text: string) => void;
}

/** The part of axe-core that computes contrasts, which its types do not describe. */
const { color: axeColors } = z
  .object({
    color: z.object({
      Color: z.custom<new () => AxeColor>(),
      getContrast: z.custom<(one: AxeColor, other: AxeColor) => number>(),
    }),
  })
  .parse(axe.commons);

/** Returns the contrast of two colours by axe-core. */
function contrastByAxe(one: string, other: string): number {
  const read = (text: string) => {
    const color = new axeColors.Color();
    color.parseHexString(text);
    return color;
  };
  return axeColors.getContrast(read(one), read(other));
}

it("without BRAND_NAME, BRAND_LOGO and BRAND_COLOR the configuration has no name, logo and colour of the operator", () => {
  expect(brandWith({})).toEqual({ name: null, logo: null, color: null });
});

it("BRAND_NAME, BRAND_LOGO and BRAND_COLOR are the name, the logo and the colour of the operator", () => {
  const vars = { BRAND_NAME: "Fox & Films", BRAND_LOGO: "fox-2.svg", BRAND_COLOR: "#0E8577" };
  expect(brandWith(vars)).toEqual({
    name: "Fox & Films",
    logo: "fox-2.svg",
    color: { fill: "#0e8577", text: "#ffffff" },
  });
});

it.each([
  [40, "🦊"],
  [40, "狐"],
])(
  "a BRAND_NAME of %i characters such as %s is accepted, and a longer one is refused",
  (most, character) => {
    expect(brandWith({ BRAND_NAME: character.repeat(most) })).toMatchObject({
      name: character.repeat(most),
    });
    expect(brandWith({ BRAND_NAME: character.repeat(most + 1) })).toEqual([
      { path: "BRAND_NAME", message: "must have at most 40 characters, all of them visible" },
    ]);
  },
);

it.each(["a\u202Eb", "a\nb", "a\u0000b"])(
  "the BRAND_NAME %j has an invisible character and is refused",
  (name) => {
    expect(brandWith({ BRAND_NAME: name })).toMatchObject([{ path: "BRAND_NAME" }]);
  },
);

it.each([
  "logo.gif",
  "logo",
  "../logo.svg",
  "a/logo.svg",
  "https://example.com/logo.svg",
  ".svg",
  'a".svg',
])("the BRAND_LOGO %s is not the name of a PNG, WebP or SVG file and is refused", (logo) => {
  expect(brandWith({ BRAND_NAME: "Fox", BRAND_LOGO: logo })).toEqual([
    {
      path: "BRAND_LOGO",
      message: "must be the name of a PNG, WebP or SVG file in public/brand, such as logo.svg",
    },
  ]);
});

it("a BRAND_LOGO without a BRAND_NAME is refused", () => {
  expect(brandWith({ BRAND_LOGO: "logo.webp" })).toEqual([
    { path: "BRAND_NAME", message: "is required with BRAND_LOGO" },
  ]);
});

it.each(["0e8577", "#0e857", "#0e85777", "teal", "#0e857g", "#0e8577;}"])(
  "the BRAND_COLOR %s is not written as #rrggbb and is refused",
  (color) => {
    expect(brandWith({ BRAND_COLOR: color })).toEqual([
      { path: "BRAND_COLOR", message: "must be a colour written as #rrggbb" },
    ]);
  },
);

it.each([
  ["#1db954", "must be darker: its contrast to light pages is 2.58:1, and must be at least 3:1"],
  ["#ffffff", "must be darker: its contrast to light pages is 1.00:1, and must be at least 3:1"],
  ["#3f46d6", "must be lighter: its contrast to dark pages is 2.74:1, and must be at least 3:1"],
])("the BRAND_COLOR %s, which does not stand out from all pages, is refused", (color, message) => {
  expect(brandWith({ BRAND_COLOR: color })).toEqual([{ path: "BRAND_COLOR", message }]);
});

it("the contrast of two colours is the one that axe-core computes", () => {
  const shades = ["00", "0a", "33", "80", "c8", "ff"];
  const colors = shades.flatMap((red) =>
    shades.flatMap((green) => shades.map((blue) => `#${red}${green}${blue}`)),
  );
  for (const color of colors) {
    for (const page of Object.values(PAGE_COLORS)) {
      expect(contrastOf(color, page)).toBeCloseTo(contrastByAxe(color, page), 10);
    }
  }
});

it("the text on every accepted BRAND_COLOR has a contrast of at least 4.5:1 to it by axe-core", () => {
  const shades = Array.from({ length: 16 }, (_, n) => (n * 17).toString(16).padStart(2, "0"));
  let accepted = 0;
  for (const red of shades) {
    for (const green of shades) {
      for (const blue of shades) {
        const brand = brandWith({ BRAND_COLOR: `#${red}${green}${blue}` });
        if (!("color" in brand) || brand.color === null) continue;
        accepted++;
        const { fill, text } = brand.color;
        expect(contrastByAxe(fill, text)).toBeGreaterThanOrEqual(4.5);
        for (const page of Object.values(PAGE_COLORS)) {
          expect(contrastByAxe(fill, page)).toBeGreaterThanOrEqual(3);
        }
      }
    }
  }
  expect(accepted).toBeGreaterThan(500);
});

it("the colours of pages with which a BRAND_COLOR is compared are those of the stylesheet", () => {
  const css = readFileSync(
    join(import.meta.dirname, "../../src/console/client/console.css"),
    "utf8",
  );
  const { light, dark } = PAGE_COLORS;
  expect(css).toContain(`--page: light-dark(${light}, ${dark});`);
});
