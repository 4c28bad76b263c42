import {
  addDuration,
  type Durations,
  likelyAges,
  NO_DURATIONS,
  weightOf,
} from "../core/record/durations.ts";
import type { JobReport } from "../core/events/job-report.ts";

/** What is known of a kind of jobs. */
export interface KnownKind {
  /** Ages in milliseconds, ascending, at which earlier jobs of this kind ended; empty when unknown. */
  readonly likelyAgesMs: readonly number[];
  /** Number of jobs of this kind whose end should be reported before reports become rare. */
  readonly missingReports: number;
  /** States that the connection's hooks do not come. */
  readonly areHooksMissing: boolean;
}

/** What is stored of a connection. */
interface Book {
  /** Number of the last reported tasks for which no hook came, at most `HOOKLESS_TASKS`. */
  readonly hookless: number;
  /** Kinds with the durations of their jobs; the one that was reported last is the last. */
  readonly kinds: readonly (readonly [kind: string, durations: Durations])[];
}

const BOOK_KEY = "durations";
const EMPTY: Book = { hookless: 0, kinds: [] };
const MAX_KINDS = 200;
/** Number of reported tasks without a hook, one after the other, after which hooks count as missing. */
const HOOKLESS_TASKS = 20;
/** Number of jobs of a kind of which all are to be reported. */
const REPORTED_AT_FIRST = 50;

/**
 * What is known of the jobs of a connection: how long they take, by kind, and whether hooks come. It is one
 * row of its object, so that a report costs one row; nothing is kept in memory. At most 200 kinds are kept;
 * the one that was not reported for the longest time gives way to a new one.
 */
export class DurationBook {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /**
   * Returns what is known of a kind. When 200 others are known, none of its jobs need be reported before
   * reports become rare: else ten thousand kinds that drive each other out would all be reported for ever.
   */
  known(kind: string): KnownKind {
    const { kinds } = this.#read();
    const [, durations] = kinds.find(([name]) => name === kind) ?? [];
    const isRefused = durations === undefined && kinds.length >= MAX_KINDS;
    const reports = Math.round(weightOf(durations ?? NO_DURATIONS));
    return {
      likelyAgesMs: likelyAges(durations ?? NO_DURATIONS),
      missingReports: isRefused ? 0 : Math.max(0, REPORTED_AT_FIRST - reports),
      areHooksMissing: this.areHooksMissing(),
    };
  }

  /** Tells whether none of the last 20 reported tasks had any hook. */
  areHooksMissing(): boolean {
    return this.#read().hookless >= HOOKLESS_TASKS;
  }

  /** Takes a report. One that tells nothing new is not written. */
  add({ end, hasHook }: JobReport): void {
    const { hookless, kinds } = this.#read();
    if (end === null) {
      if (hasHook === true && hookless > 0) this.#kv.put(BOOK_KEY, { hookless: 0, kinds });
      return;
    }
    const [, known = NO_DURATIONS] = kinds.find(([name]) => name === end.kind) ?? [];
    const others = kinds.filter(([name]) => name !== end.kind);
    const newest = [end.kind, addDuration(known, end.range)] as const;
    this.#kv.put(BOOK_KEY, {
      hookless: hooklessAfter(hookless, hasHook),
      kinds: [...others, newest].slice(-MAX_KINDS),
    });
  }

  #read(): Book {
    return this.#kv.get<Book>(BOOK_KEY) ?? EMPTY;
  }
}

function hooklessAfter(hookless: number, hasHook: boolean | null): number {
  if (hasHook === null) return hookless;
  return hasHook ? 0 : Math.min(hookless + 1, HOOKLESS_TASKS);
}
