import type { CallStart } from "../../src/core/events/call-start.ts";
import type {
  CallStartedEvent,
  RegisterEvent,
  SubmitEndedEvent,
  SubmitOutcome,
} from "../../src/core/events/event.ts";
import type { SubmissionStart } from "../../src/core/record/submission.ts";
import type { Job } from "../../src/core/record/upstream.ts";
import { aCompletion, VIDEO } from "../core/builders.ts";
import { anUpstreamFailure, NO_OUTPUT } from "../core/upstream-builders.ts";

/** A registration with which a submission begins. */
export type Submitting = RegisterEvent & { readonly submission: SubmissionStart };

/** Observer of each call that submits a job. */
export interface SubmitObserver {
  onSubmit(submissionId: string): void;
  /** Function that is told when the object of a call deletes the files of an answer, because no task has taken them. */
  onFilesDeleted(submissionId: string): void;
  readonly observed: Set<string>;
  note(line: () => string): void;
}

/** One Worker that submits a job, or the object of a call. `outcome` is null until the call has ended. */
interface Submitter {
  readonly start: SubmissionStart;
  readonly outcome: SubmitOutcome | null;
  readonly isSent: boolean;
  /** Number of times for which it has brought the outcome to the object. */
  readonly brought: number;
  /** What the object of a call knows; null for a Worker. */
  readonly call: CallFacts | null;
}

/** What the object of a call knows. A call whose caller waits is made by the Worker and has no such object. */
interface CallFacts {
  /** States that the task has told the object to send the call. The object stores this before it sends. */
  readonly isBegun: boolean;
  /** States that the run of the object which has begun the call goes on. */
  readonly isFresh: boolean;
  /** States that the task has confirmed the outcome. */
  readonly isConfirmed: boolean;
}

type OutcomeOf = (job: Job) => SubmitOutcome;

const ANSWER = { status: 200, contentType: "application/json", body: '{"id":"a job"}' };
/** An answer that is kept until the task is settled: its 700 characters of three bytes make it too large to be kept longer. */
const LARGE_ANSWER = { ...ANSWER, body: JSON.stringify({ id: "a job", prompt: "狐".repeat(700) }) };
const HEARD = { statusCode: 200, answer: ANSWER } as const;
const HEARD_MUCH = { statusCode: 200, answer: LARGE_ANSWER } as const;
const UNKNOWN = { kind: "unknown", statusCode: null } as const;
const REFUSED = { kind: "refused", statusCode: 402, refusal: "funds" } as const;
/** Number of times that an outcome is brought at most, because its Worker may not have heard the answer. */
const MOST_BRINGS = 3;
/** One of this many Workers never sends the call, e.g. because its caller stopped sending the body. */
const UNSENT_EVERY = 8;

/** Choices of a Worker with a call: it sends it, and the upstream starts the job (`started`) or not (`refused`); or it never sends it. */
export const SEND = { started: 0, refused: 1, never: 7 };
/** How a call ends whose job was started (indices of `STARTED`), and how one whose job was not (`NOT_STARTED`). */
export const END = { accepted: 0, acceptedUnkept: 2, result: 3, unanswered: 7, unclear: 9 };
export const END_WITHOUT_JOB = { refused: 0, unanswered: 4, unclear: 5 };

/** Possible outcomes of a call whose job the upstream has started; the first is the best. */
const STARTED: readonly OutcomeOf[] = [
  (job) => ({ kind: "accepted", job, isHookExpected: true, ...HEARD }),
  (job) => ({ kind: "accepted", job, isHookExpected: false, ...HEARD_MUCH }),
  (job) => ({ kind: "accepted", job, isHookExpected: true, statusCode: 201, answer: null }),
  (job) => ({ kind: "result", job, news: aCompletion(), ...HEARD_MUCH }),
  () => ({ kind: "result", job: null, news: aCompletion(), ...HEARD }),
  (job) => ({ kind: "result", job, news: anUpstreamFailure(), ...HEARD_MUCH }),
  (job) => ({ kind: "result", job, news: NO_OUTPUT, ...HEARD }),
  () => UNKNOWN,
  () => UNKNOWN,
  () => ({ kind: "unknown", statusCode: 502 }),
];
const PNG = { bytes: 700, mediaType: "image/png" };
const SKELETON = { number: 0, contentType: "application/json", bytes: 90 } as const;
/** An answer that is itself the output. */
const SPEECH = { number: 1, contentType: "audio/mpeg", bytes: 700 } as const;
const PICTURES = aCompletion({ urls: [], files: [PNG, PNG], storedAnswer: SKELETON });
const IN_BUCKET = { statusCode: 200, answer: null } as const;

