import { retryable } from "cloudflare:durable-objects";
import { DurableObject } from "cloudflare:workers";
import pMap from "p-map";
import type { Config } from "../../config/config.ts";
import { configOf, type WithStartup } from "../../config/runtime.ts";
import type { QueuePosition } from "../../core/record/queue-stay.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { errorText, log } from "../../lib/log.ts";
import { answerWithin } from "../../lib/timeout.ts";
import { objectNamed } from "../placed-object.ts";
import {
  type AttemptRefusal,
  type Doubt,
  JobQueue,
  type Moment,
  type PlaceAnswer,
  type PlaceQuestion,
  type QueueState,
} from "./job-queue.ts";
import type { GrantAnswer, GrantedPlace, HeldPlace, Holder } from "./queue-row.ts";
import { RowTable } from "./row-table.ts";

/**
 * The method of the object of a call that the queue calls. It is declared here, because importing the class would make
 * the two files import each other.
 */
interface GrantedCall extends Rpc.DurableObjectBranded {
  /** Tells a call that it has a place. */
  grant: (place: GrantedPlace) => GrantAnswer | Promise<GrantAnswer>;
}

/** The method of a task's object that the queue calls. */
interface QueuedTask extends Rpc.DurableObjectBranded {
  /** Tells whether the job of this submission runs at this connection, or may run there. */
  holdsPlace: (place: HeldPlace) => boolean;
}

/** Bindings of the environment that a queue uses. */
export interface QueueBindings extends WithStartup {
  readonly CALLS: DurableObjectNamespace<GrantedCall>;
  readonly TASKS: DurableObjectNamespace<QueuedTask>;
}

const CALL_TIMEOUT_MS = 5 * SECOND_MS;
/** Tells or asks each of many objects, at most 50 at the same time, also after one of them has failed. */
const EACH = { concurrency: 50, stopOnError: false } as const;

/**
 * Durable Object with the places of one connection (`in_flight`) and the submissions that wait for one. It is named
 * after the connection (binding `QUEUES`). A connection without `in_flight` has a queue only as a member of a pool, and
 * a pool itself has none: its submissions wait at all members at once.
 *
 * Stores a row for each submission (table `places`), the cool-downs after refusals (`cool_downs`), and an alarm for the
 * next grant, repetition or question. The rows are in memory from the first call on; `job-queue.ts` decides.
 *
 * The sender of a call asks for its place, and reports each refusal (`ask`, `refuse`). The sender is the object of the
 * call (objects/call), or the Worker whose caller waits. The task's object says when the task needs no place any more
 * (`leave`), which core/plans/queue-places.ts decides. The queue tells the object of a waiting call that it has got a
 * place, and asks the task's object whether an old place is needed.
 */
export class QueueObject extends DurableObject<QueueBindings> {
  static {
    // The platform may repeat these calls after a lost connection, because a repetition changes nothing.
    for (const name of ["ask", "refuse", "leave", "position", "state"] as const)
      retryable(this.prototype[name]);
  }

  #loaded: { readonly queue: JobQueue; readonly table: RowTable } | null = null;
  /** Time of the alarm, as far as this instance has set it. */
  #alarmAt = Infinity;

  /** Asks for a place for a submission. The answer to a repeated question is the same. */
  ask(question: PlaceQuestion): PlaceAnswer {
    return this.#change((queue, moment) => queue.ask(question, moment));
  }

