import * as fc from "fast-check";
import { changed, rarely, weighted } from "./fuzz.ts";
import { hostileKey, hostileValue } from "./hostile.ts";
import { textChange } from "./text.ts";

type Entries = readonly (readonly [key: string, value: unknown])[];
/** A change of the member number `i`; in an empty list or object it can only insert a member. */
type Change = (entries: Entries, i: number) => Entries;

/** Generator of a value of the same type, or of a number's text. */
const similarValue: fc.Arbitrary<(value: unknown) => unknown> = fc
  .tuple(
    textChange,
    fc.constantFrom(1, -1, 0, 1000, 0.1, 1e-9, 1e9),
    fc.constantFrom(0, 1, -1, 0.5),
    fc.constantFrom(Number, Number, Number, Number, String),
  )
  .map(([changeText, factor, addend, convert]) => (value) => {
    if (typeof value === "string") return changeText(value);
    if (typeof value === "boolean") return !value;
    return typeof value === "number" ? convert(value * factor + addend) : value;
  });

const withValue =
  (next: (value: unknown) => unknown): Change =>
  (entries, i) =>
    entries.map(([key, value], at) => (at === i ? [key, next(value)] : [key, value]));
const withKey =
  (next: (key: string) => string): Change =>
  (entries, i) =>
    entries.map(([key, value], at) => (at === i ? [next(key), value] : [key, value]));
const withEntry =
  (entry: Entries[number]): Change =>
  (entries, i) =>
    entries.toSpliced(i, 0, entry);
const withValueOf =
  (other: number): Change =>
  (entries, i) =>
    withValue(() => entries[other % entries.length]?.[1])(entries, i);
const rearrangement = fc.constantFrom<Change>(
  (entries) => entries.toReversed(),
  (entries, i) => [...entries, ...entries.slice(i, i + 1), ...entries.slice(i, i + 1)],
  withValue((value) => [value]),
  withValue((value) => ({ value })),
  withValue((value) => JSON.stringify(value)),
);

const change: fc.Arbitrary<Change> = weighted(
  [6, similarValue.map(withValue)],
  [4, hostileValue.map((value) => withValue(() => value))],
  [3, fc.constant<Change>((entries, i) => entries.toSpliced(i, 1))],
  [2, textChange.map(withKey)],
  [2, hostileKey.map((key) => withKey(() => key))],
  [3, fc.tuple(hostileKey, hostileValue).map(withEntry)],
  [2, fc.nat().map(withValueOf)],
  [6, rearrangement],
);

/** Generator of the positions on the way to a member of a value; an empty path means the whole value. */
const path = weighted<readonly number[]>(
  [1, fc.constant([])],
  [9, fc.array(fc.nat(), { minLength: 1, maxLength: 4 })],
);

/** Generator of one change of the structure of a JSON value, at any depth. */
export const jsonChange: fc.Arbitrary<(value: unknown) => unknown> = fc.tuple(path, change).map(
  ([way, apply]) =>
    (value) =>
      changedAt([["", value]], [0, ...way], apply)[0]?.[1],
);

function changedAt(
  entries: Entries,
  [position = 0, ...deeper]: readonly number[],
  apply: Change,
): Entries {
  const i = position % Math.max(entries.length, 1);
  const value = entries[i]?.[1];
  if (deeper.length === 0 || typeof value !== "object" || value === null) return apply(entries, i);
  const inner = changedAt(Object.entries(value), deeper, apply);
  const rebuilt = Array.isArray(value) ? inner.map(([, item]) => item) : Object.fromEntries(inner);
  return withValue(() => rebuilt)(entries, i);
}

/** Generates one of the `valid` values after up to `max` changes. */
export function mutated(valid: readonly unknown[], max = 3): fc.Arbitrary<unknown> {
  return changed(fc.constantFrom(...valid), jsonChange, max);
}

const encoder = new TextEncoder();
/** Generator of spellings of numbers that `JSON.stringify` never writes; some are not JSON. */
const numberText = fc.constantFrom(
  ..."1e400 -1e400 1E2 1.0 -0 01 1e-400 0x10 NaN 1_000".split(" "),
);
const memberText = fc
  .tuple(hostileKey, fc.constantFrom("1", "null", "{}"))
  .map(([key, value]) => `{"${key}":${value},`);

const OVERLONG = [0xc0, 0xaf];
const SURROGATE = [0xed, 0xa0, 0x80];
const BEYOND_UNICODE = [0xf4, 0x90, 0x80, 0x80];
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const INVALID_UTF8 = [[0xff], [0x80], [0xe2, 0x82], OVERLONG, SURROGATE, BEYOND_UNICODE];
const JSON_PARTS = [[0x00], BYTE_ORDER_MARK, [0x22], [0x5c, 0x75], [0x7b], [0x5d]];
const INSERTED = [...INVALID_UTF8, ...JSON_PARTS];
type Bytes = Uint8Array<ArrayBuffer>;
type ByteChange = (head: Bytes, tail: Bytes, byte: number, inserted: readonly number[]) => number[];
const BYTE_CHANGES: readonly ByteChange[] = [
  (head) => [...head],
  (head, tail, byte) => [...head, byte, ...tail.subarray(1)],
  (head, tail, byte) => [...head, (tail[0] ?? 0) ^ (1 << (byte % 8)), ...tail.subarray(1)],
  (head, tail, byte) => [...head, ...tail.subarray(1 + (byte % 8))],
  (head, tail, _byte, inserted) => [...head, ...inserted, ...tail],
  (head, tail) => [...BYTE_ORDER_MARK, ...head, ...tail],
  (head, tail) => [...head, ...tail, ...head, ...tail],
  () => [],
];

/** Generator of one change of bytes at any place. */
export const byteChange: fc.Arbitrary<(bytes: Bytes) => Bytes> = fc
  .tuple(fc.constantFrom(...BYTE_CHANGES), fc.nat(), fc.nat(255), fc.constantFrom(...INSERTED))
  .map(([apply, position, byte, inserted]) => (bytes) => {
    const at = position % (bytes.length + 1);
    return new Uint8Array(apply(bytes.subarray(0, at), bytes.subarray(at), byte, inserted));
  });

/**
 * Generates the JSON text of the values in UTF-8, sometimes with a damaged number, a further member or damaged
 * bytes.
 */
export function jsonBytes(values: fc.Arbitrary<unknown>): fc.Arbitrary<Bytes> {
  return fc
    .tuple(values, rarely(5, numberText), rarely(3, memberText), rarely(15, byteChange))
    .map(([value, number, member, damage]) => {
      let text = JSON.stringify(value) ?? "";
      if (number !== null) text = text.replace(/-?\d+/, number);
      if (member !== null) text = text.replace("{", member);
      const bytes = new Uint8Array(encoder.encode(text));
      return readable(damage?.(bytes) ?? bytes);
    });
}

/** Makes fast-check print bytes as text. */
function readable(bytes: Bytes): Bytes {
  const print = () => JSON.stringify(new TextDecoder().decode(bytes));
  return Object.defineProperty(bytes, fc.toStringMethod, { value: print });
}
