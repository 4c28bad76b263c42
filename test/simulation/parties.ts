import type { Delivery } from "../../src/core/duties/callback-attempt.ts";
import type { Poll } from "../../src/core/duties/poll.ts";
import type { CancelAnswer, ChargeAnswer, PollAnswer } from "../../src/core/events/event.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import type { Outcome } from "../../src/core/record/outcome.ts";
import type { Job } from "../../src/core/record/upstream.ts";
import { type AttemptResult, unansweredAttempt } from "../../src/core/record/callback.ts";
import type { EndedAttempt } from "../../src/objects/task/sender-binding.ts";
import { aCompletion, HOUR, PROCESSING, SECOND, URL_A } from "../core/builders.ts";
import {
  anUpstreamFailure,
  rateLimited,
  NO_OUTPUT,
  QUEUED,
  newsAnswer,
  UNANSWERED,
  UNAUTHORIZED,
} from "../core/upstream-builders.ts";
import type { SimulatedLedger } from "./ledger.ts";
import type { CallObserver, OpenCall } from "./open-call.ts";
import { UpstreamJobs } from "./upstream-jobs.ts";
import { TOO_MANY_LINKS } from "./oversized.ts";
import type { CallName, Outside, SimulatedObject } from "./simulated-object.ts";

/** One possible end of a call: whether the call has its effect outside, and the answer to the caller. */
interface Ending<T> {
  readonly isDone: boolean;
  readonly answer: T;
}

const CALL_MS = 2 * SECOND;
const ATTEMPT_MS = 10 * SECOND;
const NOTICE_MS = 5 * SECOND;
export const ANSWERED_OUTCOMES: readonly Outcome[] = [
  "delivered",
  "rejected",
  "redirected",
  "timeout",
  "unreachable",
  "blocked",
];
/**
 * Number of acts of a slow sender: its receiver answers with one of the outcomes, and the end is reported; it answers, and
 * nothing is reported yet; or the sender dies.
 */
export const SENDER_ACTS = ANSWERED_OUTCOMES.length + 2;
export const POLL_ANSWERS: readonly PollAnswer[] = [
  newsAnswer(aCompletion()),
  newsAnswer(PROCESSING),
  newsAnswer(QUEUED),
  newsAnswer(anUpstreamFailure()),
  newsAnswer(NO_OUTPUT),
  newsAnswer(aCompletion({ urls: [URL_A], metadata: { seed: 1 } })),
  rateLimited(),
  rateLimited(HOUR),
  UNAUTHORIZED,
  { kind: "unclear", statusCode: 404, word: null },
  UNANSWERED,
  { kind: "deferred", waitMs: 100 * SECOND },
  newsAnswer(TOO_MANY_LINKS),
  newsAnswer({ ...aCompletion(), usage: { total_tokens: 7 } }),
  { kind: "unanswered", retryAfterMs: HOUR },
];
/** Result of a poll whose answer does not show that the job belongs to the task. */
const UNCONFIRMED: PollAnswer = { kind: "unclear", statusCode: 200, word: null };
/** Possible ends of a call that cancels a job; the first is the best. A call that is done has stopped the job. */
export const CANCEL_ENDINGS: readonly Ending<CancelAnswer>[] = [
  { isDone: true, answer: { kind: "canceled", statusCode: 200 } },
  { isDone: true, answer: { kind: "canceled", statusCode: 200 } },
  { isDone: true, answer: { kind: "accepted", statusCode: 202 } },
  { isDone: false, answer: { kind: "accepted", statusCode: 202 } },
  { isDone: false, answer: { kind: "ended", statusCode: 400 } },
  { isDone: false, answer: { kind: "refused", statusCode: 409 } },
  { isDone: true, answer: { kind: "refused", statusCode: 409 } },
  { isDone: true, answer: { kind: "unanswered", statusCode: null } },
  { isDone: false, answer: { kind: "unanswered", statusCode: 503 } },
  { isDone: true, answer: { kind: "unclear", statusCode: 404 } },
  { isDone: false, answer: { kind: "unclear", statusCode: 404 } },
];
const CANCEL_UNANSWERED: CancelAnswer = { kind: "unanswered", statusCode: null };
const DONE_OR_NOT: readonly Ending<boolean>[] = [
  { isDone: true, answer: true },
  { isDone: true, answer: false },
  { isDone: false, answer: false },
];

