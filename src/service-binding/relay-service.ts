/**
 * Types of the entrypoint `Relay` for Workers that call it over a service binding. This file imports only
 * declarations. A calling Worker can therefore import it from a checkout of the relay, whatever its own compiler
 * options are.
 */
import type { components } from "../../client/src/schema.d.ts";
import type { Plain } from "../api/shapes/plain.d.ts";

/** Answer to a refused call, with the problem (RFC 9457) that the HTTP route of the same operation would answer. */
export interface Refused {
  readonly ok: false;
  readonly problem: {
    readonly type: string;
    readonly title: string;
    readonly status: number;
    readonly code: string;
    readonly detail: string;
    readonly issues?: readonly { readonly path: string; readonly message: string }[];
    /** The task whose present state conflicts with the call. */
    readonly task?: Task;
  };
}

/**
 * Answer of a method of the entrypoint `Relay`. A refusal is a return value and not an exception, because an
 * exception loses its class and members on the way to another Worker.
 */
export type Answer<T> = (T & { readonly ok: true }) | Refused;

type Schemas = components["schemas"];

/** A task. Times are Unix seconds. */
export type Task = Plain<Schemas["Task"]>;

/**
 * A task in a list. Of its callback it has the number of attempts and the outcome of the last attempt, but not the
 * list of attempts.
 */
export type ListedTask = Plain<Schemas["ListedTask"]>;

/**
 * A registered task. When its provider has hooks, it also has the members that the submit call to the provider must
 * contain, e.g. `hook_url`. `status_url` links to the task's status page. It is absent while `PUBLIC_URL` is not set,
 * because a call over a service binding names no host from which the link could be made.
 */
export type RegisteredTask = Omit<Plain<Schemas["RegisteredTask"]>, "status_url"> & {
  readonly status_url?: string;
};

/**
 * One page of a list of tasks, newest first. `next_cursor` is the cursor of the next page; null on the last page.
 */
export interface TaskList {
  readonly data: readonly ListedTask[];
  readonly next_cursor: string | null;
}

/**
 * A task to register. Times are Unix seconds. Without an `id`, the id is derived from the `idempotencyKey` of the
 * call, or is random when there is no such key.
 */
export interface TaskRegistration {
  readonly id?: string | null;
  readonly model: string;
  readonly callback_url?: string | null;
  readonly account?: string | null;
  readonly provider?: string | null;
  readonly parameters?: object | null;
  readonly metadata?: object | null;
  readonly deadline_at?: number | null;
  readonly credits?: number | null;
  readonly price?: Price | null;
}

/** Price of a task in credits: fixed, or by a number that is known only at its end. */
export type Price =
  | { readonly credits: number }
  | {
      /** Credits that are charged at first: the most that the task can cost. */
      readonly hold: number;
      /** Fewest credits that the completed task costs. */
      readonly min?: number;
      /** Credits for so many units of a number of the job's usage, or of a field of the output metadata. */
      readonly per: {
        readonly units: number;
        /** The same for all outputs, or by their resolution. */
        readonly credits: number | Readonly<Record<string, number>>;
      } & ({ readonly usage: string } | { readonly field: "duration" });
    };

/** The upstream job of a task, as the provider named it in its answer to the submit call. */
export interface UpstreamJob {
  readonly provider: string;
  readonly id: string;
  readonly endpoint?: string | null;
}

/**
 * An event of a task: its progress or its result. An event with a `model` creates the task when nobody has registered
 * it.
 */
export type TaskEvent = {
  readonly id: string;
  readonly model?: string | null;
  readonly created_at?: number | null;
  readonly callback_url?: string | null;
  readonly account?: string | null;
} & (
  | { readonly status: "processing" }
  | {
      readonly status: "completed";
      readonly completed_at?: number | null;
      readonly output: { readonly urls: string[]; readonly metadata?: object | null };
      readonly usage?: Readonly<Record<string, number>> | null;
    }
  | {
      readonly status: "failed";
      readonly error: { readonly code: string; readonly message: string };
      readonly usage?: Readonly<Record<string, number>> | null;
    }
);

/**
 * Filters of a list of tasks, and the page to return. They have the names of the query parameters of `GET /v1/tasks`.
 */
