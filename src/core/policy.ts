import { lookWaitMs } from "./backoff.ts";
import { DAY_MS, SECOND_MS } from "./time.ts";

/**
 * Largest value of `CALLBACK_TIMEOUT_S`, converted to milliseconds. The sender of an attempt goes on without the task's
 * object, and the platform stops it 30 s after it has answered the object; some of these seconds are for the report of
 * the end. Another call is not started when it could delay a planned attempt of the callback (`CLEARANCE_MS` in duties/).
 */
export const MAX_CALLBACK_TIMEOUT_MS = 24 * SECOND_MS;

/**
 * Time in milliseconds for which the sender of an attempt keeps the task's object waiting for the receiver's answer. A
 * later report of the end is a further request of the object, $0.15 per million, and wakes it for about 20 ms, which
 * together cost as much as a wait of 114 ms ($1.60 per second and million). So with about this limit no receiver costs
 * more than twice the least, however long it takes.
 */
export const ANSWER_WAIT_MS = 100;

/** Largest value of `RETENTION_DAYS`, converted to milliseconds. */
export const MAX_RETENTION_MS = 365 * DAY_MS;
/** The longest time from a registration to its deadline, in milliseconds. */
export const MAX_DEADLINE_MS = 365 * DAY_MS;
/**
 * Time by which a deadline is extended, as a fraction of the time from the task's creation to its deadline. The
 * extension is counted from the moment at which it is granted. It is granted at most once, when the upstream is still
 * at work.
 */
export const DEADLINE_EXTENSION = 1 / 4;
/** The longest time for which a task is open, in milliseconds. */
const MAX_OPEN_MS = MAX_DEADLINE_MS * (1 + DEADLINE_EXTENSION);

/**
 * Returns how long the ledger must store the reference of a charge, in milliseconds. A refund may need the reference as
 * long as the task is stored: the longest time that a task can be open, plus `retentionMs`, the time for which an ended
 * task is stored.
 */
export function refundableMs(retentionMs: number): number {
  return MAX_OPEN_MS + retentionMs;
}

/**
 * Everything besides the stored task that decides the effect of an event: the settings of the relay, and what the
 * Durable Object of the task remembers in memory.
 */
export type Policy = Settings & TriedTimes;

/**
 * Times that one instance of a task's object remembers in memory about its work (writes of the index row and polls of
 * the job), in Unix milliseconds. They are not stored, because each poll and each failed write of the row would then
 * cost a write to the storage.
 */
export interface TriedTimes {
  /**
   * Time up to which this instance of the task's object has tried every planned write of the index row. If the index
   * still lacks the present version of the row, these writes have failed.
   */
  readonly indexTriedAt: number;
  /**
   * Time of the latest order to write the index row, if a write has possibly been tried since; 0 when there is no such
   * order. An overdue write counts as planned for this time.
   */
  readonly indexOrderedAt: number;
  /**
   * Newest version of the task's record whose index row this instance of the task's object has written; 0 when it
   * has written none. The version is kept in memory and stored with the next change of the task, because storing
   * it alone would add a write to the storage for each write to the index.
   */
  readonly indexedVersion: number;
  /** Time up to which this instance of the task's object has made or begun every planned poll of the job. */
  readonly polledAt: number;
  /** Time at which this instance of the task's object began its latest poll; 0 when it has begun none. */
  readonly askedAt: number;
  /**
   * Time at which the latest poll of this instance of the task's object ended; 0 when none has ended. A regular poll
   * whose planned time passed during that poll is not made afterwards. Otherwise an upstream that answers slowly or not
   * at all would be polled without a break.
   */
  readonly pollEndedAt: number;
  /**
   * Time before which the job is not polled, because the connection was polled as often as its
   * limit permits; 0 when no poll is deferred. A poll that becomes urgent after `pollDeferredAt` does not wait for
   * this time.
   */
  readonly pollDeferredTo: number;
  /** Time at which the next poll of the job was deferred; 0 when no poll is deferred. */
  readonly pollDeferredAt: number;
  /**
   * Time from which this instance of the task's object can make a call: the end of its latest call or, if later, the
   * time for which the alarm that has woken it was set (the time of its first event if no alarm has woken it). A call
   * that was due earlier counts as starting at this time when it is checked whether the call could delay an attempt of
   * the callback.
   */
  readonly readyAt: number;
}

