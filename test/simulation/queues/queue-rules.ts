import { type Deployment, placesOf } from "./setting.ts";
import * as z from "zod";
import { HOUR, MINUTE, SECOND } from "../../core/builders.ts";
import { coolDownOf, coolDownsOf, rowsOf, type StoredRow } from "./facts.ts";
import type { Place } from "./machine.ts";

type Report = (rule: string, detail: string) => void;
/** Tells whether a job of a submission runs at a connection, or its call may still start one. */
type IsRunning = (row: StoredRow, connection: string) => boolean;

/** What a question for a place and a report of a refusal have. */
const Named = z.object({
  submissionId: z.string(),
  attempt: z.number(),
  mayWait: z.boolean().default(true),
});

/** Returns about which attempts of which submission a method of a queue is called. */
export function namedIn([first, upTo]: readonly unknown[]) {
  const { data } = Named.safeParse(first);
  if (data !== undefined) return { ...data, id: data.submissionId };
  const attempt = typeof upTo === "number" ? upTo : Infinity;
  return { id: String(first), attempt, mayWait: true };
}

const LATER = "what is about an earlier attempt changes nothing";

/** Returns the promise that an order to leave, or the report of a refusal, has broken; null when it has broken none. */
function brokenByEnd(_: StoredRow | undefined, row: StoredRow | undefined, attempt: number) {
  const isGone = row === undefined || row.attempt > attempt;
  return isGone ? null : "who leaves a queue or is refused has no row there";
}

/** Does the same for a question for a place. */
function brokenByAsk(
  known: StoredRow | undefined,
  row: StoredRow | undefined,
  attempt: number,
  mayWait: boolean,
) {
  const isRepeated = known?.attempt === attempt && !known.isWaiting;
  if (isRepeated && row?.isWaiting !== false) return "a repeated question changes no place";
  const isLeft = known === undefined && row?.isWaiting === true;
  return isLeft && !mayWait ? "who does not wait has no row" : null;
}

/** The longest cool-downs by their cause, in milliseconds. */
const LONGEST_MS = [
  ["busy", 15 * SECOND],
  ["rate", MINUTE],
  ["out", 6 * HOUR],
] as const;

/** Checks each stored change of a queue: how many places are given, to whom, and that none stays unused. */
export class QueueRules {
  readonly #report: Report;
  readonly #known = new Map<Place, readonly StoredRow[]>();
  readonly #observe: (what: string) => void;

  readonly #isRunning: IsRunning;

  constructor(report: Report, observe: (what: string) => void, isRunning: IsRunning) {
    this.#report = report;
    this.#isRunning = isRunning;
    this.#observe = observe;
  }

  /** Takes note of the rows of a queue after a change. */
  check(place: Place, { config }: Deployment, now: number): void {
    const before = this.#known.get(place) ?? [];
    const rows = rowsOf(place);
    if (isSame(before, rows)) return;
    this.#known.set(place, rows);
    this.#checkCoolDowns(place);
    const held = rows.filter(({ isWaiting }) => !isWaiting);
    const granted = held.filter((row) => !before.some((known) => isGrantOf(known, row)));
    this.#checkFreed(place, before, held);
    const places = placesOf(place.name, config);
    if (places === null) return this.#checkRemoved(place, granted);
    if (granted.length > 0) this.#observe("a place is granted");
    if (granted.length > 0 && held.length > places) {
      this.#report("no place is granted above the limit", `${held.length} of ${places}`);
    }
    const { all, ofPools } = coolDownsOf(place, now);
    const mayTake = (row: StoredRow) => row.isWaiting && !(ofPools && row.via !== place.name);
    const waiting = rows.filter(mayTake);
    if (waiting.length > 0 && !all && held.length < places) {
      this.#report("a free place is granted at once", `${held.length} of ${places} are held`);
    }
    for (const row of granted) this.#checkOrder(row, granted, held, waiting);
    const most = (via: string) => config.connections.get(via)?.queueLimit ?? Infinity;
    this.#checkLimits(before, rows, most);
  }

