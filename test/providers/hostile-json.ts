import * as fc from "fast-check";

type Path = readonly string[];

/** Any JSON value, often one that resembles what readers expect. */
export const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.json({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    5e-324,
    null,
    undefined,
    "",
    -1,
    0.5,
    1e308,
    2 ** 60,
    "9".repeat(400),
    "\uD800",
    "completed",
    "SUCCESS",
    "failed",
    "https://cdn.example/v.mp4",
    "ftp://cdn.example/v.mp4",
    [["https://cdn.example/v.mp4"]],
    { url: 1, __proto__: null, length: 9 },
    JSON.parse(`${"[".repeat(5000)}${"]".repeat(5000)}`),
  ),
);

/** Replaces one member of `value`, or all of it, by any JSON value. */
export function damaged(value: unknown): fc.Arbitrary<unknown> {
  return fc
    .tuple(fc.constantFrom(...pathsOf(value)), anyJson)
    .map(([path, replacement]) => replaced(value, path, replacement));
}

function pathsOf(value: unknown): Path[] {
  if (typeof value !== "object" || value === null) return [[]];
  const inner = Object.entries(value).flatMap(([key, member]) =>
    pathsOf(member).map((path) => [key, ...path]),
  );
  return [[], ...inner];
}

function replaced(value: unknown, [key, ...rest]: Path, replacement: unknown): unknown {
  if (key === undefined) return replacement;
  if (Array.isArray(value)) {
    return value.map((item, i) => (String(i) === key ? replaced(item, rest, replacement) : item));
  }
  const members = Object.entries(value ?? {}).map(([name, member]) => {
    return [name, name === key ? replaced(member, rest, replacement) : member];
  });
  return Object.fromEntries(members);
}
