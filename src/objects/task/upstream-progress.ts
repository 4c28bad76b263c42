import type { HookEvent, PollAnswer } from "../../core/events/event.ts";
import { isOpen, type TaskRecord } from "../../core/record/task.ts";

/**
 * Remembers the progress of the upstream's job in one instance of a task's object. The progress is not stored,
 * because each write to the storage costs money. A new instance knows no progress until the upstream reports it
 * again.
 */
export class UpstreamProgress {
  #jobId: string | null = null;
  #percent: number | null = null;

  /**
   * Remembers the progress that an answer to a poll states. After an answer that states none, the progress is unknown.
   */
  notePoll(jobId: string, answer: PollAnswer): void {
    if (answer.kind !== "news") return;
    this.#jobId = jobId;
    this.#percent = answer.progress ?? null;
  }

  /** Remembers the progress that a hook states, if the hook is signed and names a job. */
  noteHook({ jobId, isSigned, progress }: HookEvent): void {
    if (!isSigned || jobId === null || progress === undefined) return;
    this.#jobId = jobId;
    this.#percent = progress;
  }

  /** Returns the progress of the job of an open task in percent, from 0 to 100. Null when it is not known. */
  of(record: TaskRecord): number | null {
    const isKnown = isOpen(record) && (record.upstream?.job?.id ?? null) === this.#jobId;
    return isKnown ? this.#percent : null;
  }
}
