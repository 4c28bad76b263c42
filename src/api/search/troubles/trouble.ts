import type { ConfigIssue } from "../../../config/issue.ts";
import type { OpenCount } from "../../../index-db/open-count.ts";
import type { UnknownSubmissions } from "../../../index-db/unknown-submissions.ts";
import type { Failures } from "../failing-hosts.ts";

/** Present faults of a connection to a provider, as `/healthz` shows them. */
interface ConnectionFaults {
  readonly name: string;
  /** Time of the last refusal of the API key, in Unix seconds; null when the key was not refused lately. */
  readonly keyRefusedAt: number | null;
  /** Time of the last refusal because of the balance, in Unix seconds; null when there was none lately. */
  readonly fundsRefusedAt: number | null;
  readonly areHooksMissing: boolean;
  /**
   * Time of the last answer of the provider that the relay did not understand, in Unix seconds; null when there was
   * no such answer lately.
   */
  readonly unclearAt: number | null;
}

/**
 * State of the relay at present (settings, connections, tasks). The rules in troubles.ts find its problems from it.
 */
export interface Facts {
  /** Current time, in Unix milliseconds. */
  readonly now: number;
  readonly isPaused: boolean;
  readonly warnings: readonly ConfigIssue[];
  readonly connections: readonly ConnectionFaults[];
  /**
   * Rows and counts of the index: counts of recent tasks, failed callbacks, tasks that should change next, and those
   * whose submission has an unknown outcome. Null means that no index is bound.
   */
  readonly index: IndexFacts | null;
}

export interface IndexFacts extends Failures {
  readonly open: OpenCount;
  readonly unknown: UnknownSubmissions;
}

/** A request with which an operator can examine a problem or end it. */
interface Action {
  readonly name: "inspect" | "list" | "test" | "redeliver" | "wake";
  readonly method: "GET" | "POST";
  readonly path: string;
}

/**
 * A present problem of the relay, as a rule has found it. The kind of the problem is added later, by `troublesOf`.
 */
export interface Trouble {
  /** `error` when tasks are affected now, `warning` when tasks may be affected, `notice` for a doubtful setting. */
  readonly severity: "error" | "warning" | "notice";
  readonly detail: string;
  /** Time since when the problem exists, in Unix seconds; null when it is not known. */
  readonly since: number | null;
  /**
   * Number of tasks that are affected; null when the problem is not about tasks, or when their number is not known.
   */
  readonly tasks: { readonly count: number; readonly is_capped: boolean } | null;
  /** Subject of the problem: a host, a connection, a task or a variable, with details about it. */
  readonly subject: Readonly<Record<string, string | number | null>>;
  readonly actions: readonly Action[];
}

/** Returns a problem. A field that is not given is null or empty. */
export function trouble(fields: Pick<Trouble, "severity" | "detail"> & Partial<Trouble>): Trouble {
  return { since: null, tasks: null, subject: {}, actions: [], ...fields };
}

export function get(name: "inspect" | "list", path: string): Action {
  return { name, method: "GET", path };
}

export function post(name: "test" | "redeliver" | "wake", path: string): Action {
  return { name, method: "POST", path };
}
