import {
  addDuration,
  type Durations,
  likelyAges,
  NO_DURATIONS,
  weightOf,
} from "../core/record/durations.ts";
import type { JobReport } from "../core/events/job-report.ts";

/** Knowledge of a connection to a provider about one kind of jobs, those of one endpoint and model. */
export interface KnownKind {
  /**
   * Ages in milliseconds, ascending, by which 8 % to 95 % of the earlier jobs of this kind had ended; empty
   * when fewer than ten are known.
   */
  readonly likelyAgesMs: readonly number[];
  /**
   * Number of further jobs of this kind whose duration each task should report to the object of the
   * connection; after them, reports of a sample of the jobs suffice.
   */
  readonly missingReports: number;
  /** True when hooks were expected for the last 20 tasks that sent a report to this object, and none came. */
  readonly areHooksMissing: boolean;
}

/** The durations of jobs and the missing hooks of one connection to a provider, as they are stored. */
interface Book {
  /** Number of tasks in a row for which an expected hook did not come, at most `HOOKLESS_TASKS`. */
  readonly hookless: number;
  /** Kinds of jobs with a histogram of their durations, in the order of the newest report of each. */
  readonly kinds: readonly (readonly [kind: string, durations: Durations])[];
}

const BOOK_KEY = "durations";
const EMPTY: Book = { hookless: 0, kinds: [] };
const MAX_KINDS = 200;
/** Number of tasks in a row without their expected hook after which a connection's hooks count as missing. */
const HOOKLESS_TASKS = 20;
/** Number of jobs of a new kind that are all to be reported, before reports of a sample suffice. */
const REPORTED_AT_FIRST = 50;

/**
 * Stores what the tasks of a connection report about their jobs: how long each kind of jobs takes, and
 * whether the provider's hooks come. All of it is one row in the storage of the connection's object, so that
 * a report writes one row. At most 200 kinds are kept; a new one replaces the one whose last report is oldest.
 */
export class DurationBook {
  readonly #kv: SyncKvStorage;

  constructor(kv: SyncKvStorage) {
    this.#kv = kv;
  }

  /**
   * Returns what is known of a kind of jobs. For an unknown kind beyond the 200 that are kept, the number of
   * missing reports is 0: kinds that replace each other would otherwise remain new, and every job be reported.
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

  /** Tells whether hooks were expected for the last 20 tasks that sent a report, and none came. */
  areHooksMissing(): boolean {
    return this.#read().hookless >= HOOKLESS_TASKS;
  }

  /** Stores the report about a job; a report that only repeats that hooks come writes nothing. */
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
