import type { ConfigIssue } from "../../../config/issue.ts";
import type { HostPause } from "../../../core/plans/host-pause.ts";
import type { OpenCount } from "../../../index-db/open-count.ts";
import type { OpenCopies } from "../../../index-db/statistics-shape.ts";
import type { UnknownSubmissions } from "../../../index-db/unknown-submissions.ts";
import type { Failures } from "../failing-hosts.ts";

/** Present faults of a connection to a provider, which `/healthz` also shows. */
interface ConnectionFaults {
  readonly name: string;
  /** True when a pool has it as a member. While tasks of the pool wait, they have the name of the pool. */
  readonly isPoolMember: boolean;
  /**
   * Time of the last refusal of the API key by the provider, in Unix seconds; null when there was none in the last 35
   * minutes.
   */
  readonly keyRefusedAt: number | null;
  /**
   * Time of the last refusal of a submission because the account at the provider has no money left, in Unix seconds;
   * null when there was none in the last 35 minutes.
   */
  readonly fundsRefusedAt: number | null;
  readonly areHooksMissing: boolean;
  /**
   * Time of the last response of the provider that the relay did not understand, in Unix seconds; null when there was
   * none in the last two hours.
   */
  readonly unclearAt: number | null;
  /** Number of submissions that wait for a place of the connection. */
  readonly waiting: number;
  /** Time since which the first of them has waited, in Unix seconds; null when none waits. */
  readonly waitingSince: number | null;
}

/**
 * State of the relay at present (settings, connections, tasks), from which the rules in troubles.ts find its problems.
 */
export interface Facts {
  /** Current time, in Unix milliseconds. */
  readonly now: number;
  readonly isPaused: boolean;
  /** Size at which a database of the index is full, in bytes. */
  readonly maxIndexBytes: number;
  /** Receivers' hosts to which nothing is sent. Empty also when they could not be read. */
  readonly pausedHosts: readonly HostPause[];
  readonly warnings: readonly ConfigIssue[];
  readonly connections: readonly ConnectionFaults[];
  /**
   * Rows and counts of the index: counts of recent tasks, failed callbacks, tasks that should change next, tasks of
   * which it is unknown whether their submission has started a job, and outputs that are being copied. Null when the
   * relay has no index.
   */
  readonly index: IndexFacts | null;
}

export interface IndexFacts extends Failures {
  readonly open: OpenCount;
  readonly unknown: UnknownSubmissions;
  readonly copies: OpenCopies;
}

/** A request by which an operator can examine a problem or end it. */
interface Action {
  readonly name: "inspect" | "list" | "test" | "redeliver" | "wake";
  readonly method: "GET" | "POST";
  readonly path: string;
}

/**
 * A present problem of the relay that a rule has found. `troublesOf` adds its `kind`, which is the name of the rule.
 */
export interface Trouble {
  /**
   * How serious the problem is: `error` when tasks are affected now, `warning` when tasks may be affected, `notice` for
   * a doubtful setting.
   */
  readonly severity: "error" | "warning" | "notice";
  readonly detail: string;
  /** Time since which the problem exists, in Unix seconds; null when it is not known. */
  readonly since: number | null;
  /** Number of affected tasks; null when the problem is not about tasks, or when the number is not known. */
  readonly tasks: { readonly count: number; readonly is_capped: boolean } | null;
  /** Subject of the problem: a host, a connection, a task or a variable, with details. */
  readonly subject: Readonly<Record<string, string | number | null>>;
  readonly actions: readonly Action[];
}

/** Returns a problem. Fields that are not given become null or empty. */
export function trouble(fields: Pick<Trouble, "severity" | "detail"> & Partial<Trouble>): Trouble {
  return { since: null, tasks: null, subject: {}, actions: [], ...fields };
}

export function get(name: "inspect" | "list", path: string): Action {
  return { name, method: "GET", path };
}

export function post(name: "test" | "redeliver" | "wake", path: string): Action {
  return { name, method: "POST", path };
}
