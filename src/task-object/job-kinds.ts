import { RecentMap } from "../recent-map.ts";
import type { KnownKind } from "../account/duration-book.ts";
import { type AccountBindings, connectionObject } from "../account/object-names.ts";
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

/** The fields of an event that attaches a provider's job to a task which this file reads. */
export type Attachment = Pick<AttachEvent, "connection" | "job" | "expectation">;

const REPORT_MS = 2 * SECOND_MS;
/**
 * Fraction of the jobs whose duration is sent to the object of their connection once it knows enough of
 * similar jobs. The same fraction of the hooks that come after the end of a task is sent to it.
 */
const REPORTED_PART = 1 / 24;
const MAX_CONNECTIONS = 1_000;
const NOTHING_KNOWN: KnownKind = { likelyAgesMs: [], missingReports: 0, areHooksMissing: false };

/**
 * Time at which this isolate last reported to the object of a connection that a hook had come, in Unix
 * milliseconds, by name of the connection.
 */
const hooksNotedAt = new RecentMap<number>(MAX_CONNECTIONS);

/**
 * The calls of one task object to the Durable Object of its connection to a provider, which improve the times
 * of polls. They ask for the durations of similar jobs, send the duration of the own job, and ask for
 * permission to poll. A task does not depend on these calls: when one fails or takes too long, the task
 * continues as if no durations and no limit of polls were known.
 */
export class JobKinds {
  readonly #bindings: AccountBindings;
  /**
   * States that this instance has reported to the object of the connection that the job ended without the
   * expected hook.
   */
  #isHookMissing = false;

  constructor(bindings: AccountBindings) {
    this.#bindings = bindings;
  }

  /**
   * Returns an event that attaches a job, with the durations of similar jobs added. They are asked for only
   * when the task is open, does not have the job yet, and can be polled.
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
   * Sends the duration of a job, or the fact that a hook came, to the object of the connection. That a hook
   * came is always sent when this instance has reported before that none came. Otherwise it is sent at least
   * every ten minutes and by one task in 24, because another instance may have made such a report.
   */
  async report(report: JobReport): Promise<void> {
    if (report.end === null && !this.#isNews(report)) return;
    this.#isHookMissing = report.end !== null && report.hasHook === false;
    const object = connectionObject(this.#bindings, report.connection);
    await withTimeout("job report", async () => object.noteJob(report), undefined, REPORT_MS);
  }

  /**
   * Asks the object of the connection for permission to poll now, if the provider limits the polls per
   * minute.
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
