import * as fc from "fast-check";
import { weighted } from "./fuzz.ts";

const JAVASCRIPT = "__proto__ constructor prototype toString hasOwnProperty length".split(" ");
const ODD_KEYS = ["unknown", "0", "", "a/b~c", "\ud800"];
const KNOWN = ["id", "status", "error", "output", "data", "task", "metadata"];
/** Member names that have a meaning in JavaScript or in the relay's formats, and some that have none. */
export const hostileKey = fc.constantFrom(...ODD_KEYS, ...JAVASCRIPT, ...KNOWN);

const VIDEO = "https://cdn.example.net/video.mp4";
const NUMBERS = [0, -0, -1, 1, 0.5, 1e308, 5e-324, 2 ** 53, 2 ** 60, -(2 ** 53)];
/** Numbers around the limit between times in seconds and times in milliseconds, and a time in milliseconds. */
const TIMES = [1e11, 99_999_999_999, 100_000_000_001, 1_792_497_600_250];
const NUMBER_TEXTS = ["0", "-1", "5s", "1e3", "9".repeat(400)];
const ODD_TEXTS = ["", " ", "null", "[", '{"a":1}', "\ud800", "\udfff\ud800", "\u0000"];
const STATUSES = ["completed", "failed", "processing", "SUCCESS", "canceled"];
const DATES = ["2026-01-01T00:00:00Z", "9999-99-99T99:99:99Z", "+275760-09-13T00:00:00Z"];
const URLS = [VIDEO, "ftp://cdn.example.net/video.mp4", "https://\ud800/", "javascript:alert(1)"];
const IDS = ["acme", "0199f3a2-7c41-4d7e-9b1a-2f60c1d2e3f4"];
const TEXTS = [NUMBER_TEXTS, ODD_TEXTS, STATUSES, DATES, URLS, IDS].flat();
const LISTS = [[], [null], [VIDEO], [[VIDEO]]];
const OBJECTS = [
  {},
  { url: VIDEO },
  { length: 9, 0: VIDEO },
  { toString: 1, valueOf: 2, toJSON: 3 },
  JSON.parse('{"__proto__":{"status":"completed"}}'),
];
/** Large values, which a careless parser reads slowly, e.g. one that backtracks; they are used rarely. */
const LARGE = [
  "a".repeat(5_000),
  "\u00e9".repeat(20_000),
  `5${" ".repeat(3_000)}x`,
  ...[63, 64, 65, 2_000].map((depth) => JSON.parse("[".repeat(depth) + "]".repeat(depth))),
  Array.from({ length: 200 }, (_, i) => `${VIDEO}?${i}`),
  Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, i])),
];

/** Generator of any JSON value. */
export const hostileValue: fc.Arbitrary<unknown> = weighted(
  [92, fc.constantFrom(null, true, false, ...NUMBERS, ...TIMES, ...TEXTS, ...LISTS, ...OBJECTS)],
  [5, fc.jsonValue({ maxDepth: 2 })],
  [3, fc.constantFrom(...LARGE)],
);
