/**
 * Types of the entrypoint `Relay` for Workers that call it over a service binding. This file imports only
 * declarations, so that they can import it from a checkout whatever their own compiler options are.
 */
import type { components } from "../../client/src/schema.d.ts";
import type { Plain } from "../api/shapes/plain.d.ts";

/** A refused call, with the problem (RFC 9457) that the route answers. */
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
 * Answer of a method of the entrypoint `Relay`. A refusal is a value and no exception, because the class and the
 * members of an error are lost on the way to another Worker.
 */
export type Answer<T> = (T & { readonly ok: true }) | Refused;

type Schemas = components["schemas"];

/** A task. Times are Unix seconds. */
export type Task = Plain<Schemas["Task"]>;

/** A task in a list: its callback with the number of attempts and the outcome of the last one. */
export type ListedTask = Plain<Schemas["ListedTask"]>;

/**
 * A registered task, with what the submit call to its provider must pass on when the provider has hooks. The link
 * to the task's status page is absent while `PUBLIC_URL` is not set, because a call over a service binding names
 * no host from which the link could be made.
 */
export type RegisteredTask = Omit<Plain<Schemas["RegisteredTask"]>, "status_url"> & {
  readonly status_url?: string;
};

/** One page of a list of tasks, newest first, and the cursor of the next page; null after the last one. */
export interface TaskList {
  readonly data: readonly ListedTask[];
  readonly next_cursor: string | null;
}

/** A task to register. Times are Unix seconds. Without an `id`, give an `idempotencyKey` or get a random one. */
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
}

/** The upstream job of a task, as the submit call returned it. */
export interface UpstreamJob {
  readonly provider: string;
  readonly id: string;
  readonly endpoint?: string | null;
}

/** An event of a task: its progress or its result. With a `model` it also creates a task that nobody registered. */
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
    }
  | {
      readonly status: "failed";
      readonly error: { readonly code: string; readonly message: string };
    }
);

/** Filters of a list of tasks and the page of it, with the names of the query parameters. */
export interface TaskQuery {
  readonly status?: "pending" | "processing" | "completed" | "failed";
  readonly category?: string;
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

/** An order to redeliver a callback: one to three `attempts`, and the URL for them, if it is another one. */
export interface Redelivery {
  readonly attempts?: 1 | 2 | 3;
  readonly callback_url?: string;
}

/** Options of a call that creates something: a repetition with the same key changes nothing. */
export interface Repeatable {
  readonly idempotencyKey?: string;
}

/** `isNew` is false when the call repeated an earlier one and changed nothing. */
export type Changed<T> = Answer<{ readonly isNew: boolean; readonly task: T }>;

/** The methods of the entrypoint `Relay`. Each does what the route of the same operation does. */
export interface RelayService {
  /** Registers a task before it is submitted upstream. A `provider` with hooks needs `PUBLIC_URL`, for the hook URL. */
  register(task: TaskRegistration, options?: Repeatable): Promise<Changed<RegisteredTask>>;
  /** Attaches the upstream job that the submit call returned. */
  attach(id: string, job: UpstreamJob): Promise<Answer<{ readonly task: Task }>>;
  /** Tells the relay the progress or the result of a task, as `POST /v1/events` does. */
  report(event: TaskEvent): Promise<Changed<Task>>;
  /** Reads a task. `wait` seconds, at most 60, delay the answer until the task is terminal. */
  read(id: string, options?: { readonly wait?: number }): Promise<Answer<{ readonly task: Task }>>;
  /** Lists tasks from the index, newest first: one page. */
  list(query?: TaskQuery): Promise<Answer<TaskList>>;
  /**
   * Orders new attempts of the callback of a task. Refused while the task has no result (`task_open`), and
   * while earlier attempts or a refund are under way (`series_running`).
   */
  redeliver(id: string, order?: Redelivery, options?: Repeatable): Promise<Changed<Task>>;
  /** Cancels an open task: it fails with the code `canceled` and is refunded. */
  cancel(id: string): Promise<Answer<{ readonly task: Task }>>;
  /**
   * Erases a task. Refused while it has no result (`task_open`), and while attempts of its callback or a
   * refund are under way (`series_running`).
   */
  erase(id: string): Promise<Answer<object>>;
}