/** The sender of an attempt that does not keep the object waiting. It goes on when the instance that called it dies. */
export class SlowSender {
  readonly delivery: Delivery;
  /** Time at which it stops waiting for the receiver, in Unix milliseconds. */
  readonly endsBy: number;
  /** End of the attempt; null while the receiver has not answered. */
  ended: EndedAttempt | null = null;
  /** States that the end has been reported to the object. */
  isReported = false;

  constructor(delivery: Delivery, endsBy: number) {
    this.delivery = delivery;
    this.endsBy = endsBy;
  }
}

/** Receivers, ledger, upstream, index and operator: every call stays open until it is ended from outside. */
export class Parties implements Outside {
  openCalls: OpenCall[] = [];
  /** Senders that have answered the object before their receivers have answered, also those that have ended. */
  senders: SlowSender[] = [];
  /** Calls that may still arrive although their caller is dead or has stopped waiting. */
  readonly #lateCalls: (() => void)[] = [];
  #aborts = 0;
  #percent = 0;
  /** Jobs of the upstream. */
  readonly jobs = new UpstreamJobs();
  /** Newest row of the task in the index. */
  row: IndexRow | null = null;
  readonly ledger: SimulatedLedger;
  readonly #observer: CallObserver;
  readonly #now: () => number;
  /** Tells whether the upstream has started the polled job for the submission of the poll, if it has one. */
  readonly #isConfirmed: (poll: Poll) => boolean;

  constructor(
    ledger: SimulatedLedger,
    observer: CallObserver,
    now: () => number,
    isConfirmed: (poll: Poll) => boolean = () => true,
  ) {
    this.ledger = ledger;
    this.#observer = observer;
    this.#now = now;
    this.#isConfirmed = isConfirmed;
  }

  readonly send: Outside["send"] = async (delivery, caller) => {
    this.#observer.onSend(delivery, caller);
    const results = ANSWERED_OUTCOMES.map((outcome): Ending<AttemptResult | null> => {
      return { isDone: true, answer: resultOf(outcome) };
    });
    const sender = new SlowSender(delivery, this.#now() + ATTEMPT_MS);
    const onAnswer = (result: AttemptResult | null) => {
      if (result === null) this.senders.push(sender);
      else this.#endSending(sender, result.outcome);
    };
    const late = resultOf("timeout");
    await this.#call("send", caller, ATTEMPT_MS, results, late, null, onAnswer, null);
    return sender.ended;
  };

  /** Lets the sender of the first open attempt answer the object, because its receiver is slow. */
  defer(): void {
    this.openCalls.find(({ defer }) => defer !== null)?.defer?.();
  }

  /** Ends the attempt of a sender with an outcome. */
  endSending(sender: SlowSender, outcome: Outcome): void {
    this.#observer.note?.(() => `  the sender of attempt ${sender.delivery.number}: ${outcome}`);
    this.#endSending(sender, outcome);
  }

  #endSending(sender: SlowSender, outcome: Outcome): void {
    const endedAt = this.#now();
    const { delivery: attempt } = sender;
    sender.ended = { attempt, result: resultOf(outcome), endedAt };
    this.#observer.onSendResult?.(attempt, outcome, endedAt);
  }

  /** Returns the sender whose receiver is waited for the shortest time. @param until time in Unix milliseconds. */
  firstSenderToExpire(until: number): SlowSender | undefined {
    return this.senders
      .filter(({ ended, endsBy }) => ended === null && endsBy <= until)
      .toSorted((a, b) => a.endsBy - b.endsBy)[0];
  }

  readonly sendProgress: Outside["sendProgress"] = (callback, _mayStart, caller) => {
    this.#observer.onProgress?.(callback, caller);
    const results = ANSWERED_OUTCOMES.map((outcome): Ending<AttemptResult> => {
      return { isDone: true, answer: resultOf(outcome) };
    });
    const onAnswer = () => this.#observer.onProgressAnswer?.(caller);
    const late = resultOf("timeout");
    return this.#call("sendProgress", caller, ATTEMPT_MS, results, late, null, onAnswer);
  };