export interface TaskQuery {
  readonly status?: "pending" | "processing" | "completed" | "failed";
  readonly category?: string;
  readonly submission?: "sending" | "accepted" | "unknown";
  readonly outputs?: "lost";
  readonly callback?: "waiting" | "sending" | "delivered" | "failed";
  readonly model?: string;
  readonly provider?: string;
  readonly account?: string;
  readonly host?: string;
  readonly outcome?: string;
  readonly status_code?: number;
  readonly job?: string;
  readonly since?: number;
  readonly until?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

/**
 * An order to redeliver a callback. `attempts` is the number of new attempts, and `callback_url` another URL for
 * them.
 */
export interface Redelivery {
  readonly attempts?: 1 | 2 | 3;
  readonly callback_url?: string;
}

/** Options of a call that creates something. A repeated call with the same `idempotencyKey` changes nothing. */
export interface Repeatable {
  readonly idempotencyKey?: string;
}

/**
 * A call to an upstream, and what the relay is told about its job. `body`, `headers` and `query` (without the question
 * mark) are the upstream's own; the key of the connection is added, or that in `headers` goes up as it is (`key`). Without
 * an `idempotencyKey` or a `taskId`, each call submits a job of its own.
 */
export interface SubmitInit extends Repeatable {
  readonly body?: string | Uint8Array | ArrayBuffer | ReadableStream<Uint8Array> | null;
  readonly headers?: Headers | Readonly<Record<string, string>>;
  readonly query?: string;
  /** `customer`: the upstream gets the customer's own key, which `headers` contains as the upstream takes it. */
  readonly key?: "customer";
  readonly callbackUrl?: string;
  /** Members that the callback repeats, at most 4 KB as JSON. */
  readonly metadata?: object;
  readonly taskId?: string;
  readonly account?: string;
  /** Price in credits, which the account is charged. */
  readonly credits?: number;
  /** The same, or a price by what the job turns out to be, in place of `credits`. */
  readonly price?: Price;
  /** Time at which the task fails if it is still open, in Unix seconds. */
  readonly deadlineAt?: number;
}

/** The upstream's own answer to a submission, which may be a refusal, and the task. */
export interface Submission {
  readonly taskId: string;
  /**
   * Link to the status page of the task. Null when the upstream has refused the job, which leaves no task, and while
   * `PUBLIC_URL` is not set.
   */
  readonly statusUrl: string | null;
  /** True when the answer is that to an earlier call with the same `idempotencyKey` or `taskId`. */
  readonly isReplayed: boolean;
  readonly status: number;
  /** Headers of the answer by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/**
 * Answer to a call that changes a task. `isNew` is false when the call repeated an earlier one and changed nothing.
 */
export type Changed<T> = Answer<{ readonly isNew: boolean; readonly task: T }>;

/** The methods of the entrypoint `Relay`. Each does the same as the HTTP route of the same operation. */
export interface RelayService {
  /**
   * Submits a job through the relay, once: calls a path of the upstream below the connection's base URL, e.g.
   * `submit("ark", "contents/generations/tasks", {body})`. With the problem `submit_unknown` the upstream may have
   * started a job, which the `task` of the problem awaits: do not submit it again.
   */
  submit(connection: string, path: string, init?: SubmitInit): Promise<Answer<Submission>>;
  /**
   * Registers a task before it is submitted upstream. When its `provider` has hooks, `PUBLIC_URL` must be set,
   * because the hook URL begins with it.
   */
  register(task: TaskRegistration, options?: Repeatable): Promise<Changed<RegisteredTask>>;
  /** Attaches to a task the upstream job that the provider named in its answer to the submit call. */
  attach(id: string, job: UpstreamJob): Promise<Answer<{ readonly task: Task }>>;
  /** Reports the progress or the result of a task, as `POST /v1/events` does. */
  report(event: TaskEvent): Promise<Changed<Task>>;
  /**
   * Reads a task. With `wait` (seconds, at most 60) the answer comes when the task has a result, or after this
   * time.
   */
  read(id: string, options?: { readonly wait?: number }): Promise<Answer<{ readonly task: Task }>>;
  /** Lists one page of tasks from the index, newest first. */
  list(query?: TaskQuery): Promise<Answer<TaskList>>;
  /**
   * Orders new attempts of the callback of a task. The order is refused while the task has no result (`task_open`),
   * and while earlier attempts or a refund are under way (`series_running`).
   */
  redeliver(id: string, order?: Redelivery, options?: Repeatable): Promise<Changed<Task>>;
  /**
   * Cancels an open task. The task fails with the code `canceled`, and its credits are refunded. Where the relay can
   * cancel its job, the upstream must confirm first: after a few seconds without that, the task of the answer is still
   * open, and its member `cancel` says why. With `force` it fails all the same. After the result of a job that had ended
   * the problem is `task_settled`.
   */
  cancel(
    id: string,
    options?: { readonly force?: boolean },
  ): Promise<Answer<{ readonly task: Task }>>;
  /**
   * Deletes one output of a task: its link opens nothing any more, and the relay's copy is deleted. Again it changes
   * nothing. The call is refused while the task has no result (`task_open`), and for an output that has the upstream's own
   * link (`not_found`).
   * @param number place of the output in `output.urls`, counted from 1.
   */
  deleteOutput(id: string, number: number): Promise<Answer<object>>;
  /**
   * Erases a task. The call is refused while the task has no result (`task_open`), and while attempts of its
   * callback or a refund are under way (`series_running`).
   */
  erase(id: string): Promise<Answer<object>>;
}
