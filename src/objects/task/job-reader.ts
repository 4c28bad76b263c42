import type { Poll } from "../../core/duties/poll.ts";
import type { PollAnswer } from "../../core/events/event.ts";
import type { Job } from "../../core/record/upstream.ts";
import type { Runtime } from "../../config/runtime.ts";
import { POLL_TIMEOUT_MS, withDeadline } from "../../lib/timeout.ts";
import { type Ask, askUpstream } from "../../outbound/ask-upstream.ts";
import { type BodiedAnswer, get, type GetRequest } from "../../outbound/http.ts";
import { connectionOf } from "../../outbound/upstream-connection.ts";
import { phaseIn } from "../../providers/observation.ts";
import { readPollAnswer } from "../../providers/poll-answer.ts";
import { type Connection, type Reading, withCustomerKey } from "../../providers/provider.ts";
import type { ConnectionCalls } from "./connection-calls.ts";
import { JobAnswers } from "./job-answers.ts";

/** Result of a client's call that reads a job at its provider. */
export type ReadJob =
  | {
      readonly kind: "answer";
      readonly answer: BodiedAnswer;
      /**
       * Function that returns the result of a poll: made from this answer when polls make the same call, otherwise from
       * a request of its own. Null when the answer is not new, and when polls make another call and the answer does not
       * say that the job has ended.
       */
      readonly poll: (() => Promise<PollAnswer>) | null;
    }
  /** Result when the provider has not answered. */
  | { readonly kind: "unanswered" }
  /**
   * Result when the connection's limit of polls does not allow a request yet. `waitMs` is the time in milliseconds
   * until one is allowed.
   */
  | { readonly kind: "limited"; readonly waitMs: number }
  /** Result when the relay has no key for the call. */
  | { readonly kind: "no_key" };

/**
 * Sends the requests about the job of one task: those of the relay's polls, and those of clients that read the job.
 * Both use the same answers, so that clients cause at each path no more requests than the provider permits polls.
 */
export class JobReader {
  readonly #connections: ConnectionCalls;
  readonly #answers = new JobAnswers();
  /**
   * The reads of the job that are in progress, by path. All clients that read the same path in this time get the same
   * result.
   */
  readonly #reads = new Map<string, Promise<ReadJob>>();

  constructor(connections: ConnectionCalls) {
    this.#connections = connections;
  }

  /** Polls the job, unless the connection's limit of polls does not allow it yet. */
  async poll(
    poll: Poll,
    connection: Connection,
    runtime: Runtime,
    aborted: AbortSignal,
  ): Promise<PollAnswer> {
    const waitMs = await this.#connections.pollWaitMs(poll, connection);
    if (waitMs > 0) return { kind: "deferred", waitMs };
    return await askUpstream(poll, connection, runtime, aborted, this.#asking(connection));
  }

  /**
   * Returns the provider's answer to a client's call that reads the job. An earlier answer to the same call is returned
   * while it is younger than the time that the provider demands between two polls, and when no new answer comes.
   * @param path path and query of the call, relative to the base URL.
   * @param ownKey the caller's own key of the provider, for a job that was submitted with it; null when the stored key
   * is used.
   */
  async read(poll: Poll, path: string, ownKey: string | null, runtime: Runtime): Promise<ReadJob> {
    const configured = await connectionOf(poll, runtime);
    const connection =
      configured === null || ownKey === null ? configured : withCustomerKey(configured, ownKey);
    if (connection === null || connection.key === null) return { kind: "no_key" };
    const { polls } = connection.provider;
    if (polls === null) return { kind: "no_key" };
    const last = this.#answers.last(path);
    const kept: ReadJob | null = last && { kind: "answer", answer: last, poll: null };
    const waitMs = this.#reads.has(path) ? 0 : this.#answers.waitMs(path, polls.gapMs, Date.now());
    if (waitMs > 0) return kept ?? { kind: "limited", waitMs };
    return await this.#shared(path, kept, () =>
      this.#readNew(poll, path, connection, ownKey !== null, runtime),
    );
  }

  /**
   * Returns the result of the read that is in progress at a path; starts one when there is none.
   * @param kept result to return when there is no new answer; null for none.
   */
  async #shared(
    path: string,
    kept: ReadJob | null,
    start: () => Promise<ReadJob>,
  ): Promise<ReadJob> {
    const read = this.#reads.get(path) ?? start();
    this.#reads.set(path, read);
    try {
      const result = await read;
      return result.kind === "answer" ? result : (kept ?? result);
    } finally {
      this.#reads.delete(path);
    }
  }

  /** Forgets all remembered answers, because the next call may change the job. */
  forgetAnswers(): void {
    this.#answers.forget();
  }

  async #readNew(
    poll: Poll,
    path: string,
    connection: Connection,
    isCallersKey: boolean,
    runtime: Runtime,
  ): Promise<ReadJob> {
    const { baseUrl, key, provider } = connection;
    if (provider.polls === null || key === null) return { kind: "no_key" };
    const hasOwnKey = isCallersKey || poll.customerKey !== null;
    const waitMs = await this.#connections.pollWaitMs(poll, connection, hasOwnKey);
    if (waitMs > 0) return { kind: "limited", waitMs };
    const { polls } = provider;
    const url = `${baseUrl}${path}`;
    const headers = await polls.headers(key, Date.now());
    const ask = this.#asking(connection);
    const answer = await withDeadline(POLL_TIMEOUT_MS, (signal) =>
      ask({ url, headers, isLarge: true }, signal),
    );
    if (answer === null || answer.bytes === null) return { kind: "unanswered" };
    // A refusal of a key that the caller has sent says nothing about the key of the connection.
    if (isCallersKey || polls.body !== undefined) return { kind: "answer", answer, poll: null };
    const given: Ask = async (request, signal) =>
      request.url === url ? answer : await ask(request, signal);
    const { signal } = new AbortController();
    if (path === polls.path(poll.job)) {
      const read = () => askUpstream(poll, connection, runtime, signal, given);
      return { kind: "answer", answer, poll: read };
    }
    const isEnded = hasEnded(readPollAnswer(polls, answer, poll.job, baseUrl), poll.job);
    const asked = () => this.poll(poll, connection, runtime, signal);
    return { kind: "answer", answer, poll: isEnded ? asked : null };
  }

  /** Returns a function that sends a request about the job, and remembers the answer to a `GET` in memory. */
  #asking({ baseUrl }: Connection) {
    return async (request: GetRequest, signal: AbortSignal): Promise<BodiedAnswer | null> => {
      const send = () => get(request, signal);
      if (request.body !== undefined || !request.url.startsWith(baseUrl)) return await send();
      return await this.#answers.ask(request.url.slice(baseUrl.length), Date.now(), send);
    };
  }
}

/** Tells whether an answer at another path than that of polls says that the job has ended. */
function hasEnded(reading: Reading, job: Job): boolean {
  if (reading.kind !== "observed" || reading.observation.jobId !== job.id) return false;
  const phase = phaseIn(reading.observation);
  return phase === "completed" || phase === "failed";
}
