import createClient, { type Client } from "openapi-fetch";
import { dataOf } from "./answer.ts";
import type { CallOptions, CancelOptions, KeyedCallOptions, RelayOptions } from "./options.ts";
import { RelayProblem } from "./problem.ts";
import { retrying, type Send } from "./retry.ts";
import type { paths } from "./schema.d.ts";
import { type CallInit, type Submission, type SubmitInit, upstreamRequest } from "./submit.ts";
import type {
  EndedTask,
  ListedTask,
  RedeliveryOrder,
  RegisteredTask,
  Registration,
  Task,
  TaskEvent,
  TaskFilter,
  UpstreamJob,
} from "./types.ts";
import type { OpenStream } from "./task-stream.ts";
import { type ReadChange, untilEnded, type WaitOptions } from "./wait-for.ts";

const RETRY_FOR_MS = 30_000;
const ANSWER_WITHIN_MS = 30_000;
/** The relay waits up to 90 s for the answer of an upstream, unless it is configured otherwise. */
const SUBMITTED_WITHIN_MS = 120_000;
/** Longest time in seconds for which the relay delays the answer to one read of a task. */
const LONGEST_WAIT_S = 60;
const WAIT_RETRIES = {
  forMs: 300_000,
  answerWithinMs: ANSWER_WITHIN_MS + LONGEST_WAIT_S * 1000,
};

/**
 * A client of one relay. Every method rejects with a `RelayProblem` when the relay refuses the request. A request
 * that was answered with 429 is sent again. A request that was lost or answered with 5xx is sent again only when
 * its repetition cannot have a second effect.
 */
export class TaskRelay {
  /**
   * Every route of the relay (https://openapi-ts.dev/openapi-fetch). A POST without an `Idempotency-Key` is sent
   * again only after an answer 429.
   */
  readonly api: Client<paths>;
  /** Sends a request once. */
  readonly #send: Send;
  /** Sends a request, and sends it again after a failure, whatever its method is. */
  readonly #repeating: Send;
  /** Sends a request that waits for a result, and sends it again after failures, for up to five minutes. */
  readonly #waiting: Send;
  /**
   * Makes a call of an upstream's own API through the relay, e.g. the `GET` that reads a job, and returns every answer. It
   * is sent again after a failure, a `POST` under the same key.
   */
  readonly call: (connection: string, path: string, init: CallInit) => Promise<Response>;
  /** URL of the relay. */
  readonly url: string;

  constructor({ url, key, fetch: custom, retryForMs: forMs = RETRY_FOR_MS }: RelayOptions) {
    const send: Send = custom ?? ((request) => fetch(request));
    const retries = { forMs, answerWithinMs: ANSWER_WITHIN_MS };
    this.#send = send;
    this.#repeating = retrying(send, retries);
    this.#waiting = retrying(send, WAIT_RETRIES);
    const calling = retrying(send, { forMs, answerWithinMs: SUBMITTED_WITHIN_MS });
    const authorization = key && `Bearer ${key}`;
    this.call = (connection, path, init) =>
      calling(upstreamRequest(url, connection, path, authorization, init));
    this.url = url;
    this.api = createClient<paths>({
      baseUrl: url,
      headers: { Authorization: authorization },
      fetch: retrying(send, { ...retries, isRepeatable }),
    });
  }

  /**
   * Submits a job through the relay, once: calls a path of the upstream below the connection's base URL, e.g.
   * `submit("ark", "contents/generations/tasks", {body})`. Waits while an earlier call under the same key is in flight.
   * A refusal by the upstream is returned like its acceptance.
   * @throws RelayProblem when the relay itself refuses the call. With the code `submit_unknown` the upstream may have
   * started a job: do not submit it again under the same key. The `task` of the body awaits it, or has failed already where nothing can show
   * it.
   */
  async submit(connection: string, path: string, init: SubmitInit = {}): Promise<Submission> {
    const response = await this.call(connection, path, init);
    const taskId = response.headers.get("Relay-Task-Id");
    if (taskId === null) throw new RelayProblem(response, await response.json().catch(() => null));
    return { taskId, statusUrl: response.headers.get("Relay-Status-Url"), response };
  }

