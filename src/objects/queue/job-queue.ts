import type { QueuePosition } from "../../core/record/queue-stay.ts";
import { planRetry } from "../../core/record/retry.ts";
import type { RefusalClass } from "../../core/record/refusal.ts";
import { MINUTE_MS, SECOND_MS } from "../../core/time.ts";
import { afterProof, afterRefusal, anchored, type CoolDowns, restMs } from "./cool-down.ts";
import {
  HOLD_MS,
  type Holder,
  type PlaceOrder,
  type QueueRow,
  UNREGISTERED_MS,
} from "./queue-row.ts";
import { RecentWaits, type WaitTimes } from "./recent-waits.ts";
import { WaitingLines } from "./waiting-lines.ts";

/** A question for a place of a connection. */
export interface PlaceQuestion extends PlaceOrder {
  /** True when the submission waits if no place is free. */
  readonly mayWait: boolean;
}

/** Answer to the question for a place. */
export type PlaceAnswer =
  | { readonly kind: "granted" }
  | { readonly kind: "waiting" }
  /** As many submissions wait as may. `retryAfterMs` is a wait after which asking again makes sense. */
  | { readonly kind: "full"; readonly retryAfterMs: number }
  /** No place is free, and the submission does not wait. */
  | { readonly kind: "busy"; readonly retryAfterMs: number }
  /** A later attempt of the submission has asked already. */
  | { readonly kind: "stale" };

/** A submission whose task is asked whether it needs its place, with the time at which it is asked again. */
export type Doubt = QueueRow & { readonly state: { readonly kind: "held" } };

/** The refusal of an attempt to send a call, which proves that the attempt has started nothing. */
export interface AttemptRefusal {
  readonly submissionId: string;
  readonly attempt: number;
  readonly refusal: RefusalClass;
  /** Wait that the upstream has stated, in milliseconds. Null when it has stated none. */
  readonly retryAfterMs: number | null;
}

/** The time, and the limits of a connection as they are configured now. */
export interface Moment {
  /** In Unix milliseconds. */
  readonly now: number;
  /**
   * Number of places: `Infinity` without `in_flight`, 0 while a fault disables the connection. Null when the connection
   * was removed: submissions to a pool that wait leave it, and all others are let go, because their tasks fail by
   * themselves.
   */
  readonly places: number | null;
  /** Returns the largest number of submissions addressed to `via` that may wait. */
  readonly mostWaiting: (via: string) => number;
}

/** State of a queue for readers. */
export interface QueueState {
  /** Number of submissions that have a place. */
  readonly held: number;
  readonly waiting: number;
  /** Time since which the first submission has waited, in Unix milliseconds. Null when none waits. */
  readonly oldestSince: number | null;
  /** Waits of the latest grants, at most 1,000. Null when no place was granted. */
  readonly waitMs: WaitTimes | null;
  /** End of the cool-down in which nobody is granted a place, in Unix milliseconds. Null when there is none. */
  readonly coolUntil: number | null;
  /** End of the cool-down in which submissions to a pool are granted no place. Null when there is none. */
  readonly outUntil: number | null;
  /** The accounts with most waiting submissions, at most 20. */
  readonly byAccount: readonly AccountShare[];
}

/** Places and waiting submissions of an account. */
export interface AccountShare {
  /** Null for the operator's own tasks. */
  readonly account: string | null;
  readonly held: number;
  readonly waiting: number;
  /** Time since which its first submission has waited, in Unix milliseconds. */
  readonly oldestSince: number;
}

/** What of a queue is to be stored. */
export interface QueueChanges {
  /** Changed rows by the id of the submission; null when the row is to be deleted. */
  readonly rows: ReadonlyMap<string, QueueRow | null>;
  /** Null when they have not changed. */
  readonly coolDowns: CoolDowns | null;
}

/** Largest number of submissions that wait at one connection, whatever the limits of the pools that it is in. */
const MAX_WAITING = 100_000;
/** Least wait in milliseconds that a refused client is told. */
const RETRY_MS = 5 * SECOND_MS;
/**
 * Longest time in milliseconds until a queue in which submissions wait looks whether a place is free, because the
 * limits may have been changed; and until a grant is repeated whose answer was lost in a crash.
 */