/** A job with the name of the connection through which it is reached. */
export interface ConnectionJob {
  readonly connection: string;
  readonly job: { readonly id: string; readonly endpoint: string | null };
}

/** The configured times, limits and switches. Durations are in milliseconds. */
export interface Settings {
  /**
   * Waits before the automatic attempts of a callback in milliseconds (`CALLBACK_SCHEDULE_S`, config/variables.ts),
   * each counted from the end of the previous attempt. There are as many attempts as waits. A task may have other waits
   * (record/callback-terms.ts). After the first interrupted attempt a shorter wait is used instead
   * (plans/callback-attempt-plan.ts).
   */
  readonly scheduleMs: readonly number[];
  /**
   * Time in milliseconds from the start of an attempt of the callback after which it counts as interrupted, and delay of
   * the watchdog alarm, which starts the work again after a crash. It is longer than any call.
   */
  readonly watchdogMs: number;
  readonly taskDeadlineMs: number;
  readonly retentionMs: number;
  /**
   * Time in milliseconds from the last change of a settled task to the deletion of its row from the index. A task is
   * settled when it has ended and neither an attempt of its callback nor a refund or release of credits has still to be
   * made.
   */
  readonly indexRetentionMs: number;
  /**
   * Time in milliseconds from the creation of a task to the first write of its row to the index, while the task is open.
   * If the task and its callback end within this time, the row is written only once.
   */
  readonly firstRowDelayMs: number;
  /** The current time in Unix milliseconds while the relay is paused; null otherwise. */
  readonly pausedAt: number | null;
  /**
   * Receivers' hosts to which no callback is sent at present, each with the end of its pause in Unix milliseconds. Empty
   * also when the isolate has not read within the last seconds which hosts are paused.
   */
  readonly pausedHosts: ReadonlyMap<string, number>;
  /** Poll limits by name of the connection, for the connections that can be polled. */
  readonly polls: ReadonlyMap<string, PollLimits>;
  /**
   * Poll limits by name of the connection, for tasks whose job is polled with a key of the customer. The connection
   * itself may have no key.
   */
  readonly customerPolls: ReadonlyMap<string, PollLimits>;
  /** Identifiers of the relay secrets with which the relay can decrypt the stored keys of customers. */
  readonly sealingIds: Pick<ReadonlySet<string>, "has">;
  /**
   * Tells whether the relay can cancel a job: its provider documents how, and the key that the call needs is available.
   * @param hasCustomerKey true when the call uses the customer's key, so that the connection needs no key of its own.
   */
  readonly isCancelable: (job: ConnectionJob, hasCustomerKey: boolean) => boolean;
  /**
   * Largest delay with which a poll finds the result of a job, as a fraction of the job's age. It decides the waits
   * between polls (polls/cadence.ts).
   */
  readonly pollLateness: number;
  /**
   * Time limit of the upstream's answer to a submission, in milliseconds. The outcome of a submission that is not
   * answered in this time is unknown.
   */
  readonly submitTimeoutMs: number;
  /**
   * Time limit of the upstream's answer to a call whose caller does not wait for the answer, in milliseconds.
   */
  readonly asyncTimeoutMs: number;
  /**
   * Time in milliseconds for which a call whose caller does not wait for the answer waits to be sent, unless the caller
   * states a time.
   */
  readonly queueMs: number;
  /**
   * Time in milliseconds that a task waits for news of its job after a submission whose outcome is unknown. Without
   * news the task then fails.
   */
  readonly submitUnknownMs: number;
  /** Settings of the relay's own links to outputs. Null when all results keep the upstream's own links. */
  readonly outputs: OutputLinks | null;
  /**
   * Random number from 0 to 1, chosen by each instance of a Durable Object for itself. It spreads the times at which
   * many tasks do the same, e.g. poll.
   */
  readonly jitter: number;
  /** True when the relay has an index. */
  readonly isIndexed: boolean;
  /** True when the operator has configured a URL for operator notices. */
  readonly isOperatorNotified: boolean;
  /**
   * Kinds of operator notices (messages to the operator about one task) that are not sent, because they are not
   * listed in `OPERATOR_EVENTS`.
   */
  readonly unwantedNotices: ReadonlySet<string>;
}