  /** Registers a task. Without an `id` and an idempotency key, the client makes the id. */
  async register(
    registration: Registration,
    { idempotencyKey, signal }: KeyedCallOptions = {},
  ): Promise<RegisteredTask> {
    const isNamed = registration.id !== undefined || idempotencyKey !== undefined;
    const body = isNamed ? registration : { ...registration, id: crypto.randomUUID() };
    const params = keyed(idempotencyKey);
    return dataOf(this.api.POST("/v1/tasks", { body, params, ...this.#options(signal) }));
  }

  /** Attaches the job that the upstream's submit call returned. */
  async attach(id: string, job: UpstreamJob, { signal }: CallOptions = {}): Promise<Task> {
    const path = "/v1/tasks/{id}/upstream";
    return dataOf(this.api.POST(path, { ...named(id), body: job, ...this.#options(signal) }));
  }

  /** Reports an event of a task; the same event again changes nothing. */
  async report(event: TaskEvent, { signal }: CallOptions = {}): Promise<Task> {
    return dataOf(this.api.POST("/v1/events", { body: event, ...this.#options(signal) }));
  }

  async read(id: string, { signal }: CallOptions = {}): Promise<Task> {
    return dataOf(this.api.GET("/v1/tasks/{id}", { ...named(id), ...this.#options(signal) }));
  }

  /**
   * Waits until the task is completed or failed: by its stream, or by reads with `?wait` where no stream can be had.
   * After lost connections and answers 429 and 5xx, goes on for up to five minutes without another answer.
   * @throws WaitTimeoutError after `timeoutMs`; without it the wait ends with the task, at the latest at its
   * deadline.
   */
  async waitFor(id: string, options: WaitOptions = {}): Promise<EndedTask> {
    const read: ReadChange = async (isFirst, etag, signal) => {
      const query = isFirst ? {} : { wait: LONGEST_WAIT_S };
      const header = etag === null ? {} : { "If-None-Match": etag };
      const { data, error, response } = await this.api.GET("/v1/tasks/{id}", {
        params: { path: { id }, query, header },
        fetch: this.#waiting,
        signal,
      });
      if (data !== undefined) return { task: data, etag: response.headers.get("ETag") };
      if (response.status === 304) return { task: null, etag };
      throw new RelayProblem(response, error);
    };
    const stream: OpenStream = async (lastId, signal) => {
      const header = lastId === null ? {} : { "Last-Event-ID": lastId };
      const { data, response } = await this.api.GET("/v1/tasks/{id}/events", {
        params: { path: { id }, header },
        headers: { Accept: "text/event-stream" },
        parseAs: "stream",
        fetch: this.#send,
        signal,
      });
      return { status: response.status, headers: response.headers, body: data ?? null };
    };
    return untilEnded({ read, stream }, options);
  }

  /** Lists tasks from the index, newest first, page by page as they are read. */
  async *list(filter: TaskFilter = {}, { signal }: CallOptions = {}): AsyncGenerator<ListedTask> {
    let { cursor } = filter;
    do {
      const query = { ...filter, ...(cursor !== undefined && { cursor }) };
      const options = { params: { query }, ...this.#options(signal) };
      const page = await dataOf(this.api.GET("/v1/tasks", options));
      // Only `?count=true`, which the filter cannot contain, has another form of answer.
      if (!("data" in page)) return;
      yield* page.data;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }

  /** Redelivers a settled callback. Without an idempotency key, the client makes one. */
  async redeliver(
    id: string,
    order: RedeliveryOrder = {},
    { idempotencyKey = crypto.randomUUID(), signal }: KeyedCallOptions = {},
  ): Promise<Task> {
    const params = { ...named(id).params, ...keyed(idempotencyKey) };
    const options = { params, body: order, ...this.#options(signal) };
    return dataOf(this.api.POST("/v1/tasks/{id}/redeliver", options));
  }

  /**
   * Ends an open task as failed, with the code `canceled`, and refunds it. Where the relay can cancel its job, the
   * upstream must confirm first: the returned task is still open when it has not within a few seconds, and its member
   * `cancel` says why. Rejects with `task_settled` when the job had ended: its result counts.
   */
  async cancel(id: string, { force, signal }: CancelOptions = {}): Promise<Task> {
    const query = force === true ? { force } : {};
    const options = { params: { path: { id }, query }, ...this.#options(signal) };
    try {
      return await dataOf(this.api.POST("/v1/tasks/{id}/cancel", options));
    } catch (problem) {
      // The task was canceled by an earlier request, whose answer may have been lost.
      const task = problem instanceof RelayProblem ? problem.body?.task : null;
      if (task?.status === "failed" && task.error.code === "canceled") return task;
      throw problem;
    }
  }

  /**
   * Deletes the outputs of a task that has ended: the relay's links to them no longer work, and it keeps no copy. The task
   * stays. A repetition changes nothing.
   */
  async deleteOutputs(id: string, { signal }: CallOptions = {}): Promise<void> {
    const options = { ...named(id), ...this.#options(signal) };
    const { error, response } = await this.api.DELETE("/v1/tasks/{id}/outputs", options);
    if (!response.ok) throw new RelayProblem(response, error);
  }

  /** Erases a settled task. @returns false when there is no such task (any more). */
  async erase(id: string, { signal }: CallOptions = {}): Promise<boolean> {
    const options = { ...named(id), ...this.#options(signal) };
    const { error, response } = await this.api.DELETE("/v1/tasks/{id}", options);
    if (response.ok) return true;
    const problem = new RelayProblem(response, error);
    if (problem.code === "unknown_task") return false;
    throw problem;
  }

  #options(signal: AbortSignal | undefined) {
    return { fetch: this.#repeating, ...(signal !== undefined && { signal }) };
  }
}

function isRepeatable({ method, headers }: Request): boolean {
  return method !== "POST" || headers.has("Idempotency-Key");
}

function named(id: string) {
  return { params: { path: { id } } };
}

function keyed(idempotencyKey: string | undefined) {
  return idempotencyKey === undefined ? {} : { header: { "Idempotency-Key": idempotencyKey } };
}
