import type { Choices } from "./choices.ts";
import { HOSTILE_KEYS, hostileValue } from "./hostile.ts";
import { mutatedText } from "./text.ts";

/** `value` with up to `most` changes of its structure, often none. */
export function mutated(value: unknown, choices: Choices, most = 3): unknown {
  let changed = value;
  for (let left = choices.below(most + 1); left > 0; left--)
    changed = changedOnce(changed, choices);
  return changed;
}

function changedOnce(value: unknown, choices: Choices): unknown {
  if (typeof value !== "object" || value === null) return changedLeaf(value, choices);
  const isDeeper = choices.chance(0.9);
  if (!isDeeper) return changedWhole(value, choices);
  return Array.isArray(value) ? changedList(value, choices) : changedObject(value, choices);
}

function changedWhole(value: unknown, choices: Choices): unknown {
  return choices.pick([
    () => hostileValue(choices),
    () => [value],
    () => ({ value }),
    () => JSON.stringify(value),
  ])();
}

function changedList(list: readonly unknown[], choices: Choices): unknown {
  const at = choices.below(list.length);
  const item = list[at];
  return choices.pick([
    () => list.map((one, i) => (i === at ? changedOnce(one, choices) : one)),
    () => list.toSpliced(at, 1),
    () => list.toSpliced(at, 0, item, item),
    () => list.toSpliced(at, 0, hostileValue(choices)),
    () => list.toReversed(),
  ])();
}

function changedObject(object: object, choices: Choices): unknown {
  const keys = Object.keys(object);
  if (keys.length === 0) return { [choices.pick(HOSTILE_KEYS)]: hostileValue(choices) };
  const key = choices.pick(keys);
  const member: unknown = Reflect.get(object, key);
  switch (choices.below(8)) {
    case 0:
    case 1:
      return { ...object, [key]: changedOnce(member, choices) };
    case 2:
      return { ...object, [key]: hostileValue(choices) };
    case 3:
      return without(object, key);
    case 4:
      return { ...without(object, key), [mutatedText(key, choices)]: member };
    case 5:
      return { ...without(object, key), [choices.pick(HOSTILE_KEYS)]: member };
    case 6:
      return { ...object, [key]: Reflect.get(object, choices.pick(keys)) };
    default:
      return { ...object, [choices.pick(HOSTILE_KEYS)]: hostileValue(choices) };
  }
}

function without(object: object, key: string): object {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
}

function changedLeaf(value: unknown, choices: Choices): unknown {
  if (choices.chance(0.3)) return hostileValue(choices);
  if (typeof value === "string") return mutatedText(value, choices);
  if (typeof value === "number") return changedNumber(value, choices);
  return typeof value === "boolean" ? !value : hostileValue(choices);
}

function changedNumber(value: number, choices: Choices): unknown {
  const factor = choices.pick([1, -1, 0, 1000, 0.1, 1e-9, 1e9]);
  const changed = value * factor + choices.pick([0, 1, -1, 0.5]);
  return choices.chance(0.2) ? String(changed) : changed;
}

const encoder = new TextEncoder();
/** What JSON text can say and `JSON.stringify` never does. */
const NUMBERS = ["1e400", "-1e400", "1E2", "1.0", "-0", "01", "1e-400", "0x10", "NaN", "1_000"];

/** JSON text of `value` in bytes, sometimes damaged: in its numbers, its members, its bytes. */
export function jsonBytes(value: unknown, choices: Choices): Uint8Array<ArrayBuffer> {
  let text = JSON.stringify(value) ?? "";
  if (choices.chance(0.05)) text = text.replace(/-?\d+/, choices.pick(NUMBERS));
  if (choices.chance(0.03)) {
    text = text.replace(
      "{",
      `{"${choices.pick(HOSTILE_KEYS)}":${choices.pick(["1", "null", "{}"])},`,
    );
  }
  const bytes = new Uint8Array(encoder.encode(text));
  return choices.chance(0.15) ? damagedBytes(bytes, choices) : bytes;
}

export function damagedBytes(
  bytes: Uint8Array<ArrayBuffer>,
  choices: Choices,
): Uint8Array<ArrayBuffer> {
  const at = choices.below(bytes.length + 1);
  const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
  return choices.pick([
    () => new Uint8Array(head),
    () => joined(head, [choices.below(256)], tail.subarray(1)),
    () => joined(head, [(tail[0] ?? 0) ^ (1 << choices.below(8))], tail.subarray(1)),
    () => joined(head, tail.subarray(1 + choices.below(8))),
    () => joined(head, choices.pick(INSERTED), tail),
    () => joined([0xef, 0xbb, 0xbf], bytes),
    () => joined(bytes, bytes),
    () => new Uint8Array(0),
  ])();
}

/** Invalid UTF-8 of every kind, a zero, a byte order mark, quotes, brackets. */
const INSERTED: readonly (readonly number[])[] = [
  [0xff],
  [0xc0, 0xaf],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  [0xe2, 0x82],
  [0x80],
  [0x00],
  [0xef, 0xbb, 0xbf],
  [0x22],
  [0x5c, 0x75],
  [0x7b],
  [0x5d],
];

function joined(...parts: readonly Iterable<number>[]): Uint8Array<ArrayBuffer> {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}
