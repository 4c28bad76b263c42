import { isolateCache } from "../isolate-cache.ts";
import type { KnownKind } from "../objects/connection/duration-book.ts";
import { type ObjectNamespaces, connectionObject } from "../objects/object-names.ts";
import type { Config } from "../config/config.ts";
import type { Poll } from "../core/duties/poll.ts";
import type { AttachEvent } from "../core/events/event.ts";
import { type JobReport, kindOf } from "../core/events/job-report.ts";
import { type Expectation, NOTHING_EXPECTED } from "../core/record/poll-plan.ts";
import { isOpen, type TaskRecord } from "../core/record/task.ts";
import { sameJob } from "../core/record/upstream.ts";
import { SECOND_MS } from "../core/time.ts";
import { withTimeout } from "../timeout.ts";
import { ANSWER_MS, cachedKind, KEPT_MS } from "./kind-cache.ts";

/** The fields that this file reads of an event by which a provider's job is attached to a task. */
export type Attachment = Pick<AttachEvent, "connection" | "job" | "expectation">;

const REPORT_MS = 2 * SECOND_MS;
/**
 * Fraction of the jobs (1 in 24) whose duration is reported to the Durable Object of the connection to the
 * provider, once that object knows enough durations of similar jobs. The same fraction of the hooks that come
 * after the end of their task is reported to it.
 */
const REPORTED_PART = 1 / 24;
const MAX_CONNECTIONS = 1_000;
const NOTHING_KNOWN: KnownKind = { likelyAgesMs: [], missingReports: 0, areHooksMissing: false };

/**
 * Time at which this isolate last reported a hook to the Durable Object of a connection to a provider, in
 * Unix milliseconds, by name of the connection.
 */
const hooksNotedAt = isolateCache<number>(MAX_CONNECTIONS, Infinity);

/**
 * The calls of one task object to the Durable Object of the connection to its provider (a set of
 * credentials), which make the times of polls better. They ask for the durations of similar jobs, report the
 * duration of the task's own job, and ask for permission to poll. A task does not depend on these calls: when
 * one fails or takes too long, the task continues as if no durations and no limit of polls were known.
 */
export class JobKinds {
  readonly #bindings: ObjectNamespaces;
  /**
   * States that this instance of the task object has reported to the Durable Object of the connection that
   * the job ended without the expected hook.
   */
  #isHookMissing = false;

  constructor(bindings: ObjectNamespaces) {
    this.#bindings = bindings;
  }

  /**
   * Returns the given event, which attaches a job to the task, with the durations of similar jobs added. They
   * are asked for only when the task is open, does not have the job yet, and can be polled.
   */
  async expected<Event extends Attachment>(
    event: Event,
    task: TaskRecord | null,
    { polls }: Config,
  ): Promise<Event> {
    if (task === null || !isOpen(task) || !polls.has(event.connection)) return event;
    if (sameJob(task.upstream?.job ?? null, event.job)) return event;
    return { ...event, expectation: await this.#expectationOf(event, task.model) };
  }

  /**
   * Reports the duration of a job, or a hook that came after the end of its task, to the Durable Object of
   * the connection. A hook is always reported when this instance has reported before that none came.
   * Otherwise it is reported if this isolate has reported no hook of the connection for ten minutes, else
   * only in one case of 24, chosen at random: another instance may have reported a missing hook.
   */
  async report(report: JobReport): Promise<void> {
    if (report.end === null && !this.#isNews(report)) return;
    this.#isHookMissing = report.end !== null && report.hasHook === false;
    const object = connectionObject(this.#bindings, report.connection);
    await withTimeout("job report", async () => object.noteJob(report), undefined, REPORT_MS);
  }

  /**
   * Asks the Durable Object of the connection, which counts the polls of all its tasks, for permission to
   * poll now, if the provider limits the polls per minute.
   * @returns the wait in milliseconds before the task may ask again; 0 when the poll may be sent.
   */
  async pollWaitMs(
    { connection, taskId, likelihood }: Poll,
    { connections }: Config,
  ): Promise<number> {
    const perMinute = connections.get(connection)?.pollsPerMinute ?? null;
    if (perMinute === null) return 0;
    const object = connectionObject(this.#bindings, connection);
    const ask = async (): Promise<number> => object.takePollSlot(taskId, likelihood, perMinute);
    return withTimeout("poll slot", ask, 0, ANSWER_MS);
  }

  async #expectationOf(
    { connection, job, expectation = NOTHING_EXPECTED }: Attachment,
    model: string,
  ): Promise<Expectation> {
    const cached = await cachedKind(this.#bindings, connection, kindOf(model, job.endpoint));
    const { likelyAgesMs, areHooksMissing, missingReports } = cached.known ?? NOTHING_KNOWN;
    const isChosen = cached.chosen < missingReports;
    if (isChosen) cached.chosen++;
    return {
      likelyAgesMs,
      isHookExpected: expectation.isHookExpected && !areHooksMissing,
      isReported: isChosen || Math.random() < REPORTED_PART,
    };
  }

  #isNews({ connection }: JobReport): boolean {
    const now = Date.now();
    const isNoted = Math.abs(now - (hooksNotedAt.get(connection) ?? 0)) < KEPT_MS;
    if (isNoted && !this.#isHookMissing && Math.random() >= REPORTED_PART) return false;
    hooksNotedAt.set(connection, now);
    return true;
  }
}
