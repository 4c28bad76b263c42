import { backoff } from "../backoff.ts";
import { dueAt } from "./callback.ts";
import type { Retry } from "./credits.ts";
import type { Policy } from "../policy.ts";
import { isOpen, isSettled, type TaskRecord } from "./task.ts";

/** How far the index knows the task: the outbox of the record. */
export interface Publication extends Retry {
  /** Of the row that was last written; 0: none. */
  readonly version: number;
}

export const UNPUBLISHED: Publication = { version: 0, retryAt: 0, tries: 0 };

/** A task that is over sooner is written once; one that is open for longer, mostly with its job known. */
const OPEN_MS = 30_000;
const OPEN_AGAIN_MS = 45_000;
const SENDING_MS = 5_000;
/** Longer than a write may take: nothing may delay an attempt. */
const CLEARANCE_MS = 2_500;

const FIRST_RETRY_MS = 5_000;
/** An index that is away for days must not cost a row for every few minutes of each task. */
const MAX_RETRY_MS = 21_600_000;

/** When the record is to be written to the index; null: it is known there, or exists for nobody. */
export function publishAt(record: TaskRecord, policy: Policy): number | null {
  const { publication, version } = record;
  if (record.status === "charging" || publication.version === version) return null;
  const at = Math.max(version + delayOf(record), publication.retryAt);
  if (isOpen(record) || record.callback?.state.kind !== "due") return at;
  // The end of that attempt changes the record again.
  return at > dueAt(record.callback.state, policy) - CLEARANCE_MS ? null : at;
}

export function published(publication: Publication, version: number): Publication {
  return { ...UNPUBLISHED, version: Math.max(version, publication.version) };
}

export function unpublished(publication: Publication, now: number): Publication {
  const waitMs = backoff(FIRST_RETRY_MS, publication.tries, MAX_RETRY_MS);
  return { ...publication, retryAt: now + waitMs, tries: publication.tries + 1 };
}

function delayOf(record: Exclude<TaskRecord, { readonly status: "charging" }>): number {
  if (isOpen(record)) return record.publication.version === 0 ? OPEN_MS : OPEN_AGAIN_MS;
  return isSettled(record) ? 0 : SENDING_MS;
}
