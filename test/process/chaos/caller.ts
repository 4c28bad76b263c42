import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../harness/client.ts";
import { field } from "../upstreams/apis.ts";

const REPEAT_AFTER_MS = 250;
/**
 * Time in milliseconds after which a request is no longer repeated; longer than the minute after which an
 * interrupted charge may be tried again, and than a busy machine needs to start a cluster again.
 */
const GIVE_UP_AFTER_MS = 240_000;
/** Time limit for an answer in milliseconds, longer than the relay lets any caller wait. */
const ANSWER_WITHIN_MS = 20_000;

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** States that the request leads to a charge or a refund. */
  readonly isBooked?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** JSON body of the answer; null when the body is empty or not JSON. */
  readonly json: unknown;
  /** States that an earlier answer to the same request was lost, or was 503. */
  readonly isRepeat: boolean;
}

/**
 * Error for an answer that the relay must never give; it ends the run of the task and goes into the report.
 */
export class Fault extends Error {}

/** The operator, who repeats every request until it is answered, even when the relay is killed many times. */
export class Caller {
  repeats = 0;
  readonly statuses = new Map<number, number>();
  readonly #client: Client;
  #booking = Promise.withResolvers<void>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Returns a promise that resolves at the next request which leads to a charge or a refund. */
  nextBooking(): Promise<void> {
    return this.#booking.promise;
  }

  /**
   * Sends a request until it is answered.
   * @param expected statuses that the first answer may have.
   * @param repeated further statuses that the answer to a repeated request may have, because the first one may
   * have taken effect.
   * @throws Fault for any other answer.
   */
  async ask(
    call: Call,
    expected: readonly number[],
    repeated: readonly number[] = [],
  ): Promise<Answer> {
    const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
    if (call.isBooked === true) {
      this.#booking.resolve();
      this.#booking = Promise.withResolvers();
    }
    let last = "";
    for (let isRepeat = false; Date.now() < giveUpAt; isRepeat = true) {
      const answer = await this.#send(call, isRepeat).catch((error: unknown) => {
        last = `${String(error)} ${String(Reflect.get(Object(error), "cause"))}`;
        return null;
      });
      if (answer !== null) {
        last = answer.text;
        const allowed = isRepeat ? [...expected, ...repeated] : expected;
        if (allowed.includes(answer.status)) return answer;
        if (!isLater(answer))
          throw new Fault(`${call.method} ${call.path}: ${answer.status} ${last}`);
      }
      this.repeats++;
      await sleep(REPEAT_AFTER_MS);
    }
    throw new Fault(`${call.method} ${call.path}: no answer but ${last}`);
  }

  async #send({ method, path, body, headers = {} }: Call, isRepeat: boolean): Promise<Answer> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), ANSWER_WITHIN_MS);
    const { signal } = deadline;
    try {
      const response = await this.#client.send(method, path, body, { headers, signal });
      const text = await response.text();
      const { status } = response;
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      return { status, headers: response.headers, text, json: jsonOf(text), isRepeat };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Tells whether an answer asks to send the request again later. */
export function isLater({ status, headers }: Pick<Answer, "status" | "headers">): boolean {
  return status === 503 && headers.has("Retry-After");
}

/** Requires that the answer is a problem with this code. @throws Fault when it is not. */
export function expectCode({ json, text }: Answer, code: string): void {
  if (field(json, "code") !== code) throw new Fault(`answered ${text} instead of ${code}`);
}

/** Describes the end of a task in one line; null while the task is open. */
export function resultOf(task: unknown): string | null {
  const status = field(task, "status");
  if (status === "completed") return `completed ${String(field(task, "output", "urls"))}`;
  return status === "failed" ? `failed ${String(field(task, "error", "code"))}` : null;
}

/** Reads JSON; null when the text is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
