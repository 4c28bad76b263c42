import { storedBytes } from "../stored-bytes.ts";
import { isTerminal, type TaskRecord } from "../record/task.ts";

/** Largest size that the platform allows for one key and its value in a Durable Object, in bytes ("2 MB"). */
const PLATFORM_LIMIT_BYTES = 2_000_000;
/**
 * Number of bytes of the platform's limit that stay free when a task ends. They are for data that are stored later
 * without being measured, at most about 280 KB: 20 attempts with excerpts of 1 KiB in two-byte characters (46 KB),
 * headers of the answers (6 KB), earlier callback URLs (80 KB) and endpoints (20 KB), another callback URL (4 KB) and the
 * headers of its endpoint (46 KB), 16 orders of redeliveries with their keys and callback URLs (70 KB), notices, and the
 * usage of a late success. The rest is for fields of later releases.
 */
const RESERVE_BYTES = 300_000;
/** Largest size of the record of a task at its end, in bytes. */
export const MAX_ENDED_BYTES = PLATFORM_LIMIT_BYTES - RESERVE_BYTES;
/**
 * Largest size of the record of a task at its registration, in bytes. This leaves 700 KB for the result. Until the
 * result comes, the same space is more than enough for the 8 hooks that are stored while no job is attached (64 KB).
 */
export const MAX_REGISTERED_BYTES = 1_000_000;

/** Tells whether the record of a task that was just registered or has just ended is small enough to be stored. */
export function isStorable(record: TaskRecord): boolean {
  return storedBytes(record) <= maxBytesOf(record);
}

/**
 * Returns the largest size that the record of a task may have, in bytes: an open task must leave room for its result,
 * an ended task for what is stored later.
 */
export function maxBytesOf(record: TaskRecord): number {
  return isTerminal(record) ? MAX_ENDED_BYTES : MAX_REGISTERED_BYTES;
}
