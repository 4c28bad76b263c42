import { serialize } from "node:v8";

/** Largest size of a key with its value in an object of Cloudflare, in bytes. Local workerd stores more. */
const PLATFORM_LIMIT_BYTES = 2_000_000;
/** Length of the longest key that the relay uses, in bytes. */
const KEY_BYTES = 10;

/**
 * Largest number of bytes that a value takes in storage for each character that `charactersOf` counts. A character of a
 * text takes at most two, and a number, a mark or a name less than four for each of its characters.
 */
const BYTES_PER_CHARACTER = 4;

/**
 * Requires that a value is small enough to be stored. @throws the error of an object's storage when it is too
 * large.
 */
export function requireStorable(value: unknown): void {
  // Measuring the exact size of every small record would take a tenth of the time of the simulation.
  if (charactersOf(value) * BYTES_PER_CHARACTER < PLATFORM_LIMIT_BYTES) return;
  const { length } = serialize(value);
  if (length + KEY_BYTES > PLATFORM_LIMIT_BYTES) {
    throw new Error("string or blob too big: SQLITE_TOOBIG");
  }
}

/** Sizes of the parts of records, which stay the same objects through many changes of a task. */
const sizes = new WeakMap<object, number>();

/** Returns about the length of a value's JSON text; at least that length without escapes. */
function charactersOf(value: unknown): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 24;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  let count = 2;
  for (const [name, member] of Object.entries(value))
    count += name.length + 4 + charactersOf(member);
  sizes.set(value, count);
  return count;
}
