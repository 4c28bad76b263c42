import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import type { TaskReader } from "../../core/views/reader.ts";
import { stateOf, type TaskReply } from "../../objects/task/reply.ts";
import { type TaskBindings, taskObject } from "../../objects/task/task-stub.ts";

/** The parts of a task that identify its state, as they were when the reader last read the task. */
type Known = Pick<TaskReply, "version" | "progress" | "createdAt">;

/** Shortest pause in milliseconds between two reads of a task that cannot be watched. */
const MIN_PAUSE_MS = 5 * SECOND_MS;
/** Longest pause in milliseconds between two reads of a task that cannot be watched. */
const MAX_PAUSE_MS = MINUTE_MS;
/** Pause between two reads of a task that cannot be watched, as a fraction of the task's age. */
const PAUSE_OF_AGE = 1 / 8;
/**
 * Longest time in milliseconds that a request waits for the WebSocket by which it watches a task. Without a WebSocket,
 * the request reads the task from time to time instead.
 */
const OPEN_MS = 2 * SECOND_MS;

/** Returns the pause in milliseconds before a task that cannot be watched is read again. */
function pauseMs({ createdAt }: Pick<Known, "createdAt">, now: number): number {
  return Math.min(Math.max(MIN_PAUSE_MS, (now - createdAt) * PAUSE_OF_AGE), MAX_PAUSE_MS);
}

/**
 * The wait of one request for changes of one task. The task's object reports each new state over a WebSocket, which
 * stays open while the object is not in memory. The request that has opened the WebSocket must also close it. When
 * there is none (too many watchers, or an object that is overloaded), the task is read from
 * time to time instead. A WebSocket that the platform has closed, e.g. at a deployment, is replaced once.
 */
export class TaskWatch {
  readonly #env: TaskBindings;
  readonly #id: string;
  readonly #reader: TaskReader;
  #socket: WebSocket | null = null;
  /**
   * State of the replacement of a lost WebSocket: `possible` until the first one is lost, `due` until another one is
   * opened, then `used`. Only the first one is replaced, so that an object which closes each one is not asked for another
   * again and again.
   */
  #replacement: "possible" | "due" | "used" = "possible";
  /**
   * The state that the task's object has reported last. Null when it has reported none since the task was last read.
   */
  #told: string | null = null;
  /** State of the task that the reader already has; null before the first wait. */
  #known: Known | null = null;
  /**
   * Time in Unix milliseconds at which the task is read again even if its object reports nothing. Null when no such
   * read is planned.
   */
  #readAt: number | null = null;
  /**
   * Function that ends the present wait. It is called when the task's object reports a new state, or when the
   * connection ends.
   */
  #onNews = (): void => undefined;

  #isClosed = false;
  /** Function that is called when the watch of the task is closed. */
  readonly #onClose: () => void;

  private constructor(env: TaskBindings, id: string, reader: TaskReader, onClose: () => void) {
    this.#env = env;
    this.#id = id;
    this.#reader = reader;
    this.#onClose = onClose;
  }

  /**
   * Watches a task. When the task's object accepts no WebSocket, `changed` asks for a read of the task from time to
   * time instead.
   * @param reader kind of reader (operator, account or status link). One with a status link is not told of the job's
   * progress.
   */
  static async open(
    env: TaskBindings,
    id: string,
    reader: TaskReader,
    onClose = (): void => undefined,
  ): Promise<TaskWatch> {
    const watch = new TaskWatch(env, id, reader, onClose);
    await watch.#open(OPEN_MS);
    return watch;
  }

