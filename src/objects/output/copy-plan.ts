import { backoff } from "../../core/backoff.ts";
import type { CopyOrder, KeptOutputs } from "../../core/duties/copy-order.ts";
import type { NumberedCopy } from "../../core/events/event.ts";
import { planRetry, type Retry } from "../../core/record/retry.ts";
import type { EndedCopy, LossReason } from "../../core/record/outputs.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../core/time.ts";

/**
 * Stored content of the Durable Object that copies a task's outputs: its copies, finished or not; once the task was
 * erased, the note that it must make no more.
 */
export type StoredCopies = Copies | DeletedCopies;

/** The copies of one task's outputs that were ordered for the bucket, with the plan of the next report about them. */
export interface Copies extends Omit<CopyOrder, "outputs" | "deleted"> {
  readonly kind: "copies";
  /** Time at which the copies were ordered, in Unix milliseconds. */
  readonly orderedAt: number;
  readonly list: readonly Copy[];
  /**
   * Plan of the next report to the object of the task about copies that have ended. Null when all ended copies were
   * reported.
   */
  readonly report: Retry | null;
}

/**
 * State of the Durable Object that copies a task's outputs, after the task was erased. It is stored for some time,
 * because an order to copy the outputs that was sent earlier may still arrive.
 */
export interface DeletedCopies extends KeptOutputs {
  readonly kind: "deleted";
  /** Time at which the object forgets that the task was erased, in Unix milliseconds. */
  readonly forgetAt: number;
  /** Time at which the copies are deleted once more, for the reason of `DeletedCopy.againAt`. Absent as there. */
  readonly againAt?: number;
  /**
   * Unfinished multipart uploads of outputs, which may have left parts in the bucket. They are aborted when the copies
   * are deleted.
   */
  readonly uploads: readonly LeftUpload[];
}

/** An unfinished multipart upload of an output: the number of the output, and the id of the upload. */
export interface LeftUpload {
  readonly number: number;
  readonly uploadId: string;
}

/** The copy of one output of a task: the number of the output, its link at the upstream, and the state of the copy. */
export interface Copy {
  readonly number: number;
  /** The upstream's own link to the output. Null for a file that was in the upstream's answer. */
  readonly source: string | null;
  readonly state: CopyState;
}

export type CopyState = OpenCopy | (EndedCopy & { readonly isReported: boolean }) | DeletedCopy;

/** State of a copy whose output was deleted. */
export interface DeletedCopy {
  readonly kind: "deleted";
  /** Id of a multipart upload that may have left parts in the bucket and must be aborted; null when there is none. */
  readonly uploadId: string | null;
  /**
   * Time at which the copy is deleted once more, in Unix milliseconds, because a try that was broken off may have stored
   * it after the first deletion. Absent when no try was broken off, and after that time.
   */
  readonly againAt?: number;
}

/** State of a copy that is being made or waits for its next try. */
export interface OpenCopy extends Retry {
  readonly kind: "open";
  /** Id of the multipart upload of the last try, which may have left parts in the bucket; null when there is none. */
  readonly uploadId: string | null;
}

/** Result of one try to copy an output: the copy is stored, or the try has failed for a reason. */
export type TryResult =
  | Extract<EndedCopy, { readonly kind: "kept" }>
  | {
      readonly kind: "failed";
      readonly reason: LossReason;
      /** True when every later try to copy the output would fail too. */
      readonly isFinal: boolean;
    };

const FIRST_RETRY_MS = 10 * SECOND_MS;
const MAX_RETRY_MS = HOUR_MS;
/**
 * Time in milliseconds for which the object remembers that its task was erased, because an order to copy the outputs
 * that was sent before the erasure may still arrive. After this time it deletes the copies once more.
 */
const REMEMBER_MS = DAY_MS;
/**
 * Time in milliseconds after the deletion of a copy at which it is deleted once more, if a try to make it was broken off:
 * by the end of an instance of the object, or by the deletion itself, before which a store may have had all bytes. Later
 * the try stores nothing: the platform ends an alarm after 15 minutes.
 */
const DELETE_AGAIN_MS = 15 * MINUTE_MS;
/** Largest random addition to the wait before a try to copy an output, as a fraction of the wait. */
const JITTER = 0.2;

/**
 * Returns the copies of those outputs that an order names. Their first tries are due at once. A file that is in the bucket
 * already needs none: it is only deleted with the others.
 */