  /** Takes the place back from an attempt that the upstream has refused. @returns always true. */
  refuse(refused: AttemptRefusal): true {
    return this.#change((queue, moment) => {
      queue.refuse(refused, moment);
      return true;
    });
  }

  /**
   * Removes a submission that waits, or needs its place no longer.
   * @param upTo number of the last attempt that is meant; by default any.
   * @param hasRun true when the upstream has accepted the submission with this connection.
   * @returns always true. A caller that gets it knows that this is stored.
   */
  leave(submissionId: string, upTo = Infinity, hasRun = false): true {
    return this.#change((queue, moment) => {
      queue.leave(submissionId, upTo, hasRun, moment);
      return true;
    });
  }

  /** Returns where a waiting submission stands in the order of the grants. Null when it does not wait. */
  position(submissionId: string): QueuePosition | null {
    return this.#load().queue.position(submissionId, Date.now());
  }

  /** Returns how many places are taken, who waits, and which cool-downs there are. */
  state(): QueueState {
    return this.#load().queue.state(Date.now());
  }

  /**
   * Grants what is free, repeats grants that were not answered, and asks tasks whether they need their places. When this
   * fails, another alarm follows after a minute.
   */
  override async alarm(): Promise<void> {
    this.#alarmAt = Infinity;
    try {
      const doubts = this.#change((queue, moment) => {
        queue.work(moment);
        return queue.takeDoubts(moment.now);
      });
      await pMap(doubts, (holder) => this.#askTask(holder), EACH);
    } catch (error) {
      this.#logFailure(error);
      this.#setAlarm(Date.now() + MINUTE_MS);
    }
  }

  /** Changes the queue, stores the changes, and begins to tell the calls that have got a place. */
  #change<T>(change: (queue: JobQueue, moment: Moment) => T): T {
    const { queue, table } = this.#load();
    try {
      const moment = this.#moment();
      const result = change(queue, moment);
      const grants = queue.takeGrants(moment.now);
      table.store(queue.takeChanges());
      this.#setAlarm(queue.dueAt);
      if (grants.length > 0) this.ctx.waitUntil(this.#tellAll(grants));
      return result;
    } catch (error) {
      // What is in memory may not be stored.
      this.#loaded = null;
      throw error;
    }
  }

  /** Reads the rows, when this instance has not done so yet. */
  #load() {
    if (this.#loaded !== null) return this.#loaded;
    const now = Date.now();
    const table = new RowTable(this.ctx.storage);
    const queue = new JobQueue(this.#connection, table.rows(now), table.coolDowns(), now);
    this.#loaded = { queue, table };
    return this.#loaded;
  }

  #moment(): Moment {
    const config = configOf(this.env);
    if (config === null) throw new Error("the configuration is not valid");
    const { connections } = config;
    return {
      now: Date.now(),
      places: placesOf(this.#connection, config),
      // A name that takes no new submissions limits nobody who has waited before.
      mostWaiting: (via) => connections.get(via)?.queueLimit ?? Infinity,
    };
  }

  /** Sets the alarm, unless an earlier one is set. */
  #setAlarm(dueAt: number): void {
    if (dueAt >= this.#alarmAt) return;
    this.#alarmAt = dueAt;
    void this.ctx.storage.setAlarm(dueAt);
  }

  async #tellAll(grants: readonly Holder[]): Promise<void> {
    const tell = (holder: Holder) => this.#tell(holder);
    await pMap(grants, tell, EACH).catch((error) => this.#logFailure(error));
  }

  /** Tells the object of a call that it has a place. */
  async #tell(holder: Holder): Promise<void> {
    const place = { connection: this.#connection, attempt: holder.attempt };
    const call = objectNamed(this.env.CALLS, holder.submissionId, this.env);
    const answer = await this.#answered<GrantAnswer>(holder, async () => call.grant(place));
    this.#change((queue, moment) => queue.answerGrant(holder, answer, moment));
  }

  /** Asks the object of a task whether it needs its place, and takes the place from it if it does not. */
  async #askTask(holder: Doubt): Promise<void> {
    const { submissionId, taskId, attempt } = holder;
    const task = objectNamed(this.env.TASKS, taskId, this.env);
    const place = { submissionId, connection: this.#connection, attempt };
    const isNeeded = await this.#answered<boolean>(holder, async () => task.holdsPlace(place));
    const isFreed = this.#change((queue, moment) => queue.answerDoubt(holder, isNeeded, moment));
    if (isFreed) {
      const line = { connection: this.#connection, task_id: taskId, submission: submissionId };
      log({ event: "queue.place_freed", ...line }, "warn");
    }
  }

  /** Calls another object. Returns null when it cannot be reached. */
  #answered<T>({ taskId }: Holder, call: () => Promise<T>): Promise<T | null> {
    const line = { event: "queue.unreached", connection: this.#connection, task_id: taskId };
    return answerWithin(CALL_TIMEOUT_MS, line, call);
  }

  #logFailure(error: unknown): void {
    const name = this.ctx.id.name ?? null;
    log({ event: "queue.failed", object: name, error: errorText(error) }, "error");
  }

  /** Name of the connection, after which this object is named. */
  get #connection(): string {
    const { name } = this.ctx.id;
    if (name === undefined) throw new Error("a queue needs the name of its connection");
    return name;
  }
}

/** Returns how many places a connection has (`Moment.places`). */
function placesOf(name: string, { connections, disabledConnections }: Config): Moment["places"] {
  const own = connections.get(name);
  if (own !== undefined) return own.inFlight ?? Infinity;
  return disabledConnections.some((disabled) => disabled.name === name) ? 0 : null;
}