const LOOK_MS = MINUTE_MS;
/** Largest number of tasks that are asked in a minute whether they need their place. */
const ASKS_PER_MINUTE = 20;
const MOST_ACCOUNTS = 20;

/**
 * The submissions that have a place of one connection (a job in flight there), and those that wait for one. All numbers
 * are those of the rows, so that no place is lost by a wrong count. The queue has no clock and calls nobody: its owner
 * stores the changes (`takeChanges`), tells calls that they have a place (`takeGrants`), and asks tasks whether they
 * still need theirs (`takeDoubts`).
 *
 * The next place goes to the account that has fewest, among those to the submission that has waited longest.
 */
export class JobQueue {
  readonly #connection: string;
  readonly #rows = new Map<string, QueueRow>();
  readonly #lines = new WaitingLines();
  /** Ids of the submissions whose calls have not confirmed their place. */
  readonly #granted = new Set<string>();
  readonly #placesBy = new Tally<string | null>();
  readonly #waitingVia = new Tally<string>();
  readonly #waits = new RecentWaits();
  readonly #placesOf = (account: string | null) => this.#placesBy.of(account);
  #coolDowns: CoolDowns;
  /** Number of places that have become free since the upstream has last refused a call because it was busy. */
  #freed = 0;
  #changed = new Map<string, Change>();
  #areCoolDownsChanged = false;
  #dueAt = Infinity;
  #now: number;
  /** Time at which tasks were last asked whether they need their place. */
  #askedAt = -Infinity;

  /** @param connection name of the connection. @param rows stored rows. */
  constructor(connection: string, rows: Iterable<QueueRow>, coolDowns: CoolDowns, now: number) {
    this.#connection = connection;
    this.#coolDowns = anchored(coolDowns, now);
    this.#now = now;
    for (const row of rows) this.#put(row);
  }