export function beginCopies(given: CopyOrder, now: number): Copies {
  const { outputs, deleted: _, ...order } = given;
  const open: OpenCopy = { kind: "open", retryAt: now, tries: 0, uploadId: null };
  const list = outputs.map(({ number, source, stored }): Copy => {
    const state: CopyState =
      stored === undefined ? open : { kind: "kept", ...stored, isReported: true };
    return { number, source, state };
  });
  return { ...order, kind: "copies", orderedAt: now, list, report: null };
}

/** A copy whose next try is due. */
export type DueCopy = Copy & { readonly source: string; readonly state: OpenCopy };

/**
 * Returns the copy whose next try is due; if there are several, the one whose try was planned for the earliest time.
 * Null when none is due.
 */
export function nextCopy({ list }: Copies, now: number): DueCopy | null {
  const due = list.filter(isOpen).filter(({ state }) => state.retryAt <= now);
  return due.toSorted((a, b) => a.state.retryAt - b.state.retryAt)[0] ?? null;
}

function isOpen(copy: Copy): copy is DueCopy {
  return copy.state.kind === "open" && copy.source !== null;
}

/**
 * Returns the copies of a task's outputs as they are stored when a try to make one of them starts. The next try is
 * planned already, so that a try which a crash interrupts is counted and repeated.
 * @param jitter random number from 0 to 1.
 */
export function startTry(copies: Copies, number: number, now: number, jitter: number): Copies {
  return withOpen(copies, number, (state) => {
    const waitMs = backoff(FIRST_RETRY_MS, state.tries, MAX_RETRY_MS) * (1 + JITTER * jitter);
    const retryAt = now + Math.round(waitMs);
    return { kind: "open", retryAt, tries: state.tries + 1, uploadId: null };
  });
}

/**
 * Returns the copies of a task's outputs after a try to make one of them was broken off before anything was stored,
 * because it needs more memory than there is at present. The try does not count.
 * @param due the copy as it was before the start of the try.
 */
export function withoutTry(copies: Copies, { number, state: { retryAt, tries } }: DueCopy): Copies {
  return withOpen(copies, number, (state) => ({ ...state, retryAt, tries }));
}

/**
 * Returns the copies of a task's outputs, after storing, for one of them, the id of the multipart upload that the
 * present try to make it has begun.
 */
export function withUpload(copies: Copies, number: number, uploadId: string): Copies {
  return withOpen(copies, number, (state) => ({ ...state, uploadId }));
}

/**
 * Returns the copies of a task's outputs after a try to make one of them. This copy is given up when a further try
 * would fail too, or would start after the upstream's own link has expired.
 * @param sourceEndsAt time until which the upstream's own links work, in Unix milliseconds.
 */
export function endTry(
  copies: Copies,
  number: number,
  result: TryResult,
  sourceEndsAt: number,
  now: number,
): Copies {
  const endsAt = Math.min(sourceEndsAt, copies.expiresAt);
  const after = withOpen(copies, number, (state) => {
    if (result.kind === "kept") return { ...result, isReported: false };
    // The wait counts from the end of the try.
    const retryAt = Math.max(state.retryAt, now);
    if (!result.isFinal && retryAt < endsAt) return { ...state, retryAt };
    return { kind: "lost", reason: result.reason, isReported: false };
  });
  const isNews = unreported(after).length > 0;
  return { ...after, report: isNews ? (after.report ?? { retryAt: now, tries: 0 }) : null };
}

/** Returns those copies that have ended and that were not reported to the object of the task yet. */
export function unreported({ list }: Copies): readonly NumberedCopy[] {
  return list.flatMap(({ number, state }) => {
    if (state.kind === "open" || state.kind === "deleted" || state.isReported) return [];
    const { isReported: _, ...end } = state;
    return [{ number, state: end }];
  });
}

/**
 * Returns the copies of a task's outputs after a report about ended copies.
 * @param isTaken true when the object of the task has accepted the report; otherwise the report is planned again.
 */
export function endReport(
  copies: Copies,
  reported: readonly NumberedCopy[],
  isTaken: boolean,
  now: number,
): Copies {
  const { report } = copies;
  if (!isTaken) {
    return report === null ? copies : { ...copies, report: planRetry(report, now) };
  }
  const numbers = new Set(reported.map(({ number }) => number));
  const list = copies.list.map((copy) =>
    copy.state.kind === "open" || copy.state.kind === "deleted" || !numbers.has(copy.number)
      ? copy
      : { ...copy, state: { ...copy.state, isReported: true } },
  );
  const after = { ...copies, list, report: null };
  return unreported(after).length > 0 ? { ...after, report: { retryAt: now, tries: 0 } } : after;
}

