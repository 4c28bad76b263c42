import { setTimeout as sleep } from "node:timers/promises";
import { OPERATOR_KEY } from "../harness/client.ts";
import { field } from "../upstreams/api.ts";

const REPEAT_AFTER_MS = 250;
const GIVE_UP_AFTER_MS = 60_000;
/** Longer than the relay lets anybody wait. */
const ANSWER_WITHIN_MS = 20_000;

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the ledger may have to book something before or after the answer. */
  readonly isBooked?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Null: the body is empty, or not JSON. */
  readonly json: unknown;
  /** Whether an answer to the same request was lost before, or was that it cannot be done now. */
  readonly isRepeat: boolean;
}

/** What the relay must never say; the run ends with it in the report. */
export class Fault extends Error {}

/** The operator: repeats every request until it has an answer, whatever becomes of the relay. */
export class Caller {
  repeats = 0;
  readonly statuses = new Map<number, number>();
  readonly #url: string;
  #booking = Promise.withResolvers<void>();

  constructor(relay: { readonly url: string }) {
    this.#url = relay.url;
  }

  /** Until somebody asks for what has to be booked. */
  nextBooking(): Promise<void> {
    return this.#booking.promise;
  }

  /**
   * @param expected of a request that was made once; `repeated` are further answers to one that may have
   * been carried out already.
   * @throws Fault at any other answer.
   */
  async insist(
    call: Call,
    expected: readonly number[],
    repeated: readonly number[] = [],
  ): Promise<Answer> {
    const giveUpAt = Date.now() + GIVE_UP_AFTER_MS;
    if (call.isBooked === true) this.#announceBooking();
    let last = "";
    for (let isRepeat = false; Date.now() < giveUpAt; isRepeat = true) {
      const answer = await this.#ask(call, isRepeat).catch((error: unknown) => {
        last = `${String(error)} ${String(Reflect.get(Object(error), "cause"))}`;
        return null;
      });
      if (answer !== null && answer.status !== 503) {
        const { status } = answer;
        if (expected.includes(status) || (isRepeat && repeated.includes(status))) return answer;
        throw new Fault(`${call.method} ${call.path}: ${status} ${answer.text}`);
      }
      if (answer !== null) last = reasonOf(answer);
      this.repeats++;
      await sleep(REPEAT_AFTER_MS);
    }
    throw new Fault(`${call.method} ${call.path}: no answer but ${last}`);
  }

  #announceBooking(): void {
    this.#booking.resolve();
    this.#booking = Promise.withResolvers();
  }

  async #ask({ method, path, body, headers }: Call, isRepeat: boolean): Promise<Answer> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), ANSWER_WITHIN_MS);
    try {
      const response = await fetch(`${this.#url}${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${OPERATOR_KEY}`,
          "Content-Type": "application/json",
          ...headers,
        },
        signal: deadline.signal,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const { status } = response;
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      return { status, headers: response.headers, text, json: jsonOf(text), isRepeat };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** How a task ended, in one line; null: it is open. */
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

/** What is said of a request that cannot be done now. @throws Fault when it is not said when to try again. */
function reasonOf({ headers, text }: Answer): string {
  if (headers.get("Retry-After") === null) throw new Fault(`503 without Retry-After: ${text}`);
  return text;
}
