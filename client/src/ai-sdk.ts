import { RelayProblem } from "./problem.ts";
import type { TaskRelay } from "./relay.ts";
import type { EndedTask, RegisteredTask, Registration, UpstreamJob } from "./types.ts";
import { WaitTimeoutError } from "./wait-for.ts";

/** Registration of the task of a video, without its id, which is generated, and its provider, which is the connection of the webhooks. */
export type VideoTask = Omit<Registration, "id" | "provider">;
export type FailedTask = Extract<EndedTask, { readonly status: "failed" }>;

export interface VideoWaitOptions {
  /** Ends the registration and the wait, but not the task; usually the `abortSignal` of the generation. */
  readonly signal?: AbortSignal;
  /**
   * Longest wait after the registration, in milliseconds; 600,000 by default. The SDK has a limit of its own with the
   * same default, `poll.timeoutMs`: set both.
   */
  readonly timeoutMs?: number;
  /** Function that is called with each registered task, e.g. to store its id. */
  readonly onTask?: (task: RegisteredTask) => void;
}

/** The end of a task in the form in which the SDK takes a webhook. The SDK then asks the upstream for the video itself. */
export interface ReceivedWebhook {
  readonly headers: Record<string, string>;
  // An interface would not be JSON to the type of the SDK.
  // oxlint-disable-next-line typescript/consistent-type-definitions
  readonly body: { id: string; status: "completed"; output: { urls: string[] } };
}

/** The option `webhook` of `experimental_generateVideo` (https://ai-sdk.dev/docs/ai-sdk-core/video-generation). */
export type WebhookFactory = () => Promise<{
  readonly url: string;
  readonly received: Promise<ReceivedWebhook>;
}>;

export interface WebhooksOptions {
  /** Sends the requests of the SDK's provider; by default the global `fetch`. */
  readonly fetch?: typeof fetch;
}

export interface VideoWebhooks {
  /** Returns the option `webhook` of a generation. The SDK calls it for each video, and each call registers a task. */
  readonly webhook: (task: VideoTask, options?: VideoWaitOptions) => WebhookFactory;
  /**
   * The option `fetch` of the SDK's provider. It sends everything as it is. When the upstream has accepted a job with one
   * of these webhooks, it attaches the job to its task; when the upstream has refused it, it reports the task as failed.
   */
  readonly fetch: typeof fetch;
}

/** Error for a task that has failed, of which the SDK will get no video. */
export class TaskFailedError extends Error {
  override readonly name = "TaskFailedError";
  readonly task: FailedTask;

  constructor(task: FailedTask) {
    super(`The task ${task.id} has failed with ${task.error.code}: ${task.error.message}`);
    this.task = task;
  }
}

/** Default limit of the SDK. */
const TIMEOUT_MS = 600_000;
/** Statuses below 500 after which the SDK sends a call again, so that they refuse nothing yet. */
const REPEATED_STATUSES: readonly number[] = [408, 409, 429];

/**
 * Returns webhooks for the video models of the Vercel AI SDK, for a connection of the relay whose upstream sends hooks. The
 * upstream gets the hook URL of a task, and the SDK's promise resolves when the task has completed, which the relay
 * shows by its stream: the program needs no public address, and the relay polls the job when its hook does not come.
 *
 * A generation rejects with a `RelayProblem` when the relay refuses the registration, with a `TaskFailedError` when
 * the task fails, with a `WaitTimeoutError` after `timeoutMs`, and with the reason of an aborted signal.
 */
export function webhooksFor(
  relay: TaskRelay,
  connection: string,
  { fetch: send = (input, init) => fetch(input, init) }: WebhooksOptions = {},
): VideoWebhooks {
  const waits = new Map<string, VideoWait>();
  return {
    webhook: (task, options = {}) => {
      return async () => {
        const wait = await VideoWait.begin(relay, connection, task, options);
        waits.set(wait.hookUrl, wait);
        const received = wait.ended(options).finally(() => waits.delete(wait.hookUrl));
        // The SDK awaits it only after the submission.
        received.catch(() => {});
        return { url: wait.hookUrl, received };
      };
    },
    fetch: async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const body = typeof init?.body === "string" ? init.body : "";
      const wait = [...waits.values()].find(({ hookUrl }) => isIn(hookUrl, url, body));
      const response = await send(input, init);
      if (wait !== undefined) void wait.submitted(url, response.clone());
      return response;
    },
  };
}

