import { MINUTE_MS } from "../core/time.ts";

/**
 * Digest for the operator: tasks whose callbacks to one host have failed. It gathers them for a fixed time
 * after the first one, and is then sent as one operator event, a message to `OPERATOR_CALLBACK_URL`.
 */
interface Digest {
  readonly host: string;
  /** Time at which the first task was added to the digest, in Unix milliseconds. */
  readonly since: number;
  /** Time at which the operator event with the digest is to be sent, in Unix milliseconds. */
  readonly dueAt: number;
  readonly failed: number;
  /** Ids of the first 100 tasks in the digest. */
  readonly tasks: readonly string[];
  /** Number of failed tries to send the operator event with the digest. */
  readonly tries: number;
}

/**
 * Storage keys of the digest that still gathers failed callbacks (`OPEN`), and of the one whose operator
 * event is being sent (`CLOSED`).
 */
const OPEN = "digest";
const CLOSED = "digest_closed";
const MAX_IDS = 100;
const MAX_TRIES = 10;

/** Gathers the failed callbacks to one host, so that the operator gets one event for many of them. */
export class CallbackDigest {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /**
   * Adds a task whose callback has failed to the digest; a task whose id is already in the digest is not
   * counted again.
   * @param periodMs time from the first task of a digest to its operator event, in milliseconds.
   */
  async add(host: string, taskId: string, periodMs: number, now: number): Promise<void> {
    const begun = { host, since: now, dueAt: now + periodMs, failed: 0, tasks: [], tries: 0 };
    const known = this.#read(OPEN) ?? begun;
    if (!known.tasks.includes(taskId)) {
      const tasks = [...known.tasks, taskId].slice(0, MAX_IDS);
      this.#storage.kv.put(OPEN, { ...known, failed: known.failed + 1, tasks });
    }
    if ((await this.#storage.getAlarm()) === null) await this.#storage.setAlarm(known.dueAt);
  }

  isEmpty(): boolean {
    return this.#read(OPEN) === null && this.#read(CLOSED) === null;
  }

  /**
   * Sends the operator event with the digest; tasks that are added from then on go into a new digest. A
   * failed try is repeated after a minute, at most nine times. Erases the object when no digest is left.
   * @param post sends the event; returns true when no further try is needed.
   */
  async send(post: (digest: Digest) => Promise<boolean>): Promise<void> {
    const { kv } = this.#storage;
    const closed = this.#read(CLOSED) ?? this.#read(OPEN);
    if (closed === null) return;
    if (this.#read(CLOSED) === null) {
      kv.put(CLOSED, closed);
      kv.delete(OPEN);
    }
    const isDone = (await post(closed)) || closed.tries + 1 >= MAX_TRIES;
    if (isDone) kv.delete(CLOSED);
    else kv.put(CLOSED, { ...closed, tries: closed.tries + 1 });
    const nextAt = isDone ? this.#read(OPEN)?.dueAt : Date.now() + MINUTE_MS;
    if (nextAt === undefined) await this.#storage.deleteAll();
    else await this.#storage.setAlarm(nextAt);
  }

  /**
   * Keeps the digest for a minute longer, because the configuration is not valid; this does not count as a
   * try.
   */
  postpone(): Promise<void> {
    return this.#storage.setAlarm(Date.now() + MINUTE_MS);
  }

  #read(key: string): Digest | null {
    return this.#storage.kv.get<Digest>(key) ?? null;
  }
}