  readonly charge: Outside["charge"] = (charge, caller) => {
    this.#observer.onCharge(charge);
    const notAfter = this.#now() + CALL_MS;
    let answer: ChargeAnswer = { kind: "unknown" };
    const book = () => {
      answer = this.ledger.charge(charge, notAfter, this.#now());
      this.#observer.onChargeAnswer?.(charge, answer);
    };
    const { promise, resolve } = Promise.withResolvers<ChargeAnswer>();
    void this.#call("charge", caller, CALL_MS, DONE_OR_NOT, false, book).then((isHeard) =>
      resolve(isHeard ? answer : { kind: "unknown" }),
    );
    return promise;
  };

  readonly refund: Outside["refund"] = async (refund, caller) => {
    this.#observer.onRefund?.(refund);
    let isBack = false;
    const book = () => {
      isBack = this.ledger.refund(refund, this.#now());
    };
    const isHeard = await this.#call("refund", caller, CALL_MS, DONE_OR_NOT, false, book);
    return isHeard && isBack;
  };

  readonly release: Outside["release"] = async (release, caller) => {
    this.#observer.onRelease?.(release, CALL_MS);
    let isBack = false;
    const book = () => {
      isBack = this.ledger.release(release, this.#now());
    };
    const isHeard = await this.#call("release", caller, CALL_MS, DONE_OR_NOT, false, book);
    return isHeard && isBack;
  };

  readonly poll: Outside["poll"] = (poll, aborted, caller) => {
    this.#observer.onPoll(poll, caller, ATTEMPT_MS);
    const isConfirmed = this.#isConfirmed(poll);
    const shown = (answer: PollAnswer) =>
      isConfirmed || answer.kind !== "news"
        ? this.#withProgress(this.jobs.truthful(poll.job, answer))
        : UNCONFIRMED;
    const answers = POLL_ANSWERS.map((answer): Ending<PollAnswer> => {
      return { isDone: true, answer: shown(answer) };
    });
    const onAnswer = (answer: PollAnswer) => this.#observer.onPollAnswer?.(poll, answer, caller);
    const answered = this.#call("poll", caller, ATTEMPT_MS, answers, UNANSWERED, null, onAnswer);
    // The first abort and every second one after it come too late: the answer has already arrived.
    return this.#unlessAborted("poll", answered, aborted, () => {
      const isLate = this.#aborts++ % 2 === 0;
      const answer = shown(isLate ? newsAnswer(aCompletion({ urls: [URL_A] })) : UNANSWERED);
      onAnswer(answer);
      return answer;
    });
  };

  /** Returns an answer to a client's read of a job. Null for one that is not brought to the task. */
  answerToRead(job: Job, ending: number): PollAnswer | null {
    const answer = POLL_ANSWERS[ending % POLL_ANSWERS.length];
    return answer === undefined || answer.kind === "deferred"
      ? null
      : this.#withProgress(this.jobs.truthful(job, answer));
  }

  /** Returns an answer with the percentage that the upstream states of a running job, which rises by 3 at each answer. */
  #withProgress(answer: PollAnswer): PollAnswer {
    if (answer.kind !== "news" || answer.news.status !== "processing") return answer;
    this.#percent = (this.#percent + 3) % 101;
    return { ...answer, progress: this.#percent };
  }