/** Possible ends of a call whose answer has files, which its object has stored; the first is the best. */
const WITH_FILES: readonly OutcomeOf[] = [
  () => ({ kind: "result", job: null, news: PICTURES, ...IN_BUCKET }),
  (job) => ({ kind: "result", job, news: { ...PICTURES, urls: [VIDEO] }, ...IN_BUCKET }),
  () => ({
    kind: "result",
    job: null,
    news: aCompletion({ urls: [], files: [PNG], storedAnswer: SPEECH }),
    ...IN_BUCKET,
  }),
];

/** Possible outcomes of a call for which the upstream has started no job. */
const NOT_STARTED: readonly OutcomeOf[] = [
  () => REFUSED,
  () => ({ kind: "refused", statusCode: 400, refusal: "final" }),
  () => ({ kind: "refused", statusCode: 429, refusal: "busy" }),
  () => ({ kind: "refused", statusCode: 401, refusal: "key" }),
  () => UNKNOWN,
  () => ({ kind: "unknown", statusCode: 200 }),
];

const REFUSED_CALL = { ...REFUSED, answer: { ...ANSWER, status: 402 } };
/** Possible outcomes of a call for which the upstream has started no job, and whose caller does not wait. */
const CALL_NOT_STARTED: readonly OutcomeOf[] = [() => REFUSED_CALL, ...NOT_STARTED];
const CALL_STARTED: readonly OutcomeOf[] = [...WITH_FILES, ...WITH_FILES, ...STARTED];

/** How a call with an object ends whose job was started (indices of `CALL_STARTED`). */
export const CALL_END = { pictures: 0, mixed: 1, speech: 2, accepted: 6, unanswered: 13 };

/** Returns the id of the job that a submission starts. */
export function jobIdOf(submissionId: string): string {
  return `job-of-${submissionId}`;
}

/** The Workers and objects that submit jobs, and the upstream to which they send their calls. */
export class Submitters {
  /** Workers and objects that have something left to do. */
  list: readonly Submitter[] = [];
  /** Ids of the submissions of whose answers the objects of calls have stored files that nobody has taken yet. */
  readonly #files = new Set<string>();
  /** The calls that have arrived at the upstream, with their submissions, and whether each has started a job. */
  readonly #calls = new Map<string, boolean>();
  readonly #observer: SubmitObserver;

  constructor(observer: SubmitObserver) {
    this.#observer = observer;
  }

  /** Ids of all submissions whose calls were sent, oldest first. */
  get sent(): readonly string[] {
    return [...this.#calls.keys()];
  }

  /** Tells whether the upstream has got the call of a submission, and has started its job. */
  hasStarted(submissionId: string): boolean {
    return this.#calls.get(submissionId) === true;
  }

  /** Tells whether the upstream has started this job for this submission. */
  isOwn(submissionId: string, jobId: string): boolean {
    return this.hasStarted(submissionId) && jobId === jobIdOf(submissionId);
  }

  /** Adds the Worker of a submission that the object has recorded: it may send the call. */
  begin({ submission: start }: Submitting): void {
    if (start.isCall !== true) this.#add(start, null);
  }

  /** Adds the object of a call, which stores the call before its submission is registered. */
  store({ submission: start }: Submitting): void {
    if (start.isCall !== true) return;
    const call = { isBegun: false, isFresh: false, isConfirmed: false };
    this.list = [...this.list, { start, outcome: null, isSent: false, brought: 0, call }];
  }

  /** Adds the Worker of a submission about which the object has not answered: it will never send the call. */
  giveUp({ submission: start }: Submitting): void {
    // The object of a call asks the task.
    if (start.isCall !== true) this.#add(start, { kind: "not_sent" });
  }

  #add(start: SubmissionStart, outcome: SubmitOutcome | null): void {
    this.list = [...this.list, { start, outcome, isSent: false, brought: 0, call: null }];
  }