  /** Requires that of those who wait only they get a place of a removed connection whose tasks are to fail. */
  #checkRemoved({ name }: Place, granted: readonly StoredRow[]): void {
    const other = granted.find(({ via, isTold }) => isTold && via !== name);
    if (other === undefined) return;
    const promise = "a connection that was removed takes no submission to a pool";
    this.#report(promise, `${other.submissionId} at ${name}`);
  }

  /** Requires that no submission that may have a job has lost its place. */
  #checkFreed(place: Place, before: readonly StoredRow[], held: readonly StoredRow[]): void {
    for (const row of before) {
      if (row.isWaiting || held.some((each) => each.submissionId === row.submissionId)) continue;
      this.#observe("a place becomes free");
      if (!this.#isRunning(row, place.name)) continue;
      this.#report("a job that may run keeps its place", `${row.submissionId} at ${place.name}`);
    }
  }

  /** Requires that no submission has begun to wait beyond the limit of the name to which it is addressed. */
  #checkLimits(
    before: readonly StoredRow[],
    rows: readonly StoredRow[],
    most: (via: string) => number,
  ): void {
    const waiting = rows.filter((row) => row.isWaiting);
    const known = new Set(before.map(({ submissionId }) => submissionId));
    for (const { via, attempt, submissionId } of waiting) {
      const isNew = !known.has(submissionId);
      // A submission whose call was refused has waited before.
      if (!isNew || attempt > 1) continue;
      const alike = waiting.filter((row) => row.via === via).length;
      if (alike > most(via)) {
        this.#report("no more submissions wait than may", `${alike} of ${most(via)}`);
      }
    }
  }

  /**
   * Takes note of the rows of a queue before one of its methods is called.
   * @returns function that checks what the method has changed.
   */
  checkCall(place: Place, method: string, given: readonly unknown[]): () => void {
    const { id, attempt, mayWait } = namedIn(given);
    const rowOf = () => rowsOf(place).find(({ submissionId }) => submissionId === id);
    const known = rowOf();
    return () => {
      const broken = method === "ask" ? brokenByAsk : brokenByEnd;
      const isLater = known !== undefined && known.attempt > attempt;
      const row = rowOf();
      const isLost = isLater && row?.attempt !== known.attempt;
      const promise = isLost ? LATER : broken(known, row, attempt, mayWait);
      if (promise !== null) this.#report(promise, `${id} at ${place.name}`);
    };
  }

  #checkCoolDowns(place: Place): void {
    for (const [name, longestMs] of LONGEST_MS) {
      const coolDown = coolDownOf(place, name);
      const ms = coolDown === null ? 0 : coolDown.until - coolDown.at;
      if (coolDown !== null) this.#observe(`a cool-down: ${name}`);
      // Refusals during a cool-down make it longer.
      if (ms > 2 * longestMs) {
        this.#report("a cool-down has its time", `${name} (${ms} ms)`);
      }
    }
  }

  /** Requires that nobody who waits should have got the place of this row. */
  #checkOrder(
    row: StoredRow,
    granted: readonly StoredRow[],
    held: readonly StoredRow[],
    waiting: readonly StoredRow[],
  ): void {
    const placesHeldBy = (account: string | null) =>
      held.filter((each) => each.account === account).length;
    for (const other of waiting) {
      const places = placesHeldBy(row.account) - 1;
      const others = placesHeldBy(other.account);
      if (row.account === other.account) {
        if (!isEarlier(row, other)) this.#unfair(row, other);
      } else if (places > others) this.#unfair(row, other);
      else if (places === others && !isEarlier(latestOf(row, granted), other)) {
        this.#unfair(row, other);
      }
    }
  }

  #unfair(row: StoredRow, other: StoredRow): void {
    this.#report(
      "the next place goes to the account with fewest, and there to the longest wait",
      `${row.submissionId} before ${other.submissionId}`,
    );
  }
}

/** Returns the row of the same account whose place was granted last. */
function latestOf(row: StoredRow, granted: readonly StoredRow[]): StoredRow {
  const own = granted.filter(({ account }) => account === row.account);
  return own.reduce((latest, each) => (isEarlier(latest, each) ? each : latest), row);
}

function isEarlier(a: StoredRow, b: StoredRow): boolean {
  return a.since === b.since ? a.submissionId < b.submissionId : a.since < b.since;
}

function isGrantOf(known: StoredRow, row: StoredRow): boolean {
  return (
    known.submissionId === row.submissionId && known.attempt === row.attempt && !known.isWaiting
  );
}

/** Tells whether two lists have the same rows, in any order: rows whose deletion is lost come last. */
function isSame(a: readonly StoredRow[], b: readonly StoredRow[]): boolean {
  if (a.length !== b.length) return false;
  if (a.every((row, i) => isSameRow(row, b[i]))) return true;
  const others = new Map(b.map((row) => [row.submissionId, row]));
  return a.every((row) => isSameRow(row, others.get(row.submissionId)));
}

function isSameRow(a: StoredRow, b: StoredRow | undefined): boolean {
  return (
    b !== undefined &&
    a.submissionId === b.submissionId &&
    a.attempt === b.attempt &&
    a.isWaiting === b.isWaiting
  );
}
