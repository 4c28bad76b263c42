import type { Config } from "../../config/config.ts";
import type { Poll } from "../../core/duties/poll.ts";
import type { AttachEvent } from "../../core/events/event.ts";
import type { HookReport } from "../../core/events/hook-report.ts";
import { isOpen, type TaskRecord } from "../../core/record/task.ts";
import { sameJob } from "../../core/record/upstream.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { isolateCache } from "../../isolate-cache.ts";
import { HOOKLESS_TASKS } from "../connection/connection-object.ts";
import { connectionObject, type ObjectNamespaces } from "../object-names.ts";
import { withTimeout } from "../../timeout.ts";

/** The fields that this file reads of an event by which a provider's job is attached to a task. */
export type Attachment = Pick<AttachEvent, "connection" | "job" | "isHookExpected">;

/** Longest wait of a task for an answer of the Durable Object of its connection, in milliseconds. */
const ANSWER_MS = 300;
const REPORT_MS = 2 * SECOND_MS;
/** Time for which an isolate remembers the number of a connection's missing hooks, in milliseconds. */
const KEPT_MS = 10 * MINUTE_MS;
const MAX_CONNECTIONS = 1_000;

/**
 * Numbers of tasks in a row whose expected hook did not come, by name of the connection, as this isolate has
 * last got them from the Durable Objects of the connections.
 */
const hooklessTasks = isolateCache<number>(MAX_CONNECTIONS, KEPT_MS);

/**
 * The calls of one task object to the Durable Object of the connection to its provider (a set of credentials):
 * they learn and report whether the connection's hooks come, and ask for permission to poll. A task does not
 * depend on these calls: when one fails or takes too long, the task continues as if hooks came and the polls had
 * no limit.
 */
export class ConnectionCalls {
  readonly #bindings: ObjectNamespaces;

  constructor(bindings: ObjectNamespaces) {
    this.#bindings = bindings;
  }

  /**
   * Returns the given event, which attaches a job to the task, without the expectation of a hook when the hooks
   * of the connection are missing. The Durable Object of the connection is asked only when the attachment would
   * expect a hook, and at most once in ten minutes by an isolate.
   */
  async withHookHealth<Event extends Attachment>(
    event: Event,
    task: TaskRecord | null,
    { polls }: Config,
  ): Promise<Event> {
    const { connection, job, isHookExpected = false } = event;
    if (!isHookExpected || (polls.get(connection)?.hookWaitMs ?? null) === null) return event;
    if (task === null || !isOpen(task) || sameJob(task.upstream?.job ?? null, job)) return event;
    const hookless = hooklessTasks.get(connection) ?? (await this.#askHookless(connection));
    return { ...event, isHookExpected: hookless < HOOKLESS_TASKS };
  }

  /**
   * Reports to the Durable Object of the connection whether the hook of a job has come. That a hook has come is
   * no news while this isolate knows that no hook of the connection is missing.
   */
  async reportHook({ connection, hasCome }: HookReport): Promise<void> {
    if (hasCome && hooklessTasks.get(connection) === 0) return;
    const object = connectionObject(this.#bindings, connection);
    const report = async (): Promise<number | null> => object.noteHook(hasCome);
    remember(connection, await withTimeout("hook report", report, null, REPORT_MS));
  }

  /**
   * Asks the Durable Object of the connection, which counts the polls of all its tasks, for permission to
   * poll now, if the provider limits the polls per minute.
   * @returns the wait in milliseconds before the task may ask again; 0 when the poll may be sent.
   */
  async pollWaitMs(
    { connection, taskId, isUrgent }: Poll,
    { connections }: Config,
  ): Promise<number> {
    const perMinute = connections.get(connection)?.pollsPerMinute ?? null;
    if (perMinute === null) return 0;
    const object = connectionObject(this.#bindings, connection);
    const ask = async (): Promise<number> => object.takePollSlot(taskId, isUrgent, perMinute);
    return withTimeout("poll slot", ask, 0, ANSWER_MS);
  }

  /** Asks how many tasks in a row got no hook that they expected; 0 without an answer in time. */
  async #askHookless(connection: string): Promise<number> {
    const object = connectionObject(this.#bindings, connection);
    const ask = async (): Promise<number | null> => object.hooklessTasks();
    const answer = await withTimeout("hook health", ask, null, ANSWER_MS);
    // An object that does not answer is not asked again by each attachment.
    const hookless = answer ?? 0;
    remember(connection, hookless);
    return hookless;
  }
}

function remember(connection: string, hookless: number | null): void {
  if (hookless !== null) hooklessTasks.set(connection, hookless);
}
