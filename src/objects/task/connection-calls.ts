import type { Config } from "../../config/config.ts";
import type { Poll } from "../../core/duties/poll.ts";
import type { AttachEvent } from "../../core/events/event.ts";
import type { HookReport } from "../../core/events/hook-report.ts";
import { hasCustomerKey } from "../../core/record/customer-key.ts";
import { isOpen, type OpenTask, type TaskRecord } from "../../core/record/task.ts";
import { type Job, sameJob } from "../../core/record/upstream.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { isolateCache } from "../../lib/isolate-cache.ts";
import type { Connection } from "../../providers/provider.ts";
import { sha256Hex } from "../../security/encoding.ts";
import { HOOKLESS_TASKS } from "../connection/connection-object.ts";
import { connectionObject, customerPollsObject, type ObjectNamespaces } from "../object-names.ts";
import { withTimeout } from "../../lib/timeout.ts";

/** The fields of an event which attaches a job to a task. Only the fields that this file reads are included. */
export type Attachment = Pick<AttachEvent, "connection" | "job" | "isHookExpected">;

/** Longest time in milliseconds that a task waits for an answer of the Durable Object of its connection. */
const ANSWER_MS = 300;
const REPORT_MS = 2 * SECOND_MS;
/**
 * Time in milliseconds for which an isolate remembers how many successive tasks of a connection did not get their
 * expected hook.
 */
const KEPT_MS = 10 * MINUTE_MS;
const MAX_CONNECTIONS = 1_000;

/**
 * Numbers of successive tasks that did not get their expected hook, by name of the connection. This isolate has got the
 * numbers from the Durable Objects of the connections.
 */
const hooklessTasks = isolateCache<number>(MAX_CONNECTIONS, KEPT_MS);

/**
 * The calls of one task object to the Durable Object of its connection (a set of credentials for a provider). They ask
 * and report whether the hooks of the connection come, and ask for permission to poll. A task does not depend on these
 * calls: when a call fails or takes too long, the task continues as if hooks came and polls had no limit.
 */
export class ConnectionCalls {
  readonly #bindings: ObjectNamespaces;

  constructor(bindings: ObjectNamespaces) {
    this.#bindings = bindings;
  }

  /**
   * Returns the given event, which attaches a job to the task. If the hooks of the connection are missing, the returned
   * event expects no hook. The Durable Object of the connection is asked only if the event expects a hook; each isolate
   * asks it at most once in ten minutes. It is not asked about a job that was submitted with a customer's key, because
   * the hooks of such a job do not come from the operator's account at the provider.
   */
  async withHookHealth<Event extends Attachment>(
    event: Event,
    task: TaskRecord | null,
    { polls }: Config,
  ): Promise<Event> {
    const { connection, job, isHookExpected } = event;
    if (!isHookExpected || (polls.get(connection)?.hookWaitMs ?? null) === null) return event;
    if (task === null || !isOpen(task) || !isNewJob(task, job)) return event;
    const hookless = hooklessTasks.get(connection) ?? (await this.#askHookless(connection));
    return { ...event, isHookExpected: hookless < HOOKLESS_TASKS };
  }

  /**
   * Reports to the Durable Object of the connection whether the hook of a job has come. As long as this isolate knows
   * that no hooks of the connection are missing, a hook that has come is not reported.
   */
  async reportHook({ connection, hasCome }: HookReport): Promise<void> {
    if (hasCome && hooklessTasks.get(connection) === 0) return;
    const object = connectionObject(this.#bindings, connection);
    const report = async (): Promise<number | null> => object.noteHook(hasCome);
    remember(connection, await withTimeout("hook report", report, null, REPORT_MS));
  }

  /**
   * Asks a Durable Object for permission to poll now, if the provider limits the polls per minute. The object of the
   * connection counts the polls of all tasks with the connection's key. An object for each customer's key counts the
   * polls with this key, because the provider counts them separately.
   * @param connection connection of the job, with the key that is polled with.
   * @param hasOwnKey true when this key is a customer's, as stored with the task or as the caller has sent it.
   * @returns the wait in milliseconds before the task may ask again; 0 when the poll may be sent.
   */
  async pollWaitMs(
    { taskId, isUrgent, customerKey }: Poll,
    { name, key, pollsPerMinute: perMinute }: Connection,
    hasOwnKey = customerKey !== null,
  ): Promise<number> {
    if (perMinute === null) return 0;
    const object = hasOwnKey
      ? customerPollsObject(this.#bindings, name, await sha256Hex(`${name}\n${key}`))
      : connectionObject(this.#bindings, name);
    const ask = async (): Promise<number> => object.takePollSlot(taskId, isUrgent, perMinute);
    return withTimeout("poll slot", ask, 0, ANSWER_MS);
  }

  /**
   * Asks how many successive tasks of the connection did not get their expected hook. The result is 0 when no answer
   * comes in time.
   */
  async #askHookless(connection: string): Promise<number> {
    const object = connectionObject(this.#bindings, connection);
    const ask = async (): Promise<number | null> => object.hooklessTasks();
    const answer = await withTimeout("hook health", ask, null, ANSWER_MS);
    // When the object does not answer, 0 is remembered, so that the next attachments do not ask it again.
    const hookless = answer ?? 0;
    remember(connection, hookless);
    return hookless;
  }
}

/**
 * Tells whether a job is new for an open task, i.e. not attached to it yet. Always false when the task uses the key of
 * a customer and not that of its connection.
 */
function isNewJob(task: OpenTask, job: Job): boolean {
  return !hasCustomerKey(task) && !sameJob(task.upstream?.job ?? null, job);
}

function remember(connection: string, hookless: number | null): void {
  if (hookless !== null) hooklessTasks.set(connection, hookless);
}
