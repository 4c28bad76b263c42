import { CallbackDigest } from "./callback-digest.ts";
import { EndedSessions } from "./ended-sessions.ts";
import { type AlertKind, FailureTracker } from "./failure-tracker.ts";
import type { JobReport } from "../core/events/job-report.ts";
import { DurationBook, type KnownKind } from "./duration-book.ts";
import { JurisdictionMarker } from "./jurisdiction-marker.ts";
import { ListenMethods } from "./listen-methods.ts";
import { PollSlots } from "./poll-slots.ts";
import { type NotedAnswer, type UnclearAnswer, UnclearAnswers } from "./unclear-answers.ts";

/** Faults of a connection (a set of credentials for a provider) that `/healthz` shows. */
export interface ConnectionState {
  /** Time at which the provider last refused the API key, in Unix milliseconds; null when it never did. */
  readonly keyRefusedAt: number | null;
  /**
   * True when each of the last 20 tasks of the connection that expected a hook, and reported on its job,
   * got none.
   */
  readonly areHooksMissing: boolean;
  /**
   * The last answer of the provider, when it was polled, that the relay did not understand; null when there
   * was none.
   */
  readonly unclear: NotedAnswer | null;
}

/**
 * Methods of `AccountObject` for the objects that belong to no account: those of a connection, of a
 * receiver's host, and of the deployment.
 */
export abstract class FailureMethods extends ListenMethods {
  protected readonly failures = new FailureTracker(this.ctx.storage);
  protected readonly digest = new CallbackDigest(this.ctx.storage);
  readonly #durations = new DurationBook(this.ctx.storage.kv);
  readonly #slots = new PollSlots();
  readonly #unclear = new UnclearAnswers(this.ctx.storage.kv);
  readonly #sessions = new EndedSessions(this.ctx.storage.kv);
  readonly #marker = new JurisdictionMarker(this.ctx.storage.kv);

  /**
   * Stores that the provider refused the API key of this object's connection.
   * @returns true when the caller is to alert the operator: at most once an hour.
   */
  noteRefusedKey(): boolean {
    return this.failures.noteRefusedKey(Date.now());
  }

  /**
   * Returns the faults of this object's connection for `/healthz`: the last refusal of the API key, whether
   * hooks are missing, and the last answer that the relay did not understand.
   */
  connectionState(): ConnectionState {
    const areHooksMissing = this.#durations.areHooksMissing();
    const unclear = this.#unclear.last();
    return { keyRefusedAt: this.failures.refusedAt(), areHooksMissing, unclear };
  }

  /**
   * Stores an answer that the provider of this object's connection gave when it was polled and that the
   * relay did not understand, at most one an hour.
   */
  noteUnclear(answer: UnclearAnswer): void {
    this.#unclear.note(answer, Date.now());
  }

  /** Returns how long jobs of one kind take at this object's connection, and whether its hooks come. */
  knownKind(kind: string): KnownKind {
    return this.#durations.known(kind);
  }

  /**
   * Stores a task's report about its job at this connection: how long the job took, and whether a hook came.
   * The polls of later jobs are planned from these reports.
   */
  noteJob(report: JobReport): void {
    this.#durations.add(report);
  }

  /**
   * Asks for the permission to poll a job of this object's connection now; see `PollSlots.take`.
   * @returns 0 when the poll may be made, else the wait before the next request in milliseconds.
   */
  takePollSlot(taskId: string, likelihood: number, perMinute: number): number {
    return this.#slots.take(taskId, likelihood, perMinute, Date.now());
  }

  /**
   * Counts failed callback attempts at the receiver's host to which this object belongs.
   * @returns true when the caller is to alert the operator: after 10 failures in 10 minutes, at most once an
   * hour.
   */
  async noteFailure(count = 1): Promise<boolean> {
    const isAlertDue = this.failures.noteFailure(Date.now(), count);
    await this.failures.scheduleErasure();
    return isAlertDue;
  }

  /**
   * Adds a task to the digest of callbacks to this object's host that have failed.
   * @returns always true, so that the caller can tell a stored task from a call that failed.
   */
  async noteFailedCallback(host: string, taskId: string, periodMs: number): Promise<true> {
    await this.digest.add(host, taskId, periodMs, Date.now());
    return true;
  }

  /**
   * Reserves the right to alert the operator of a fault of the index, e.g. that it is almost full.
   * @returns true when the caller is to send the alert, because none of this kind was sent within the last
   * hour.
   */
  claimAlertSlot(kind?: AlertKind): boolean {
    return this.failures.claimAlertSlot(Date.now(), kind);
  }

  /** Stores the jurisdiction of the deployment's first request. @returns the stored one, new or older. */
  claimJurisdiction(jurisdiction: string): string {
    return this.#marker.claim(jurisdiction);
  }

  /**
   * Ends a session of the console before its time, because somebody has logged out.
   * @param until time at which the session would have expired, in Unix milliseconds.
   */
  endSession(id: string, until: number): void {
    this.#sessions.end(id, until, Date.now());
  }

  isSessionEnded(id: string, until: number): boolean {
    return this.#sessions.isEnded(id, until);
  }
}
