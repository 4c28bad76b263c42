import QuickLRU from "quick-lru";
import type { KnownKind } from "../account/duration-book.ts";
import { type AccountBindings, connectionObject } from "../account/object-names.ts";
import type { Config } from "../config/config.ts";
import type { Poll } from "../core/duties/poll.ts";
import type { AttachEvent } from "../core/events/event.ts";
import { type JobReport, kindOf } from "../core/events/job-report.ts";
import type { Expectation } from "../core/record/poll-plan.ts";
import { isOpen, type TaskRecord } from "../core/record/task.ts";
import { sameJob } from "../core/record/upstream.ts";
import { SECOND_MS } from "../core/time.ts";
import { withTimeout } from "../timeout.ts";
import { ANSWER_MS, cachedKind, KEPT_MS } from "./kind-cache.ts";

/** The part of an attachment that this file reads. */
export type Attachment = Pick<AttachEvent, "connection" | "job" | "expectation">;

const REPORT_MS = 2 * SECOND_MS;
/** Part of the jobs of a known kind, and of the hooks after the end of a task, that are reported. */
const REPORTED_PART = 1 / 24;
const MAX_CONNECTIONS = 1_000;
const NOTHING_KNOWN: KnownKind = { likelyAgesMs: [], missingReports: 0, areHooksMissing: false };

/** Times at which this isolate last reported that a hook of a connection had come, in Unix milliseconds. */
const hooksNotedAt: Map<string, number> = new QuickLRU({ maxSize: MAX_CONNECTIONS });

/**
 * The calls of one task object to the object of its connection that make polls better: what is known of the
 * kind of its job, the report of its end, and the permission to poll. Nothing depends on them: a call that
 * fails or takes longer than 300 ms is as if nothing was known and nothing limited.
 */
export class JobKinds {
  readonly #bindings: AccountBindings;
  /** States that this instance reported the end of the job without a hook. */
  #isHookMissing = false;

  constructor(bindings: AccountBindings) {
    this.#bindings = bindings;
  }

  /**
   * Returns an attachment together with what is known of the kind of its job. It is asked for only when the
   * job is new to an open task and can be polled.
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
   * Sends a report. That a hook came is sent when this instance has reported that none came; otherwise by one
   * task in 24, as often as the ends of jobs that another instance may have reported without a hook, and at
   * least every ten minutes.
   */
  async report(report: JobReport): Promise<void> {
    if (report.end === null && !this.#isNews(report)) return;
    this.#isHookMissing = report.end !== null && report.hasHook === false;
    const object = connectionObject(this.#bindings, report.connection);
    await withTimeout("job report", async () => object.noteJob(report), undefined, REPORT_MS);
  }

  /**
   * Asks for the permission to poll now, where the polls per minute of the connection are limited.
   * @returns the wait before the next request in milliseconds; 0 when the poll may be made.
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
    { connection, job, expectation }: Attachment,
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
