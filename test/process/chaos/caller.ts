import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../harness/client.ts";
import { field } from "../upstreams/apis.ts";

const REPEAT_AFTER_MS = 250;
/** Longer than the minute after which an interrupted charge may be tried again. */
const GIVE_UP_AFTER_MS = 120_000;
/** Longer than the relay lets any caller wait. */
const ANSWER_WITHIN_MS = 20_000;

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** The request leads to a charge or a refund. */
  readonly isBooked?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Null when the body is empty or no JSON. */
  readonly json: unknown;
  /** An earlier answer to the same request was lost, or was 503. */
  readonly isRepeat: boolean;
}

/** An answer that the relay must never give; it ends the task's run and goes into the report. */
export class Fault extends Error {}

/** The operator, who repeats every request until it is answered, however often the relay dies. */
export class Caller {
  repeats = 0;
  readonly statuses = new Map<number, number>();
  readonly #client: Client;
  #booking = Promise.withResolvers<void>();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Resolves at the next request that leads to a charge or a refund. */
  nextBooking(): Promise<void> {
    return this.#booking.promise;
  }

  /**
   * @param expected statuses of the first answer.
   * @param repeated further statuses that a repeated request may have, because it may have taken effect.
   * @throws Fault at any other answer.
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
        const isLater = answer.status === 503 && answer.headers.has("Retry-After");
        if (!isLater) throw new Fault(`${call.method} ${call.path}: ${answer.status} ${last}`);
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

/** @throws Fault unless the answer is a problem with this code. */
export function expectCode({ json, text }: Answer, code: string): void {
  if (field(json, "code") !== code) throw new Fault(`answered ${text} instead of ${code}`);
}

/** The end of a task in one line; null while it is open. */
export function resultOf(task: unknown): string | null {
  const status = field(task, "status");
  if (status === "completed") return `completed ${String(field(task, "output", "urls"))}`;
  return status === "failed" ? `failed ${String(field(task, "error", "code"))}` : null;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