  /** Opens the WebSocket, whose first message is the present state of the task. Gives up after `maxMs` milliseconds. */
  async #open(maxMs: number): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      resolve();
    }, maxMs);
    const connect = async () => {
      const headers = { Upgrade: "websocket" };
      const { webSocket } = await taskObject(this.#env, this.#id).fetch("https://task/watch", {
        headers,
      });
      if (webSocket === null) return;
      if (!isLate && !this.#isClosed) return this.#take(webSocket);
      // It would keep one of the places of the task's watchers, although nobody listens.
      webSocket.accept();
      webSocket.close();
    };
    try {
      await Promise.race([connect(), late]);
    } catch {
      // The next read of the task tells what is wrong, if anything is.
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Waits until the task may have another state than `known`, at most `maxMs` milliseconds.
   * @returns true when the task is to be read, because it has changed, or because it cannot be watched and its last
   * read was long enough ago; false when the time is over, or after `close`.
   */
  async changed(known: Known, maxMs: number): Promise<boolean> {
    this.#known = known;
    if (this.#replacement === "due") {
      this.#replacement = "used";
      await this.#open(Math.min(OPEN_MS, maxMs));
    }
    const now = Date.now();
    if (this.#socket === null) this.#readAt ??= now + pauseMs(known, now);
    const leftMs = this.#readAt === null ? Infinity : Math.max(0, this.#readAt - now);
    if (!this.#isNews()) await this.#news(Math.min(leftMs, maxMs));
    if (this.#isClosed) return false;
    if (leftMs > maxMs && !this.#isNews()) return false;
    this.#readAt = null;
    this.#told = null;
    return true;
  }

  /**
   * Records that a read of the task after a change has failed, so that the next read comes only after a pause.
   * @param known state of the task that the reader still has.
   */
  noteFailedRead(known: Known): void {
    const now = Date.now();
    this.#readAt = now + pauseMs(known, now);
  }

  /** True once the watch has been closed. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Closes the WebSocket and ends a wait, because an open WebSocket or a wait would keep the request from ending. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket?.close();
    this.#socket = null;
    this.#onNews();
    this.#onClose();
  }

  #take(socket: WebSocket): void {
    socket.accept();
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string") this.#told = data;
      if (this.#isNews()) this.#onNews();
    });
    const end = () => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      if (this.#replacement === "possible") this.#replacement = "due";
      if (this.#isNews()) this.#onNews();
    };
    socket.addEventListener("close", end);
    socket.addEventListener("error", end);
  }

  /**
   * Tells whether the present wait must end, because the connection has ended or the task has another state than the
   * reader knows. While a read is planned, the result is false.
   */
  #isNews(): boolean {
    if (this.#readAt !== null) return false;
    if (this.#socket === null) return true;
    const known = this.#known;
    if (this.#told === null || known === null) return false;
    const [version = ""] = this.#told.split(".");
    return this.#reader === "link" ? version !== `${known.version}` : this.#told !== stateOf(known);
  }

  async #news(maxMs: number): Promise<void> {
    const { promise: news, resolve } = Promise.withResolvers<void>();
    this.#onNews = resolve;
    const waiting = new AbortController();
    const silence = scheduler.wait(maxMs, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([news, silence]);
    waiting.abort();
  }
}

/**
 * The functions that a request needs to wait for a state of a task: to read and watch the task, and to check the
 * credential.
 */
export interface Watched<T> {
  readonly read: () => Promise<T | null>;
  /**
   * Checks that the credential is still valid.
   * @throws Problem `unauthenticated` when it is not.
   */
  readonly requireCurrent: () => Promise<void>;
  /**
   * Begins to watch the task for changes. The caller must close the watch after at most `maxMs` milliseconds.
   * @returns null when the reader may not wait.
   */
  readonly watch: (maxMs: number) => Promise<TaskWatch | null>;
  /** Returns the state of the task that a result of `read` contains. */
  readonly stateIn: (answer: T) => Known;
}

/**
 * Reads a task, and reads it again whenever it has changed, until `isWanted` accepts the result, the result is null, or
 * `waitMs` milliseconds have passed. The waiting is done by the Worker and not by the task's object, which would be
 * billed for the time that it stays in memory.
 * @returns the last result.
 */
export async function readWhen<T>(
  { read, requireCurrent, watch: open, stateIn }: Watched<T>,
  isWanted: (answer: T) => boolean,
  waitMs: number,
): Promise<T | null> {
  const giveUpAt = Date.now() + waitMs;
  let answer = await read();
  if (answer === null || isWanted(answer) || waitMs <= 0) return answer;
  const watch = await open(waitMs);
  if (watch === null) return answer;
  try {
    for (let leftMs = waitMs; leftMs > 0; leftMs = giveUpAt - Date.now()) {
      if (!(await watch.changed(stateIn(answer), leftMs))) continue;
      answer = await read();
      if (answer === null || isWanted(answer)) return answer;
    }
    await requireCurrent();
    return answer;
  } finally {
    watch.close();
  }
}
