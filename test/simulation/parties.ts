import type { ChargeAnswer, PollAnswer } from "../../src/core/events/event.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import type { AttemptResult } from "../../src/core/record/callback.ts";
import type { Charge } from "../../src/core/duties/charge.ts";
import type { Delivery } from "../../src/core/duties/deliver.ts";
import type { OperatorNotice } from "../../src/core/duties/notify.ts";
import type { Poll } from "../../src/core/duties/poll.ts";
import type { Refund } from "../../src/core/duties/refund.ts";
import { aCompletion, HOUR, PROCESSING, SECOND, URL_A } from "../core/builders.ts";
import {
  anUpstreamFailure,
  limited,
  NO_OUTPUT,
  QUEUED,
  told,
  UNANSWERED,
  UNAUTHORIZED,
} from "../core/upstream-builders.ts";
import type { SimulatedLedger } from "./ledger.ts";
import type { Outside, SimulatedObject } from "./simulated-object.ts";
import type { InvariantChecker } from "./invariant-checker.ts";

/** A call that has left the object and has not come back. */
export interface Flight {
  readonly what: "send" | "charge" | "refund" | "poll" | "publish" | "notify";
  readonly caller: SimulatedObject;
  /** When its caller stops waiting; Unix milliseconds. */
  readonly endsBy: number;
  /** The call comes to one of its ends, taken modulo their number; 0 is the best. */
  end(ending: number): void;
  /** Nothing has come in time. */
  expire(): void;
  /** It still arrives, and nobody hears of it; null: it leaves nothing behind. */
  readonly arrive: (() => void) | null;
}

/** One end of a call: what it does outside, and what the caller hears of it. */
interface Ending<T> {
  readonly isDone: boolean;
  readonly answer: T;
}

const CALL_MS = 2 * SECOND;
const ATTEMPT_MS = 10 * SECOND;
const NOTICE_MS = 5 * SECOND;
const OUTCOMES: readonly Outcome[] = [
  "delivered",
  "rejected",
  "redirected",
  "timeout",
  "unreachable",
  "blocked",
];
const UPSTREAM_SAYS: readonly PollAnswer[] = [
  told(aCompletion()),
  told(PROCESSING),
  told(QUEUED),
  told(anUpstreamFailure()),
  told(NO_OUTPUT),
  told(aCompletion({ urls: [URL_A], metadata: { seed: 1 } })),
  limited(),
  limited(HOUR),
  UNAUTHORIZED,
  UNANSWERED,
];
const DONE_OR_NOT: readonly Ending<boolean>[] = [
  { isDone: true, answer: true },
  { isDone: true, answer: false },
  { isDone: false, answer: false },
];

/** Receivers, ledger, upstream, index and operator of the simulation. */
export class Parties implements Outside {
  flights: Flight[] = [];
  /** Calls of the dead and the impatient that may still arrive. */
  readonly #lateCalls: (() => void)[] = [];
  /** The newest row of the index. */
  row: IndexRow | null = null;
  readonly ledger: SimulatedLedger;
  readonly #checker: InvariantChecker;
  readonly #now: () => number;

  constructor(ledger: SimulatedLedger, checker: InvariantChecker, now: () => number) {
    this.ledger = ledger;
    this.#checker = checker;
    this.#now = now;
  }

  send(delivery: Delivery, caller: SimulatedObject): Promise<AttemptResult> {
    this.#checker.sent(delivery, caller);
    const results = OUTCOMES.map((outcome): Ending<AttemptResult> => {
      return { isDone: true, answer: resultOf(outcome) };
    });
    const heard = ({ outcome }: AttemptResult) => this.#checker.heard(delivery.number, outcome);
    return this.#call("send", caller, ATTEMPT_MS, results, resultOf("timeout"), null, heard);
  }

  charge(charge: Charge, caller: SimulatedObject): Promise<ChargeAnswer> {
    this.#checker.charging(charge);
    const notAfter = this.#now() + CALL_MS;
    let answer: ChargeAnswer = { kind: "unknown" };
    const book = () => {
      answer = this.ledger.charge(charge, notAfter, this.#now());
      this.#checker.ledgerSaid(charge, answer);
    };
    const { promise, resolve } = Promise.withResolvers<ChargeAnswer>();
    void this.#call("charge", caller, CALL_MS, DONE_OR_NOT, false, book).then((isHeard) =>
      resolve(isHeard ? answer : { kind: "unknown" }),
    );
    return promise;
  }