  /**
   * Time at which the owner must call `work`, `takeGrants` and `takeDoubts`, in Unix milliseconds, or somewhat earlier.
   * Infinity when nothing is left to do.
   */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** Answers the question of a submission for a place. A repeated question gets the same answer. */
  ask({ mayWait, ...order }: PlaceQuestion, moment: Moment): PlaceAnswer {
    const { submissionId, attempt } = order;
    this.#watchClock(moment);
    const known = this.#rows.get(submissionId);
    if (known !== undefined && known.attempt > attempt) return { kind: "stale" };
    const isRepeated = known?.attempt === attempt;
    if (moment.places === null) this.#letGo(order, moment.now);
    else if (!isRepeated) this.#change({ ...order, state: { kind: "waiting" } });
    this.work(moment);
    const row = this.#rows.get(submissionId);
    if (row === undefined) throw new Error("a submission has left the queue while it asked");
    // A repeated question also makes an answer outdated that the task is about to give (`answerDoubt`).
    if (row.state.kind !== "waiting") this.#hold(row, row.state.at, UNREGISTERED_MS);
    if (row.state.kind !== "waiting") return { kind: "granted" };
    const refusal = isRepeated ? null : this.#refusalOf(row, mayWait, moment);
    if (refusal === null) return { kind: "waiting" };
    this.#remove(row);
    return { kind: refusal, retryAfterMs: Math.max(this.#coolMs(row), RETRY_MS) };
  }

  /**
   * Takes the place from a submission whose call was refused, and begins the cool-down that the refusal demands. The row
   * of an earlier attempt, which a late question has brought back after the refusal was known, only goes.
   */
  refuse({ submissionId, attempt, refusal, retryAfterMs }: AttemptRefusal, moment: Moment): void {
    this.#watchClock(moment);
    const row = this.#rows.get(submissionId);
    if (row === undefined || row.attempt > attempt) return;
    if (row.attempt < attempt) this.#free(row);
    else {
      this.#remove(row);
      if (refusal === "busy") this.#freed = 0;
      this.#cool(afterRefusal(this.#coolDowns, refusal, retryAfterMs, moment.now));
    }
    this.work(moment);
  }

  /**
   * Removes a submission that needs no place any more.
   * @param upTo number of the last attempt that is meant; a later one stays.
   * @param hasRun true when the upstream has accepted the submission with this connection.
   */
  leave(submissionId: string, upTo: number, hasRun: boolean, moment: Moment): void {
    this.#watchClock(moment);
    const row = this.#rows.get(submissionId);
    if (row === undefined || row.attempt > upTo) return;
    if (hasRun && row.state.kind !== "waiting") {
      this.#cool(afterProof(this.#coolDowns, row.state.at));
    }
    this.#free(row);
    this.work(moment);
  }

  /**
   * Applies the answer of a call that was told of its place; null when there was none. A call that is `gone` has given
   * its place back, unless it was told before: then it may have been sent since, and the task knows whether its job
   * runs.
   */
  answerGrant(told: Holder, answer: "taken" | "gone" | null, moment: Moment): void {
    this.#watchClock(moment);
    const row = this.#rows.get(told.submissionId);
    if (row?.attempt !== told.attempt || row.state.kind !== "granted") return;
    const { at, tell } = row.state;
    if (answer === null) {
      this.#put({ ...row, state: { ...row.state, tell: planRetry(tell, moment.now) } });
    } else if (answer === "taken") this.#hold(row, at, HOLD_MS);
    else if (tell.tries > 0) this.#hold(row, at, 0);
    else this.#free(row);
    this.work(moment);
  }

  /**
   * Applies the answer of a task that was asked whether it needs its place; null when there was none. An answer does not
   * count if the submission has asked for its place since, because its task may have been registered meanwhile.
   * @returns true when the place was taken from it.
   */
  answerDoubt(asked: Doubt, isNeeded: boolean | null, moment: Moment): boolean {
    this.#watchClock(moment);
    const row = this.#rows.get(asked.submissionId);
    const isHeld = row?.attempt === asked.attempt && row.state.kind === "held";
    if (!isHeld || row.state.askAt !== asked.state.askAt || isNeeded !== false) return false;
    this.#free(row);
    this.work(moment);
    return true;
  }

  /** Grants the places that are free. */
  work(moment: Moment): void {
    this.#watchClock(moment);
    const { now, places } = moment;
    if (places === null) this.#removeFromPools();
    const isOut = places !== null && restMs(this.#coolDowns.out, now) > 0;
    const mayTake = ({ via }: QueueRow) => !isOut || via === this.#connection;
    while (this.#lines.size > 0 && this.#isFree(places)) {
      const row = this.#lines.next(this.#placesOf, mayTake);
      if (row === null) return;
      this.#change({
        ...row,
        state: { kind: "granted", at: now, tell: { retryAt: now, tries: 0 } },
      });
      this.#freed = Math.max(this.#freed - 1, 0);
    }
  }

  /** Returns where a submission stands in the order of the grants, and why it waits. Null when it does not wait. */
  position(submissionId: string, now: number): QueuePosition | null {
    const row = this.#rows.get(submissionId);
    if (row?.state.kind !== "waiting") return null;
    const cause = this.#coolMs(row, now) > 0 ? "upstream_refused" : "no_place";
    return { position: this.#lines.position(row, this.#placesOf), cause };
  }

  state(now: number): QueueState {
    const { busy, rate, out } = this.#coolDowns;
    const until = (ms: number) => (ms > 0 ? now + ms : null);
    const shares = this.#lines.byAccount().map((line) => {
      return { ...line, held: this.#placesOf(line.account) };
    });
    return {
      held: this.#held,
      waiting: this.#lines.size,
      oldestSince: this.#lines.oldestSince(),
      waitMs: this.#waits.times(),
      coolUntil: until(Math.max(restMs(busy, now), restMs(rate, now))),
      outUntil: until(restMs(out, now)),
      byAccount: shares.toSorted((a, b) => b.waiting - a.waiting).slice(0, MOST_ACCOUNTS),
    };
  }

  /** Returns what has changed since the last call of this method. */
  takeChanges(): QueueChanges {
    const changes = [...this.#changed].filter(([, { isStored, row }]) => isStored || row !== null);
    const rows = new Map(changes.map(([id, { row }]) => [id, row]));
    const coolDowns = this.#areCoolDownsChanged ? this.#coolDowns : null;
    this.#changed = new Map();
    this.#areCoolDownsChanged = false;
    return { rows, coolDowns };
  }

  /** Returns the submissions whose calls are to be told now that they have a place. */
  takeGrants(now: number): readonly Holder[] {
    return Array.from(this.#granted).flatMap((id) => {
      const row = this.#rows.get(id);
      if (row?.state.kind !== "granted" || row.state.tell.retryAt > now) return [];
      const tell = { ...row.state.tell, retryAt: now + LOOK_MS };
      this.#put({ ...row, state: { ...row.state, tell } });
      return row;
    });
  }

  /**
   * Returns the submissions whose tasks are to be asked now whether they need their place, the oldest first, and finds
   * the time of `dueAt` anew.
   */
  takeDoubts(now: number): readonly Doubt[] {
    const doubts = now - this.#askedAt >= MINUTE_MS ? this.#doubts(now) : [];
    if (doubts.length > 0) this.#askedAt = now;
    for (const row of doubts) this.#put(row);
    this.#dueAt = Infinity;
    for (const row of this.#rows.values()) this.#expect(row);
    return doubts;
  }

  #doubts(now: number) {
    return Array.from(this.#rows.values())
      .flatMap(({ state, ...row }) => {
        return state.kind === "held" && state.askAt <= now ? { ...row, state } : [];
      })
      .toSorted((a, b) => a.state.askAt - b.state.askAt)
      .slice(0, ASKS_PER_MINUTE)
      .map((row): Doubt => ({ ...row, state: { ...row.state, askAt: now + HOLD_MS } }));
  }

  get #held(): number {
    return this.#rows.size - this.#lines.size;
  }

  #isFree(places: number | null): boolean {
    if (places === null) return true;
    const { busy, rate } = this.#coolDowns;
    if (this.#held >= places || restMs(rate, this.#now) > 0) return false;
    return this.#freed > 0 || restMs(busy, this.#now) === 0;
  }

  /** Returns why a submission that has just entered the queue may not wait; null when it may. */
  #refusalOf({ attempt, via }: QueueRow, mayWait: boolean, { mostWaiting }: Moment) {
    if (!mayWait) return "busy";
    // A submission whose call was refused has waited before, and keeps its right to.
    if (attempt > 1) return null;
    const isFull = this.#lines.size > MAX_WAITING || this.#waitingVia.of(via) > mostWaiting(via);
    return isFull ? "full" : null;
  }

