import { sleep } from "./retry.ts";
import type { EndedTask, Task } from "./types.ts";

/** The answer to the request for the stream of a task. */
export interface StreamAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Null when the answer has no body, or the runtime cannot read it in pieces. */
  readonly body: ReadableStream<Uint8Array> | null;
}

/** Function that requests the stream of a task. @param lastId id of the last event that was read; null for none. */
export type OpenStream = (lastId: string | null, signal: AbortSignal) => Promise<StreamAnswer>;

/** Function that gets each state of the task, with the id of its event. Returns the task once it has ended. */
export type OnTask = (task: Task, id: string) => EndedTask | null;

/** Why a stream has shown no end of the task; see `readStream`. */
export type StreamEnd = "interrupted" | "unavailable";

/** Longest wait in milliseconds for the beginning of a stream. A proxy that buffers answers lets nothing through. */
const BEGINS_WITHIN_MS = 10_000;
/** Longest silence of a stream in milliseconds. The relay sends something every 15 seconds. */
const LONGEST_SILENCE_MS = 35_000;

/**
 * Reads the stream of a task until the task has ended, and closes the connection.
 * @returns the ended task; `interrupted` when the stream has ended before, or could not be had this time;
 * `unavailable` when the answer is no stream, or something between the relay and the client holds it back.
 * @throws the reason of the signal when it is aborted.
 */
export async function readStream(
  open: OpenStream,
  lastId: string | null,
  onTask: OnTask,
  stop: AbortSignal,
): Promise<EndedTask | StreamEnd> {
  const closing = new AbortController();
  const opening = open(lastId, AbortSignal.any([stop, closing.signal])).catch(() => null);
  try {
    const answer = await within(opening, BEGINS_WITHIN_MS, stop);
    if (answer === "late") return "unavailable";
    if (answer === null || answer.status === 429 || answer.status >= 500) return "interrupted";
    const { status, headers, body } = answer;
    const isStream = headers.get("Content-Type")?.startsWith("text/event-stream") === true;
    if (status !== 200 || !isStream || body === null) return "unavailable";
    return await readEvents(body, onTask, stop);
  } finally {
    closing.abort();
    // The function `fetch` of a user may leave the signal unheeded.
    void opening.then((answer) => answer?.body?.cancel()).catch(() => {});
  }
}

async function readEvents(
  body: ReadableStream<Uint8Array>,
  onTask: OnTask,
  stop: AbortSignal,
): Promise<EndedTask | StreamEnd> {
  const reader = body.getReader();
  const nextBlocks = blockReader(reader);
  try {
    for (let withinMs = BEGINS_WITHIN_MS; ; withinMs = LONGEST_SILENCE_MS) {
      const blocks = await within(
        nextBlocks().catch(() => null),
        withinMs,
        stop,
      );
      if (blocks === "late") return "unavailable";
      if (blocks === null) return "interrupted";
      for (const block of blocks.filter((each) => fieldOf(each, "event") === "task")) {
        const task = taskIn(fieldOf(block, "data"));
        if (task === null) return "unavailable";
        const ended = onTask(task, fieldOf(block, "id"));
        if (ended !== null) return ended;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/**
 * Returns a function that reads on until at least one more block of the stream is complete: an event, a comment or a
 * setting, each followed by an empty line. Null means that the stream has ended.
 */
function blockReader(reader: ReadableStreamDefaultReader<Uint8Array>) {
  const decoder = new TextDecoder();
  let rest = "";
  return async (): Promise<readonly string[] | null> => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return null;
      const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      rest = blocks.pop() ?? "";
      if (blocks.length > 0) return blocks;
    }
  };
}

/** Returns the value of a field of a block; an empty text when it has none. The relay writes each in one line. */
function fieldOf(block: string, name: string): string {
  const start = `${name}: `;
  const line = block.split(/\r?\n/).find((each) => each.startsWith(start));
  return line?.slice(start.length) ?? "";
}

/** Reads the data of an event; null when they are not a task. */
function taskIn(data: string): Task | null {
  try {
    const value: unknown = JSON.parse(data);
    return isTask(value) ? value : null;
  } catch {
    return null;
  }
}

function isTask(value: unknown): value is Task {
  return typeof value === "object" && value !== null && "id" in value && "status" in value;
}

/**
 * Waits for a result, at most `ms` milliseconds; `late` when it has not come by then.
 * @throws the reason of the signal when it is aborted.
 */
async function within<T>(result: Promise<T>, ms: number, stop: AbortSignal): Promise<T | "late"> {
  const waiting = new AbortController();
  const late = sleep(ms, AbortSignal.any([stop, waiting.signal])).then(() => "late" as const);
  try {
    const first = await Promise.race([result, late]);
    stop.throwIfAborted();
    return first;
  } finally {
    waiting.abort();
  }
}