  /** Lets a Worker die, or the object of a call, which goes on with what it has stored. */
  lose(pick: number): void {
    const lost = this.list[pick % this.list.length];
    if (lost === undefined) return;
    if (lost.call === null) {
      this.#observer.observed.add("a Worker that submits dies");
      this.list = this.list.filter((one) => one !== lost);
      return;
    }
    const stage = !lost.call.isBegun ? "before" : lost.isSent ? "after" : "between";
    this.#observer.observed.add(`the object of a call dies ${stage} its start and its call`);
    const call = { ...lost.call, isFresh: false };
    this.#replace(lost, { ...lost, call, outcome: null });
  }

  /** Takes the answer of a task to the object of a call that begins. */
  answerStart(submissionId: string, { kind }: CallStart): void {
    const one = this.#callOf(submissionId);
    if (one === null || one.call.isBegun) return;
    this.#observer.observed.add(`the object of a call is told: ${kind}`);
    if (kind === "gone") this.list = this.list.filter((other) => other !== one);
    if (kind === "send") {
      this.#replace(one, { ...one, call: { ...one.call, isBegun: true, isFresh: true } });
    }
  }

  /** Takes the answer of a task to the end of a call. @param areTaken true when the files belong to the task. */
  answerEnd(submissionId: string, areTaken: boolean): void {
    const one = this.#callOf(submissionId);
    if (one !== null) this.#replace(one, { ...one, call: { ...one.call, isConfirmed: true } });
    if (!this.#files.delete(submissionId)) return;
    this.#observer.observed.add(`files of a call are ${areTaken ? "taken" : "deleted"}`);
    if (!areTaken) this.#observer.onFilesDeleted(submissionId);
  }

  #callOf(submissionId: string): (Submitter & { readonly call: CallFacts }) | null {
    const one = this.list.find(({ start }) => start.id === submissionId);
    return one === undefined || one.call === null ? null : { ...one, call: one.call };
  }

  #replace({ start: { id } }: Submitter, next: Submitter): void {
    this.list = this.list.map((one) => (one.start.id === id ? next : one));
  }

  /**
   * Lets a Worker or the object of a call do its next act. Returns the event with which it begins the call or brings the
   * outcome; null for another act.
   */
  proceed(pick: number, ending: number): SubmitEndedEvent | CallStartedEvent | null {
    const index = pick % this.list.length;
    const one = this.list[index];
    if (one === undefined) return null;
    if (one.call?.isBegun === false) return { type: "call_started", submissionId: one.start.id };
    const next = this.#next(one, ending);
    const isDone = next.brought >= MOST_BRINGS && next.call?.isConfirmed !== false;
    this.list = isDone ? this.list.toSpliced(index, 1) : this.list.with(index, next);
    if (next.brought === one.brought || next.outcome === null) return null;
    if (one.brought > 0) this.#observer.observed.add("an outcome is brought again");
    return { type: "submit_ended", submissionId: one.start.id, outcome: next.outcome };
  }

  #next(one: Submitter, ending: number): Submitter {
    const { id, endpoint } = one.start;
    if (one.outcome !== null) return { ...one, brought: one.brought + 1 };
    // A call of an earlier run is never sent, because it may have been sent already.
    if (one.call?.isFresh === false) return { ...one, outcome: UNKNOWN };
    if (one.isSent) {
      const outcomes = this.#outcomesOf(one);
      const outcome = outcomes[ending % outcomes.length]?.({ id: jobIdOf(id), endpoint }) ?? null;
      this.#observer.note(() => `  the call of ${id} ends: ${JSON.stringify(outcome)}`);
      const isStored = outcome?.kind === "result" && outcome.news.status === "completed";
      if (isStored && outcome.news.files !== undefined) this.#files.add(id);
      return { ...one, outcome };
    }
    if (ending % UNSENT_EVERY === UNSENT_EVERY - 1)
      return { ...one, outcome: { kind: "not_sent" } };
    this.#observer.onSubmit(id);
    this.#calls.set(id, ending % 3 !== 1);
    this.#observer.note(() => `  the call of ${id} is sent; started: ${this.hasStarted(id)}`);
    return { ...one, isSent: true };
  }

  #outcomesOf({ start, call }: Submitter): readonly OutcomeOf[] {
    if (call === null) return this.hasStarted(start.id) ? STARTED : NOT_STARTED;
    return this.hasStarted(start.id) ? CALL_STARTED : CALL_NOT_STARTED;
  }
}