  readonly cancelJob: Outside["cancelJob"] = async (cancel, aborted, caller) => {
    this.#observer.onCancel?.(cancel, caller);
    const stop = () => this.jobs.stop(cancel.job);
    const call = this.#call(
      "cancelJob",
      caller,
      ATTEMPT_MS,
      CANCEL_ENDINGS,
      CANCEL_UNANSWERED,
      stop,
    );
    // The request has left when the wait for its answer is given up.
    const given = await this.#unlessAborted("cancelJob", call, aborted, () => {
      this.#lateCalls.push(stop);
      return CANCEL_UNANSWERED;
    });
    const answer = this.jobs.answerTo(cancel.job, given);
    this.#observer.onCancelAnswer?.(cancel, answer, caller);
    return answer;
  };

  readonly writeIndexRow: Outside["writeIndexRow"] = (row, caller) => {
    this.#observer.onIndexRow?.(row, CALL_MS, caller);
    const write = () => {
      if (this.row === null || row.version >= this.row.version) this.row = row;
    };
    return this.#call("writeIndexRow", caller, CALL_MS, DONE_OR_NOT, false, write);
  };

  readonly orderCopies: Outside["orderCopies"] = (order, caller) => {
    this.#observer.onCopyOrder?.(order, CALL_MS);
    const onAnswer = (isTaken: boolean) => this.#observer.onCopyOrderAnswer?.(order, isTaken);
    return this.#call("orderCopies", caller, CALL_MS, DONE_OR_NOT, false, null, onAnswer);
  };

  readonly leaveQueues: Outside["leaveQueues"] = (_leave, caller) =>
    this.#call("leaveQueues", caller, CALL_MS, DONE_OR_NOT, false, null);

  readonly sendNotice: Outside["sendNotice"] = (notice, aborted, caller) => {
    this.#observer.onNotice?.(notice, NOTICE_MS);
    const take = () => this.#observer.onNoticeTaken?.(notice);
    const onAnswer = (isTaken: boolean) => this.#observer.onNoticeAnswer?.(isTaken);
    const answered = this.#call(
      "sendNotice",
      caller,
      NOTICE_MS,
      DONE_OR_NOT,
      false,
      take,
      onAnswer,
    );
    return this.#unlessAborted("sendNotice", answered, aborted, () => false);
  };

  /** Returns the open calls of an instance. */
  of(caller: SimulatedObject): readonly OpenCall[] {
    return this.openCalls.filter((call) => call.caller === caller);
  }

  /** Returns the open call that times out first. @param until time in Unix milliseconds. */
  firstToExpire(until: number): OpenCall | undefined {
    const [first] = this.openCalls.toSorted((a, b) => a.endsBy - b.endsBy);
    return first !== undefined && first.endsBy <= until ? first : undefined;
  }

  arriveLate(pick: number): void {
    const [arrive] = this.#lateCalls.splice(pick % Math.max(1, this.#lateCalls.length), 1);
    if (arrive === undefined) return;
    this.#observer.observed?.add("a late call of a dead instance arrives");
    arrive();
  }

  /** Drops all open calls, because their caller is dead. */
  abandonCalls(): void {
    for (const { arrive } of this.openCalls) if (arrive !== null) this.#lateCalls.push(arrive);
    this.openCalls = [];
  }

  #call<T>(
    what: CallName,
    caller: SimulatedObject,
    withinMs: number,
    endings: readonly Ending<T>[],
    late: T,
    effect: (() => void) | null,
    onAnswer?: (answer: T) => void,
    deferral?: T,
  ): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const gone = () => {
      this.openCalls = this.openCalls.filter((one) => one !== call);
    };
    const call: OpenCall = {
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
          this.#observer.observed?.add(`${what} is done without an answer`);
        onAnswer?.(ending.answer);
        this.#observer.note?.(() => `  ${what} ends: ${JSON.stringify(ending)}`);
        resolve(ending.answer);
      },
      defer:
        deferral === undefined
          ? null
          : () => {
              gone();
              onAnswer?.(deferral);
              this.#observer.note?.(() => `  ${what} goes on without the object`);
              resolve(deferral);
            },
      expire: () => {
        gone();
        if (effect !== null) this.#lateCalls.push(effect);
        onAnswer?.(late);
        this.#observer.note?.(() => `  ${what} takes too long`);
        resolve(late);
      },
    };
    this.openCalls.push(call);
    this.#observer.note?.(() => `  ${what} leaves`);
    this.#observer.onOpenCall?.(call);
    return promise;
  }

  /** Makes the caller stop waiting when its call is aborted. */
  #unlessAborted<T>(
    what: CallName,
    call: Promise<T>,
    aborted: AbortSignal,
    answer: () => T,
  ): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    aborted.addEventListener("abort", () => {
      this.openCalls = this.openCalls.filter((open) => open.what !== what);
      resolve(answer());
    });
    void call.then(resolve);
    return promise;
  }
}

function resultOf(outcome: Outcome): AttemptResult {
  const none = unansweredAttempt(outcome);
  if (outcome !== "rejected") return none;
  return { ...none, statusCode: 503, responseExcerpt: "Back soon." };
}
