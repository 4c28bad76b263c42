import type {
  RegisterEvent,
  SubmitEndedEvent,
  SubmitOutcome,
} from "../../src/core/events/event.ts";
import type { SubmissionStart } from "../../src/core/record/submission.ts";
import type { Job } from "../../src/core/record/upstream.ts";
import { aCompletion } from "../core/builders.ts";
import { anUpstreamFailure, NO_OUTPUT } from "../core/upstream-builders.ts";

/** A registration with which a submission begins. */
export type Submitting = RegisterEvent & { readonly submission: SubmissionStart };

/** Observer of each call that submits a job. */
export interface SubmitObserver {
  onSubmit(submissionId: string): void;
  readonly observed: Set<string>;
  note(line: () => string): void;
}

/** One Worker that submits a job. `outcome` is null until the call has ended. */
interface Submitter {
  readonly start: SubmissionStart;
  readonly outcome: SubmitOutcome | null;
  readonly isSent: boolean;
  /** Number of times for which it has brought the outcome to the object. */
  readonly brought: number;
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
/** Possible outcomes of a call for which the upstream has started no job. */
const NOT_STARTED: readonly OutcomeOf[] = [
  () => REFUSED,
  () => ({ kind: "refused", statusCode: 400, refusal: "final" }),
  () => ({ kind: "refused", statusCode: 429, refusal: "busy" }),
  () => ({ kind: "refused", statusCode: 401, refusal: "key" }),
  () => UNKNOWN,
  () => ({ kind: "unknown", statusCode: 200 }),
];

/** Returns the id of the job that a submission starts. */
export function jobIdOf(submissionId: string): string {
  return `job-of-${submissionId}`;
}

/** The Workers that submit jobs, and the upstream to which they send their calls. */
export class Submitters {
  /** Workers that have something left to do. */
  list: readonly Submitter[] = [];
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
    this.list = [...this.list, { start, outcome: null, isSent: false, brought: 0 }];
  }

  /** Adds the Worker of a submission about which the object has not answered: it will never send the call. */
  giveUp({ submission: start }: Submitting): void {
    const outcome = { kind: "not_sent" } as const;
    this.list = [...this.list, { start, outcome, isSent: false, brought: 0 }];
  }

  /** Lets a Worker die. */
  lose(pick: number): void {
    const lost = this.list[pick % this.list.length];
    if (lost !== undefined) this.#observer.observed.add("a Worker that submits dies");
    this.list = this.list.filter((one) => one !== lost);
  }

  /** Lets a Worker do its next act. Returns the event with which it brings the outcome; null for another act. */
  proceed(pick: number, ending: number): SubmitEndedEvent | null {
    const index = pick % this.list.length;
    const one = this.list[index];
    if (one === undefined) return null;
    const next = this.#next(one, ending);
    const isDone = next.brought >= MOST_BRINGS;
    this.list = isDone ? this.list.toSpliced(index, 1) : this.list.with(index, next);
    if (next.brought === one.brought || next.outcome === null) return null;
    if (one.brought > 0) this.#observer.observed.add("an outcome is brought again");
    return { type: "submit_ended", submissionId: one.start.id, outcome: next.outcome };
  }

  #next(one: Submitter, ending: number): Submitter {
    const { id, endpoint } = one.start;
    if (one.outcome !== null) return { ...one, brought: one.brought + 1 };
    if (one.isSent) {
      const outcomes = this.hasStarted(id) ? STARTED : NOT_STARTED;
      const outcome = outcomes[ending % outcomes.length]?.({ id: jobIdOf(id), endpoint }) ?? null;
      this.#observer.note(() => `  the call of ${id} ends: ${JSON.stringify(outcome)}`);
      return { ...one, outcome };
    }
    if (ending % UNSENT_EVERY === UNSENT_EVERY - 1)
      return { ...one, outcome: { kind: "not_sent" } };
    this.#observer.onSubmit(id);
    this.#calls.set(id, ending % 3 !== 1);
    this.#observer.note(() => `  the call of ${id} is sent; started: ${this.hasStarted(id)}`);
    return { ...one, isSent: true };
  }
}
