import { sleep } from "./retry.ts";
import type { EndedTask, OpenTask, Task } from "./types.ts";

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Longest time to wait, in milliseconds; by default as long as the task is open. */
  readonly timeoutMs?: number;
  /** Function that is called with the open task at once and after every change of it, e.g. of its progress. */
  readonly onChange?: (task: OpenTask) => void;
}

/** Error for a task that did not end within `timeoutMs`. The task goes on and may end later. */
export class WaitTimeoutError extends Error {
  override readonly name = "WaitTimeoutError";
  /** The task as it was last read; null when no answer came. */
  readonly task: OpenTask | null;

  constructor(message: string, task: OpenTask | null) {
    super(message);
    this.task = task;
  }
}

/** State of a task at one read. */
export interface ReadState {
  /** The task; null when it has not changed since the version whose ETag the read has sent. */
  readonly task: Task | null;
  /** ETag of the answer; null when it has none. */
  readonly etag: string | null;
}

/**
 * Function that reads the task. The first read is answered at once, each later read as soon as the task differs
 * from `etag`, at the latest after a minute. @param isFirst true for the read that returns at once.
 */
export type ReadChange = (
  isFirst: boolean,
  etag: string | null,
  signal: AbortSignal,
) => Promise<ReadState>;

/** Pause in milliseconds after an answer without a change that came faster than this. */
const PAUSE_MS = 5000;
/** Longest delay that a timer accepts, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Reads a task again and again until it has ended. */
export async function untilEnded(
  readChange: ReadChange,
  { signal, timeoutMs = Infinity, onChange }: WaitOptions,
): Promise<EndedTask> {
  let last: OpenTask | null = null;
  const timeout = new AbortController();
  const message = `The task has not ended within ${timeoutMs} ms.`;
  const timeUp = () => timeout.abort(new WaitTimeoutError(message, last));
  const timer = timeoutMs <= MAX_TIMER_MS ? setTimeout(timeUp, timeoutMs) : undefined;
  const stop = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  try {
    return await follow(readChange, stop, (task) => {
      last = task;
      onChange?.(task);
    });
  } finally {
    clearTimeout(timer);
  }
}

async function follow(
  readChange: ReadChange,
  stop: AbortSignal,
  onChange: (task: OpenTask) => void,
): Promise<EndedTask> {
  let known: string | null = null;
  for (let isFirst = true; ; isFirst = false) {
    const startedAt = Date.now();
    const { task, etag } = await readChange(isFirst, known, stop);
    if (task !== null && isEnded(task)) return task;
    const isNews = task !== null && (etag === null || etag !== known);
    if (isNews) onChange(task);
    known = etag;
    const isFast = Date.now() - startedAt < PAUSE_MS;
    if (isFast && (etag === null || !isNews)) await sleep(PAUSE_MS, stop);
  }
}

function isEnded(task: Task): task is EndedTask {
  return task.status === "completed" || task.status === "failed";
}
