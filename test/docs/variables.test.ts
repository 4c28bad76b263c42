import { expect, it } from "vitest";
import { BINDINGS } from "../../scripts/docs/bindings.ts";
import WRANGLER_TOML from "../../wrangler.toml?raw";
import { VARIABLE_DESCRIPTIONS, VARIABLE_GROUPS } from "../../scripts/docs/variables.ts";
import { parseConfig } from "../../src/config/config.ts";
import type { NumberRange } from "../../src/config/readers.ts";
import { Variables } from "../../src/config/variables.ts";

const REQUIRED = { RELAY_SECRET: "s".repeat(32), OPERATOR_KEYS: "k".repeat(16) };
const FLAGS = {
  global_fetch_strictly_public: true,
  durable_object_io_tasks_prevent_eviction: true,
};
const shape = new Map(Object.entries(Variables.shape));
const described = Object.entries(VARIABLE_DESCRIPTIONS);

const isTaken = (name: string, value: string) => shape.get(name)?.safeParse(value).success;

it("every variable that the configuration reads is in exactly one table of docs/configuration.md", () => {
  const listed = Object.values(VARIABLE_GROUPS).flatMap((group) => Object.keys(group));
  const bindings = ["INDEX_DB", "INDEX_OBJECT", "OUTPUTS", "OUTPUTS_S3"];
  const read = [...shape.keys(), "CONNECTIONS"].filter((name) => !bindings.includes(name));
  expect(listed.toSorted()).toEqual(read.toSorted());
});

it("docs/configuration.md describes the bindings that wrangler.toml has or shows in a comment, and no others", () => {
  const shown = WRANGLER_TOML.matchAll(/^(?:# )?(?:binding|name) = "([A-Z_]+)"$/gm);
  const names = Array.from(shown, ([, name = ""]) => name);
  expect(Object.keys(BINDINGS).toSorted()).toEqual([...new Set(names)].toSorted());
});

it.each(described.filter(([, { fallback }]) => fallback !== null))(
  "setting the variable %s to its documented default gives a relay the same configuration as leaving the variable out",
  (name, { fallback }) => {
    const withDefault = parseConfig({ ...REQUIRED, [name]: fallback }, FLAGS);
    expect(withDefault.ok).toBe(true);
    expect(withDefault).toEqual(parseConfig(REQUIRED, FLAGS));
  },
);

it.each(described.filter(([, { without }]) => without === "required"))(
  "a relay without the variable %s, which is documented as required, refuses its configuration",
  (name) => {
    const issues = [{ path: name, message: expect.any(String) }];
    expect(parseConfig({ ...REQUIRED, [name]: "" }, FLAGS)).toEqual({ ok: false, error: issues });
  },
);

const ranges = described.flatMap(([name, { values }]) =>
  typeof values === "object" && "unit" in values ? [[name, values] as const] : [],
);

it.each(ranges)(
  "the variable %s accepts both ends of its documented range, and no number outside the range",
  (name, range) => {
    const { inside, beyond } = samples(range);
    expect(inside.filter((value) => isTaken(name, value) !== true)).toEqual([]);
    expect(beyond.filter((value) => isTaken(name, value) !== false)).toEqual([]);
  },
);

const words = described.flatMap(([name, { values }]) =>
  typeof values === "object" && !("unit" in values) ? [[name, values] as const] : [],
);

it.each(words)("the variable %s accepts each documented word, and no other", (name, documented) => {
  expect(documented.filter((word) => isTaken(name, word) !== true)).toEqual([]);
  expect(isTaken(name, "otherwise")).toBe(false);
});

/** Values at the ends of a range, and one step beyond them. */
function samples({ min, max, maxCount }: NumberRange) {
  const lists = (count: number) => Array.from({ length: count }, () => String(max)).join(",");
  return {
    inside: [min, max, ...(maxCount === undefined ? [] : [lists(maxCount)])].map(String),
    beyond: [min - 1, max + 1, ...(maxCount === undefined ? [] : [lists(maxCount + 1)])].map(
      String,
    ),
  };
}