  /** Returns for how long cool-downs keep a submission from getting a place, in milliseconds. */
  #coolMs({ via }: QueueRow, now = this.#now): number {
    const { busy, rate, out } = this.#coolDowns;
    const counting = [busy, rate, via === this.#connection ? null : out];
    return Math.max(...counting.map((coolDown) => restMs(coolDown, now)));
  }

  #cool(coolDowns: CoolDowns): void {
    if (coolDowns === this.#coolDowns) return;
    this.#coolDowns = coolDowns;
    this.#areCoolDownsChanged = true;
    const ofAll = Math.max(restMs(coolDowns.busy, this.#now), restMs(coolDowns.rate, this.#now));
    if (ofAll > 0 && this.#lines.size > 0) this.#dueAt = Math.min(this.#dueAt, this.#now + ofAll);
  }

  /** Shortens all waits when the clock was put back, because they would then be too long. */
  #watchClock({ now }: Moment): void {
    const isPutBack = now < this.#now;
    this.#now = now;
    if (!isPutBack) return;
    this.#coolDowns = anchored(this.#coolDowns, now);
    this.#askedAt = -Infinity;
    this.#dueAt = Infinity;
    const rows = Array.from(this.#rows.values(), (row) => shortened(row, now));
    for (const row of rows) this.#put(row);
  }

  /** Lets a submission have its place for `ms` milliseconds before its task is asked. Nothing needs to be stored. */
  #hold(row: QueueRow, at: number, ms: number): void {
    const held: QueueRow = { ...row, state: { kind: "held", at, askAt: this.#now + ms } };
    this.#put(held);
    const change = this.#changed.get(row.submissionId);
    if (change !== undefined) this.#changed.set(row.submissionId, { ...change, row: held });
  }

  #free(row: QueueRow): void {
    if (row.state.kind !== "waiting") this.#freed++;
    this.#remove(row);
  }

  /**
   * Gives a submission that asks a place, unless it has one: who asks has a newer configuration with the connection, or
   * lets the call fail because all its connections were removed.
   */
  #letGo(order: PlaceOrder, now: number): void {
    const known = this.#rows.get(order.submissionId);
    if (known?.attempt === order.attempt && known.state.kind !== "waiting") return;
    this.#change({ ...order, state: { kind: "held", at: now, askAt: now + UNREGISTERED_MS } });
  }

  /** Removes the submissions to pools that wait, because they wait at the other members too. */
  #removeFromPools(): void {
    for (const row of this.#rows.values()) {
      if (row.state.kind === "waiting" && row.via !== this.#connection) this.#remove(row);
    }
  }

  #remove({ submissionId }: QueueRow): void {
    this.#note(submissionId, null);
    this.#take(submissionId);
  }

  #change(row: QueueRow): void {
    this.#note(row.submissionId, row);
    this.#put(row);
  }