/** A task that waits for the end of a video. */
class VideoWait {
  readonly hookUrl: string;
  readonly #id: string;
  readonly #relay: TaskRelay;
  readonly #connection: string;
  /** Aborted with the error that makes the wait pointless. */
  readonly #failing = new AbortController();

  private constructor(relay: TaskRelay, connection: string, id: string, hookUrl: string) {
    this.#relay = relay;
    this.#connection = connection;
    this.#id = id;
    this.hookUrl = hookUrl;
  }

  /** Registers a task. @throws Error when its connection has no hooks. */
  static async begin(
    relay: TaskRelay,
    connection: string,
    task: VideoTask,
    { signal, onTask }: VideoWaitOptions,
  ): Promise<VideoWait> {
    const options = signal === undefined ? {} : { signal };
    const registered = await relay
      .register({ ...task, provider: connection }, options)
      .catch(explaining("The relay gave no answer to the registration of a task.", signal));
    const { id, hook_url: hookUrl } = registered;
    if (hookUrl === undefined) {
      // Without hooks the task would stay open until its deadline.
      await relay.cancel(id, options).catch(() => {});
      throw new Error(`The upstream of the connection ${connection} sends no hooks.`);
    }
    onTask?.(registered);
    return new VideoWait(relay, connection, id, hookUrl);
  }

  /** Waits until the task is completed. @throws TaskFailedError when it has failed. */
  async ended({ signal, timeoutMs = TIMEOUT_MS }: VideoWaitOptions): Promise<ReceivedWebhook> {
    const failing = this.#failing.signal;
    const stop = signal === undefined ? failing : AbortSignal.any([failing, signal]);
    const task = await this.#relay
      .waitFor(this.#id, { timeoutMs, signal: stop })
      .catch(explaining(`The relay gives no answer about the task ${this.#id} any more.`, stop));
    if (task.status === "failed") throw new TaskFailedError(task);
    const { id, status, output } = task;
    return { headers: {}, body: { id, status, output: { urls: [...output.urls] } } };
  }

  /** Tells the relay how the upstream has answered the submission. Never rejects; its failure ends the wait. */
  async submitted({ pathname }: URL, answer: Response): Promise<void> {
    if (answer.ok) {
      const job = jobIn(await answer.json().catch(() => null), pathname);
      if (job !== null) await this.#attach(job);
    } else if (answer.status < 500 && !REPEATED_STATUSES.includes(answer.status)) {
      const message = `The upstream has refused the job with the status ${answer.status}.`;
      const error = { code: "submit_refused", message };
      await this.#relay.report({ id: this.#id, status: "failed", error }).catch(this.#fail);
    }
  }

  async #attach(job: Omit<UpstreamJob, "provider">): Promise<void> {
    try {
      await this.#relay.attach(this.#id, { provider: this.#connection, ...job });
    } catch (cause) {
      // A signed hook may have come before.
      if (cause instanceof RelayProblem && cause.code === "task_settled") return;
      const reason = cause instanceof Error ? cause.message : "";
      const message = `The job ${job.id} runs, but could not be attached to the task ${this.#id}: ${reason}`;
      this.#fail(new Error(message, { cause }));
    }
  }

  readonly #fail = (error: unknown): void => this.#failing.abort(error);
}

/** Tells whether a call contains a hook URL, in its query or its body of JSON. */
function isIn(hookUrl: string, { searchParams }: URL, body: string): boolean {
  return [...searchParams.values()].includes(hookUrl) || body.includes(JSON.stringify(hookUrl));
}

/**
 * Reads the job from the upstream's answer to the submission; null when it names none. fal calls the id `request_id`, and
 * the relay polls its jobs by the path of the submission too.
 */
function jobIn(answer: unknown, pathname: string): Omit<UpstreamJob, "provider"> | null {
  if (typeof answer !== "object" || answer === null) return null;
  if ("request_id" in answer && typeof answer.request_id === "string") {
    return { id: answer.request_id, endpoint: pathname.slice(1) };
  }
  return "id" in answer && typeof answer.id === "string" ? { id: answer.id } : null;
}

/**
 * Returns a handler that rejects with the error of a request: as it is when the relay has answered, the time is over or
 * the caller has ended the wait, and otherwise, for a lost connection, as the cause of an error with this message.
 */
function explaining(message: string, signal?: AbortSignal): (error: unknown) => never {
  return (error) => {
    const isClear = error instanceof RelayProblem || error instanceof WaitTimeoutError;
    if (isClear || signal?.aborted === true) throw error;
    throw new Error(message, { cause: error });
  };
}
