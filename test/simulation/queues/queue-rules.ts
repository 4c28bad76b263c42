import type { Deployment } from "./setting.ts";
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
  mayWait: z.boolean().optional(),
});

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
    const own = config.connections.get(place.name);
    const places = own === undefined ? Infinity : (own.inFlight ?? Infinity);
    const held = rows.filter(({ isWaiting }) => !isWaiting);
    const granted = held.filter((row) => !before.some((known) => isGrantOf(known, row)));
    if (granted.length > 0) this.#observe("a place is granted");
    if (granted.length > 0 && held.length > places) {
      this.#report("no place is granted above the limit", `${held.length} of ${places}`);
    }
    for (const row of before) {
      if (row.isWaiting || held.some((each) => each.submissionId === row.submissionId)) continue;
      this.#observe("a place becomes free");
      if (!this.#isRunning(row, place.name)) continue;
      this.#report("a job that may run keeps its place", `${row.submissionId} at ${place.name}`);
    }
    const { all, ofPools } = coolDownsOf(place, now);
    const isOut = (row: StoredRow) => ofPools && row.via !== place.name;
    const waiting = rows.filter((row) => row.isWaiting && !isOut(row));
    if (own === undefined) return;
    if (waiting.length > 0 && !all && held.length < places) {
      this.#report("a free place is granted at once", `${held.length} of ${places} are held`);
    }
    for (const row of granted) this.#checkOrder(row, granted, held, waiting);
    const most = config.connections.get(own.name)?.queueLimit ?? 0;
    const added = waiting.filter((row) => !before.some((known) => known.submissionId === row.submissionId));
    const fresh = added.filter(({ attempt }) => attempt === 1);
    for (const { via } of fresh) {
      const alike = rows.filter((row) => row.isWaiting && row.via === via).length;
      if (alike > most) this.#report("no more submissions wait than may", `${alike} of ${most}`);
    }
  }

  /**
   * Takes note of the rows of a queue before one of its methods is called.
   * @returns function that checks what the method has changed.
   */
  checkCall(place: Place, method: string, [first, upTo]: readonly unknown[]): () => void {
    const before = rowsOf(place);
    return () => {
      const asked = Named.safeParse(first).data;
      const id = asked?.submissionId ?? String(first);
      const attempt = asked?.attempt ?? (typeof upTo === "number" ? upTo : Infinity);
      const known = before.find((row) => row.submissionId === id);
      const row = rowsOf(place).find((each) => each.submissionId === id);
      const about = `${id} at ${place.name}`;
      if (known !== undefined && known.attempt > attempt && row?.attempt !== known.attempt) {
        this.#report("what is about an earlier attempt changes nothing", about);
      }
      if (method !== "ask") {
        const isGone = row === undefined || row.attempt > attempt;
        if (!isGone) this.#report("who leaves a queue or is refused has no row there", about);
      } else if (known?.attempt === attempt && !known.isWaiting && row?.isWaiting !== false) {
        this.#report("a repeated question changes no place", about);
      } else if (asked?.mayWait === false && known === undefined && row?.isWaiting === true) {
        this.#report("who does not wait has no row", about);
      }
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
    const placesOf = (account: string | null) =>
      held.filter((each) => each.account === account).length;
    for (const other of waiting) {
      const places = placesOf(row.account) - 1;
      const others = placesOf(other.account);
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

function isSame(a: readonly StoredRow[], b: readonly StoredRow[]): boolean {
  return a.length === b.length && a.every((row, i) => isSameRow(row, b[i]));
}

function isSameRow(a: StoredRow, b: StoredRow | undefined): boolean {
  return (
    b !== undefined &&
    a.submissionId === b.submissionId &&
    a.attempt === b.attempt &&
    a.isWaiting === b.isWaiting
  );
}
