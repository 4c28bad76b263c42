import {
  addDuration,
  type Durations,
  likelyAges,
  NO_DURATIONS,
  weightOf,
} from "../../core/record/durations.ts";
import type { JobReport } from "../../core/events/job-report.ts";

/**
 * Statistics of one kind of jobs (those with the same endpoint and model), kept by the Durable Object of their
 * connection, which is a set of credentials for a provider.
 */
export interface KnownKind {
  /**
   * Ages in milliseconds, ascending, by which 8 % to 95 % of the earlier jobs of this kind had ended; empty
   * when fewer than ten are known.
   */
  readonly likelyAgesMs: readonly number[];
  /**
   * Number of further jobs of this kind that should all send their duration to the object of the
   * connection; after these, only a random sample of the jobs sends it.
   */
  readonly missingReports: number;
  /**
   * True when each of the last 20 tasks that expected a hook, and sent a report about its job to this
   * object, got none.
   */
  readonly areHooksMissing: boolean;
}

/**
 * Stored statistics of the jobs of one connection to a provider: their durations, and the number of tasks in a
 * row that got no hook.
 */
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
/**
 * Number of the first jobs of a kind that all report their duration; of later jobs, only a random sample
 * does.
 */
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
   * Returns what is known of a kind of jobs. While 200 kinds are stored, `missingReports` is 0 for every
   * other kind: otherwise, with more than 200 kinds in use, each would be replaced before it has enough
   * reports, and every job would send one.
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

  /**
   * Tells whether each of the last 20 tasks that expected a hook, and sent a report about its job to this
   * object, got none.
   */
  areHooksMissing(): boolean {
    return this.#read().hookless >= HOOKLESS_TASKS;
  }

  /**
   * Stores the report of a task about its job. A report that only says that a hook has come writes nothing,
   * unless the tasks before it had got none.
   */
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
