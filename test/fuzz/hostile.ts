import type { Choices } from "./choices.ts";

/** Names that mean something to JavaScript, to our readers, or to nobody. */
export const HOSTILE_KEYS = [
  "unknown",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "length",
  "0",
  "",
  "a/b~c",
  "\ud800",
  "id",
  "status",
  "error",
  "output",
  "data",
  "task",
  "metadata",
] as const;

const VIDEO = "https://cdn.example.net/video.mp4";
const LONG = "a".repeat(5_000);
const FLOOD = "\u00e9".repeat(20_000);
/** What makes a reader of numbers that looks back slow. */
const PADDED = `5${" ".repeat(3_000)}x`;

const PLAIN: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => false,
  () => 0,
  () => -0,
  () => -1,
  () => 1,
  () => 0.5,
  () => 1e11,
  () => 99_999_999_999,
  () => 100_000_000_001,
  () => 1_792_497_600_250,
  () => 2 ** 53,
  () => 2 ** 60,
  () => -(2 ** 53),
  () => 1e308,
  () => 5e-324,
  () => "",
  () => " ",
  () => "0",
  () => "-1",
  () => "5s",
  () => "1e3",
  () => "null",
  () => "\ud800",
  () => "\udfff\ud800",
  () => "\u0000",
  () => "completed",
  () => "failed",
  () => "processing",
  () => "SUCCESS",
  () => "canceled",
  () => "2026-01-01T00:00:00Z",
  () => "9999-99-99T99:99:99Z",
  () => "+275760-09-13T00:00:00Z",
  () => "9".repeat(400),
  () => VIDEO,
  () => "ftp://cdn.example.net/video.mp4",
  () => "https://\ud800/",
  () => "javascript:alert(1)",
  () => "acme",
  () => "0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4",
  () => [],
  () => ({}),
  () => [null],
  () => [VIDEO],
  () => [[VIDEO]],
  () => ({ url: VIDEO }),
  () => ({ length: 9, 0: VIDEO }),
  () => ({ toString: 1, valueOf: 2, toJSON: 3 }),
  () => JSON.parse('{"__proto__":{"status":"completed"}}'),
  () => '{"a":1}',
  () => "[",
];

/** Costly to read, so they come rarely. */
const LARGE: readonly unknown[] = [
  LONG,
  FLOOD,
  PADDED,
  ...[63, 64, 65, 2_000].map(nested),
  Array.from({ length: 200 }, (_, i) => `${VIDEO}?${i}`),
  Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, i])),
];

/** Any value that JSON can say. */
export function hostileValue(choices: Choices): unknown {
  return choices.chance(0.03) ? choices.pick(LARGE) : choices.pick(PLAIN)();
}

/** So many lists in each other. */
function nested(levels: number): unknown {
  return JSON.parse("[".repeat(levels) + "]".repeat(levels));
}