  #note(id: string, row: QueueRow | null): void {
    const isStored = this.#changed.get(id)?.isStored ?? this.#rows.has(id);
    this.#changed.set(id, { isStored, row });
  }

  #put(row: QueueRow): void {
    const hadPlace = (this.#rows.get(row.submissionId)?.state.kind ?? "waiting") !== "waiting";
    if (row.state.kind !== "waiting" && !hadPlace) this.#waits.add(row.state.at - row.since);
    this.#take(row.submissionId);
    this.#rows.set(row.submissionId, row);
    this.#count(row, 1);
    if (row.state.kind === "waiting") this.#lines.add(row);
    if (row.state.kind === "granted") this.#granted.add(row.submissionId);
    this.#expect(row);
  }

  #take(id: string): void {
    const row = this.#rows.get(id);
    if (row === undefined) return;
    this.#rows.delete(id);
    this.#count(row, -1);
    if (row.state.kind === "waiting") this.#lines.remove(row);
    this.#granted.delete(id);
  }

  #count({ account, via, state }: QueueRow, change: 1 | -1): void {
    if (state.kind === "waiting") this.#waitingVia.add(via, change);
    else this.#placesBy.add(account, change);
  }

  /** Makes `dueAt` not later than the time at which this row needs something. */
  #expect(row: QueueRow): void {
    this.#dueAt = Math.min(this.#dueAt, this.#dueAtOf(row));
  }

  #dueAtOf(row: QueueRow): number {
    const { state } = row;
    switch (state.kind) {
      case "waiting": {
        const coolMs = this.#coolMs(row);
        return this.#now + (coolMs > 0 ? Math.min(coolMs, LOOK_MS) : LOOK_MS);
      }
      case "granted":
        // A call that is to be told now is told without an alarm.
        return state.tell.retryAt > this.#now ? state.tell.retryAt : this.#now + LOOK_MS;
      case "held":
        return Math.max(state.askAt, this.#askedAt + MINUTE_MS);
    }
  }
}

/** Counts of things by a name. */
class Tally<Name> {
  readonly #counts = new Map<Name, number>();

  of(name: Name): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: Name, change: 1 | -1): void {
    const count = this.of(name) + change;
    if (count === 0) this.#counts.delete(name);
    else this.#counts.set(name, count);
  }
}

/** A change of a row; null when it is removed. */
interface Change {
  /** True when the row is stored as it was before. */
  readonly isStored: boolean;
  readonly row: QueueRow | null;
}

/** Returns a row of which nothing is due later than if it had been granted now. */
function shortened(row: QueueRow, now: number): QueueRow {
  const { state } = row;
  switch (state.kind) {
    case "waiting":
      return row;
    case "granted": {
      const tell = { ...state.tell, retryAt: Math.min(state.tell.retryAt, now + LOOK_MS) };
      return { ...row, state: { ...state, at: Math.min(state.at, now), tell } };
    }
    case "held": {
      const askAt = Math.min(state.askAt, now + HOLD_MS);
      return { ...row, state: { ...state, at: Math.min(state.at, now), askAt } };
    }
  }
}
