import { isTerminal, type TaskRecord } from "./task.ts";

/** Largest size that the platform allows for one key and its value in a Durable Object, in bytes ("2 MB"). */
const PLATFORM_LIMIT_BYTES = 2_000_000;
/**
 * Part of the platform's limit that stays free when a task ends. It is for data that is stored later without being
 * measured, at most about 220 KB: 20 attempts with excerpts of 1 KiB in two-byte characters (46 KB), headers of the
 * answers (6 KB), earlier callback URLs (80 KB), another callback URL (4 KB), 16 orders of redeliveries with their
 * keys and callback URLs (70 KB), notices, and the usage of a late success. The rest is for fields of later
 * releases.
 */
const RESERVE_BYTES = 250_000;
/** Largest size of the record of a task at its end, in bytes. */
export const MAX_ENDED_BYTES = PLATFORM_LIMIT_BYTES - RESERVE_BYTES;
/**
 * Largest size of the record of a task at its registration, in bytes. This leaves 750 KB for the result. Until the
 * result comes, the 8 hooks that are stored while no job is attached (64 KB) have more than enough room.
 */
export const MAX_REGISTERED_BYTES = 1_000_000;

/** Size of a number in bytes, at most, when V8 serialises it: a type tag and a double. */
const NUMBER_BYTES = 9;
const TWO_BYTE_CHARACTER = /[\u0100-\uffff]/;

/** Tells whether the record of a task is small enough to be stored after a registration or a result. */
export function isStorable(record: TaskRecord): boolean {
  return storedBytes(record) <= maxBytesOf(record);
}

/** Returns the largest size that the record of a task may have after a registration or a result, in bytes. */
export function maxBytesOf(record: TaskRecord): number {
  return isTerminal(record) ? MAX_ENDED_BYTES : MAX_REGISTERED_BYTES;
}

/**
 * Returns the largest number of bytes that the platform may need to store a value of JSON types. The platform
 * serialises values with V8, where text takes one byte per character, or two per character when any character is
 * beyond U+00FF.
 */
export function storedBytes(value: unknown): number {
  if (typeof value === "string") return textBytes(value);
  if (typeof value === "number") return NUMBER_BYTES;
  if (typeof value !== "object" || value === null) return 1;
  return Array.isArray(value) ? listBytes(value) : objectBytes(value);
}

function textBytes(text: string): number {
  if (!TWO_BYTE_CHARACTER.test(text)) return 1 + varintBytes(text.length) + text.length;
  const bytes = 2 * text.length;
  // Counts one byte of padding, because the characters may have to begin at an even position.
  return 1 + varintBytes(bytes) + 1 + bytes;
}

function listBytes(list: readonly unknown[]): number {
  const frame = 3 + 2 * varintBytes(list.length);
  return list.reduce<number>((sum, item) => sum + storedBytes(item), frame);
}

function objectBytes(object: object): number {
  const keys = Object.keys(object);
  const frame = 2 + varintBytes(keys.length);
  const named = keys.reduce((sum, key) => sum + textBytes(key), frame);
  return Object.values(object).reduce<number>((sum, value) => sum + storedBytes(value), named);
}

/** Returns the number of bytes in which V8 writes a length: each byte carries seven bits of the number. */
function varintBytes(length: number): number {
  let bytes = 1;
  for (let rest = length; rest >= 128; rest /= 128) bytes++;
  return bytes;
}