/** Settings of the relay's own links to outputs, i.e. to the files that tasks have generated. */
export interface OutputLinks {
  /**
   * True when the relay copies outputs. False when it makes links of its own only to those outputs that cannot be
   * fetched without a key.
   */
  readonly areKept: boolean;
  /** Time for which the relay's links to outputs work, in milliseconds. */
  readonly lifeMs: number;
  /**
   * Returns the relay's link to an output. Null when the relay must not fetch the output, e.g. because the URL rules
   * forbid its source; the task then shows the upstream's own link.
   */
  readonly linkTo: (output: LinkableOutput) => string | null;
  /** Returns the relay's link to an output that is in the bucket already. */
  readonly linkToFile: (file: LinkableFile) => string;
}

/** What a link of the relay says about its output. */
interface LinkedPlace {
  readonly taskId: string;
  /** Number of the output: its position in `output.urls`, counted from 1. */
  readonly number: number;
  /** Time from which the relay refuses its own link to the output, in Unix seconds. */
  readonly expiresAtS: number;
  /** Time at which the relay first stored the task, in Unix milliseconds. */
  readonly recordedAt: number;
}

/** An output that is in the bucket already. */
export interface LinkableFile extends LinkedPlace {
  readonly mediaType: string;
}

/** An output for which the relay may make a link. */
export interface LinkableOutput extends LinkedPlace {
  /** The upstream's own link to the output. */
  readonly source: string;
  /** Origin of the relay as the creator of the task addressed it. */
  readonly origin: string;
  /** Name of the connection to the provider; null when the task names none. */
  readonly connection: string | null;
  /**
   * True when somebody other than the upstream may have stated the link (`Provable`, record/upstream.ts). Absent when
   * the upstream itself has stated it.
   */
  readonly isUnproven?: true;
}

/** Limits and properties of a provider that decide how often its jobs are polled. */
export interface PollLimits {
  /**
   * Age of a job in milliseconds from which its expected hook counts as late, so that the job is polled. 0 when polls
   * do not wait for hooks. Null when the provider sends no hooks.
   */
  readonly hookWaitMs: number | null;
  /** Minimum time between two polls of one task, in milliseconds. */
  readonly gapMs: number;
  /**
   * Age of a task in milliseconds from which its job is not polled, because the provider may have forgotten the job.
   * Null when the provider documents no such time.
   */
  readonly maxAgeMs: number | null;
  /** True when a job can be polled by its id alone, without an endpoint. */
  readonly isIdEnough: boolean;
  /**
   * True when the provider's answers show to which task a job belongs, because they contain the task's id or its hook
   * URL. Such an answer cannot be mistaken for the result of another task.
   */
  readonly isTaskNamed: boolean;
  /**
   * True when the provider's answers state the model and the creation time of a job, which show whether the job can be
   * that of a submission.
   */
  readonly isCreationStated: boolean;
}

/**
 * Returns the time from which a poll or an attempt of the callback may start, in Unix milliseconds. It is the planned
 * time. During a pause of the relay it is not earlier than the next check whether the pause is over.
 * @param waitingSince time from which the growing waits between these checks are counted, in Unix milliseconds.
 */
export function startAt(
  dueAt: number,
  { pausedAt, jitter }: Policy,
  waitingSince: number = dueAt,
): number {
  if (pausedAt === null) return dueAt;
  return Math.max(dueAt, pausedAt + lookWaitMs(pausedAt - waitingSince, jitter));
}

/**
 * Returns one wait of a schedule of attempts, in milliseconds. `index` is the position of the wait, from 0. The first
 * attempt of a redelivery needs no wait. For a position beyond the end of the schedule, its last wait is returned.
 * @param isOrdered true for a redelivery, false for the automatic attempts.
 */
export function waitBeforeMs(
  scheduleMs: readonly number[],
  index: number,
  isOrdered: boolean,
): number {
  if (isOrdered && index === 0) return 0;
  return scheduleMs[index] ?? scheduleMs.at(-1) ?? 0;
}
