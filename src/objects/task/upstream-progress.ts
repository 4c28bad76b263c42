import type { HookEvent, PollAnswer } from "../../core/events/event.ts";
import { isOpen, type TaskRecord } from "../../core/record/task.ts";

/**
 * Memory of one instance of a task's object for the progress of the upstream's job. Nothing of it is
 * stored, because each write to the storage costs money: a new instance knows no progress until the upstream
 * states it again.
 */
export class UpstreamProgress {
  #jobId: string | null = null;
  #percent: number | null = null;

  /** Takes note of an answer to a poll of a job. One that reports no progress makes it unknown. */
  notePoll(jobId: string, answer: PollAnswer): void {
    if (answer.kind !== "news") return;
    this.#jobId = jobId;
    this.#percent = answer.progress ?? null;
  }

  /** Takes note of a hook, whose progress counts when the provider's signature proves the body. */
  noteHook({ jobId, isSigned, progress }: HookEvent): void {
    if (!isSigned || jobId === null || progress === undefined) return;
    this.#jobId = jobId;
    this.#percent = progress;
  }

  /** Returns the progress of the job of an open task in percent, from 0 to 100; null when it is not known. */
  of(record: TaskRecord): number | null {
    const isKnown = isOpen(record) && (record.upstream?.job?.id ?? null) === this.#jobId;
    return isKnown ? this.#percent : null;
  }
}
