import { sleep } from "./retry.ts";
import { type OpenStream, readStream } from "./task-stream.ts";
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

/** The two ways in which a client follows a task. */
export interface TaskSource {
  readonly read: ReadChange;
  readonly stream: OpenStream;
}

/**
 * Pause in milliseconds after an answer without a change that came faster than this. A stream that has lasted for
 * less is not opened again before a read has waited.
 */
const PAUSE_MS = 5000;
/** Longest delay that a timer accepts, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Follows a task until it has ended, by its stream, or by reading it again and again where no stream can be had. */
export async function untilEnded(
  source: TaskSource,
  { signal, timeoutMs = Infinity, onChange }: WaitOptions,
): Promise<EndedTask> {
  let last: OpenTask | null = null;
  const timeout = new AbortController();
  const message = `The task has not ended within ${timeoutMs} ms.`;
  const timeUp = () => timeout.abort(new WaitTimeoutError(message, last));
  const timer = timeoutMs <= MAX_TIMER_MS ? setTimeout(timeUp, timeoutMs) : undefined;
  const stop = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  let shown = "";
  try {
    return await follow(source, stop, (task) => {
      last = task;
      // The version of a task also changes with what its reader does not see.
      const text = JSON.stringify(task);
      if (text !== shown) onChange?.(task);
      shown = text;
    });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Follows the stream of the task. After each end of the stream the task is read, which shows whatever the stream may
 * have missed, and what is wrong, if anything is.
 */
async function follow(
  { read, stream }: TaskSource,
  stop: AbortSignal,
  onOpen: (task: OpenTask) => void,
): Promise<EndedTask> {
  let lastId: string | null = null;
  for (;;) {
    const startedAt = Date.now();
    const end = await readStream(
      stream,
      lastId,
      (task, id) => {
        lastId = id;
        if (isEnded(task)) return task;
        onOpen(task);
        return null;
      },
      stop,
    );
    if (typeof end === "object") return end;
    const isShort = Date.now() - startedAt < PAUSE_MS;
    const reads = end === "unavailable" ? Infinity : isShort ? 2 : 1;
    const ended = await readUntilEnded(read, reads, stop, onOpen);
    if (ended !== null) return ended;
  }
}

/**
 * Reads the task until it has ended, at most `reads` times: at once, then after each change.
 * @returns null when it is still open then.
 */
async function readUntilEnded(
  readChange: ReadChange,
  reads: number,
  stop: AbortSignal,
  onOpen: (task: OpenTask) => void,
): Promise<EndedTask | null> {
  let known: string | null = null;
  for (let nth = 1; nth <= reads; nth++) {
    const startedAt = Date.now();
    const { task, etag } = await readChange(nth === 1, known, stop);
    if (task !== null && isEnded(task)) return task;
    if (task !== null) onOpen(task);
    const isNews = task !== null && (etag === null || etag !== known);
    known = etag;
    const isFast = Date.now() - startedAt < PAUSE_MS;
    if (isFast && (etag === null || !isNews)) await sleep(PAUSE_MS, stop);
  }
  return null;
}

function isEnded(task: Task): task is EndedTask {
  return task.status === "completed" || task.status === "failed";
}