  async refund(refund: Refund, caller: SimulatedObject): Promise<boolean> {
    this.#checker.refunding(refund);
    let isBack = false;
    const book = () => {
      isBack = this.ledger.refund(refund);
    };
    const isHeard = await this.#call("refund", caller, CALL_MS, DONE_OR_NOT, false, book);
    return isHeard && isBack;
  }

  poll(poll: Poll, aborted: AbortSignal, caller: SimulatedObject): Promise<PollAnswer> {
    this.#checker.polling(poll);
    const answers = UPSTREAM_SAYS.map((answer): Ending<PollAnswer> => ({ isDone: true, answer }));
    const heard = (answer: PollAnswer) => this.#checker.upstreamSaid(poll, answer);
    const asked = this.#call("poll", caller, ATTEMPT_MS, answers, UNANSWERED, null, heard);
    return this.#unlessAborted("poll", asked, aborted, UNANSWERED);
  }

  publish(row: IndexRow, caller: SimulatedObject): Promise<boolean> {
    this.#checker.publishing(row, CALL_MS);
    const write = () => {
      if (this.row === null || row.version >= this.row.version) this.row = row;
    };
    return this.#call("publish", caller, CALL_MS, DONE_OR_NOT, false, write);
  }

  notify(notice: OperatorNotice, aborted: AbortSignal, caller: SimulatedObject): Promise<boolean> {
    this.#checker.telling(notice, NOTICE_MS);
    const take = () => this.#checker.operatorTold(notice);
    const heard = (isTaken: boolean) => this.#checker.operatorAnswered(isTaken);
    const telling = this.#call("notify", caller, NOTICE_MS, DONE_OR_NOT, false, take, heard);
    return this.#unlessAborted("notify", telling, aborted, false);
  }

  /** The calls that this instance waits for. */
  of(caller: SimulatedObject): readonly Flight[] {
    return this.flights.filter((flight) => flight.caller === caller);
  }

  /** The call that ends first for want of an answer. @param until Unix milliseconds. */
  firstToExpire(until: number): Flight | undefined {
    const [first] = this.flights.toSorted((a, b) => a.endsBy - b.endsBy);
    return first !== undefined && first.endsBy <= until ? first : undefined;
  }

  arriveLate(pick: number): void {
    const [arrive] = this.#lateCalls.splice(pick % Math.max(1, this.#lateCalls.length), 1);
    if (arrive === undefined) return;
    this.#checker.observed.add("a late call of a dead instance arrives");
    arrive();
  }

  /** Nobody waits any longer for what the dead have asked. */
  abandonCalls(): void {
    for (const { arrive } of this.flights) if (arrive !== null) this.#lateCalls.push(arrive);
    this.flights = [];
  }

  #call<T>(
    what: Flight["what"],
    caller: SimulatedObject,
    withinMs: number,
    endings: readonly Ending<T>[],
    late: T,
    effect: (() => void) | null,
    heard?: (answer: T) => void,
  ): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const gone = () => {
      this.flights = this.flights.filter((one) => one !== flight);
    };
    const flight: Flight = {
      what,
      caller,
      endsBy: this.#now() + withinMs,
      arrive: effect,
      end: (pick) => {
        gone();
        const ending = endings[pick % endings.length];
        if (ending === undefined) return;
        if (ending.isDone) effect?.();
        if (ending.isDone && ending.answer === false)
          this.#checker.observed.add(`a ${what} is done unheard`);
        heard?.(ending.answer);
        this.#checker.note(() => `  ${what} ends: ${JSON.stringify(ending)}`);
        resolve(ending.answer);
      },
      expire: () => {
        gone();
        if (effect !== null) this.#lateCalls.push(effect);
        heard?.(late);
        this.#checker.note(() => `  ${what} takes too long`);
        resolve(late);
      },
    };
    this.flights.push(flight);
    this.#checker.note(() => `  ${what} leaves`);
    return promise;
  }

  /** Its caller stops waiting at once. */
  #unlessAborted<T>(
    what: Flight["what"],
    call: Promise<T>,
    aborted: AbortSignal,
    answer: T,
  ): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    aborted.addEventListener("abort", () => {
      this.flights = this.flights.filter((flight) => flight.what !== what);
      resolve(answer);
    });
    void call.then(resolve);
    return promise;
  }
}

function resultOf(outcome: Outcome): AttemptResult {
  const none = { outcome, statusCode: null, responseExcerpt: null, retryAfter: null };
  if (outcome !== "rejected") return none;
  return { ...none, statusCode: 503, responseExcerpt: "Back soon." };
}