/**
 * Returns the copies of a task's outputs after some outputs were deleted. Each of their copies is marked as deleted,
 * together with the multipart upload that is still to be aborted.
 */
export function withoutCopies(copies: Copies, numbers: readonly number[], now: number): Copies {
  const list = copies.list.map((copy) => {
    const { number, state } = copy;
    if (!numbers.includes(number) || state.kind === "deleted") return copy;
    const again = isUnsettled(copy) ? { againAt: now + DELETE_AGAIN_MS } : {};
    return { ...copy, state: { kind: "deleted", uploadId: uploadOf(copy), ...again } as const };
  });
  return { ...copies, list };
}

/** Tells whether a try to make a copy may store it after its deletion. */
function isUnsettled({ state }: Copy): boolean {
  if (state.kind === "open") return state.tries > 0;
  return state.kind === "deleted" && state.againAt !== undefined;
}

/**
 * Returns the note that a task was erased, together with the multipart uploads that are still to be aborted.
 * @param known what is stored about the copies before; null for nothing.
 */
export function noteErasure(
  known: StoredCopies | null,
  outputs: KeptOutputs,
  now: number,
): DeletedCopies {
  const uploads = known === null ? [] : leftUploads(known);
  const note = { ...outputs, kind: "deleted", forgetAt: now + REMEMBER_MS, uploads } as const;
  const isAgain =
    known?.kind === "deleted" ? known.againAt !== undefined : known?.list.some(isUnsettled);
  return isAgain === true ? { ...note, againAt: now + DELETE_AGAIN_MS } : note;
}

/** Returns the time in Unix milliseconds at which the copies of an erased task are deleted once more. */
export function nextDeletionAt({ againAt, forgetAt }: DeletedCopies): number {
  return againAt ?? forgetAt;
}

/** Returns the note that a task was erased after its copies were deleted once more; null when it is no longer needed. */
export function noteAfterDeletion(erased: DeletedCopies, now: number): DeletedCopies | null {
  const { againAt: _, ...note } = erased;
  return now < note.forgetAt ? { ...note, uploads: [] } : null;
}

/** Returns the copies of a task's outputs after the multipart uploads of deleted outputs were aborted. */
export function withoutUploads(copies: Copies, numbers: readonly number[]): Copies {
  return withDeleted(copies, numbers, (state) => ({ ...state, uploadId: null }));
}

/** Returns the numbers of the deleted outputs whose copies are to be deleted once more now. */
export function dueDeletions({ list }: Copies, now: number): readonly number[] {
  return list.flatMap(({ number, state }) =>
    state.kind === "deleted" && (state.againAt ?? Infinity) <= now ? [number] : [],
  );
}

/** Returns the copies of a task's outputs after copies of deleted outputs were deleted once more. */
export function deletedAgain(copies: Copies, numbers: readonly number[]): Copies {
  return withDeleted(copies, numbers, ({ uploadId }) => ({ kind: "deleted", uploadId }));
}

function withDeleted(
  copies: Copies,
  numbers: readonly number[],
  change: (state: DeletedCopy) => DeletedCopy,
): Copies {
  const list = copies.list.map((copy) =>
    copy.state.kind === "deleted" && numbers.includes(copy.number)
      ? { ...copy, state: change(copy.state) }
      : copy,
  );
  return { ...copies, list };
}

/** Returns the unfinished multipart uploads that may have left parts in the bucket. */
export function leftUploads(stored: StoredCopies): readonly LeftUpload[] {
  if (stored.kind === "deleted") return stored.uploads;
  return stored.list.flatMap((copy) => {
    const uploadId = uploadOf(copy);
    return uploadId === null ? [] : { number: copy.number, uploadId };
  });
}

function uploadOf({ state }: Copy): string | null {
  return state.kind === "open" || state.kind === "deleted" ? state.uploadId : null;
}

/**
 * Returns the time in Unix milliseconds at which the object that copies a task's outputs must work next: for a try, for
 * a report, for a repeated deletion, or for the deletion of the expired copies.
 */
export function wakeAt({ list, report, expiresAt }: Copies): number {
  const times = list.map(({ state }) => {
    if (state.kind === "open") return state.retryAt;
    return (state.kind === "deleted" ? state.againAt : undefined) ?? Infinity;
  });
  return Math.min(expiresAt, report?.retryAt ?? Infinity, ...times);
}

function withOpen(copies: Copies, number: number, change: (state: OpenCopy) => CopyState): Copies {
  const list = copies.list.map((copy) =>
    copy.number === number && isOpen(copy) ? { ...copy, state: change(copy.state) } : copy,
  );
  return { ...copies, list };
}
