import type { Cancel } from "../../../src/core/duties/cancel-job.ts";
import type { Poll } from "../../../src/core/duties/poll.ts";
import type { CancelAnswer, PollAnswer, SubmitOutcome } from "../../../src/core/events/event.ts";
import { endForAccount, type RefusalClass } from "../../../src/core/record/refusal.ts";
import type { UpstreamEnd } from "../../../src/core/record/upstream.ts";
import { MINUTE, SECOND } from "../../core/builders.ts";
import type { Random } from "../random.ts";
import type { Machine } from "./machine.ts";
import type { SentCall } from "./outside.ts";

/** How an upstream behaves towards one key. */
export interface Behaviour {
  /** Number of jobs that it runs at once; it refuses further ones as `busy`. */
  readonly cap: number;
  /** Probabilities of other refusals. */
  readonly refusals: Readonly<Record<RefusalClass, number>>;
  /** Probability of an answer that tells nothing: an error of a server, or none at all. */
  readonly unclear: number;
  /** Probability of an answer that comes late. */
  readonly late: number;
  /** Probability that the end of a job is reported by a hook. */
  readonly hook: number;
  /** Probability that a job fails. */
  readonly failure: number;
  /** How jobs that a pool submits again after failures fail. Null when they fail as others do. */
  readonly failures: readonly FailureKind[] | null;
  readonly longestMs: number;
  /** Returns how long the next job takes, in milliseconds. Absent when all times up to `longestMs` are as likely. */
  readonly lengthMs?: (random: Random) => number;
}

/** Kinds of failures, of which only some may be followed by another job. */
export const FAILURE_KINDS = [
  "provider",
  "timeout",
  "rate_limited",
  "funds",
  "moderation",
  "invalid_input",
  "canceled",
  "final",
] as const;
type FailureKind = (typeof FAILURE_KINDS)[number];

/** Kinds of failures after which the call may be submitted to another member of a pool. */
const FOLLOWED: ReadonlySet<string> = new Set(["provider", "timeout", "rate_limited", "funds"]);

export const GOOD: Behaviour = {
  cap: Infinity,
  refusals: { busy: 0, rate: 0, funds: 0, key: 0, final: 0 },
  unclear: 0,
  late: 0,
  hook: 1,
  failure: 0,
  failures: null,
  longestMs: 5 * MINUTE,
};

export interface SimulatedJob {
  readonly id: string;
  readonly call: SentCall;
  /** Time of its start, and how long it takes unless it is canceled, in milliseconds. */
  readonly startedAt: number;
  readonly lengthMs: number;
  end: UpstreamEnd | null;
  /** True when the job has failed so that the call may be submitted to another member of a pool. */
  mayBeFollowed: boolean;
}

const STATUS = { busy: 429, rate: 429, funds: 402, key: 401, final: 400 } as const;

/** The upstream: an account for each connection, with its own key. */
export class Upstream {
  readonly jobs: SimulatedJob[] = [];
  /** Behaviours by connection. */
  behaviours = new Map<string, Behaviour>();
  readonly #machine: Machine;
  readonly #kinds: Random;
  /** Tells whether a call is submitted to further members when its job has failed. */
  readonly #isFollowed: (call: SentCall) => boolean;
  /** Is called when a job starts, and when it has ended by a hook. */
  readonly #onStart: (job: SimulatedJob) => void;
  readonly #onHook: (job: SimulatedJob) => void;

  constructor(
    machine: Machine,
    kinds: Random,
    isFollowed: (call: SentCall) => boolean,
    onStart: (job: SimulatedJob) => void,
    onHook: (job: SimulatedJob) => void,
  ) {
    this.#machine = machine;
    this.#kinds = kinds;
    this.#isFollowed = isFollowed;
    this.#onStart = onStart;
    this.#onHook = onHook;
  }

  /** Returns the jobs that run with the key of a connection. */
  running(connection: string): readonly SimulatedJob[] {
    return this.jobs.filter(({ call, end }) => call.connection === connection && end === null);
  }

  /** Answers a call that starts a job. */
  async submit(call: SentCall): Promise<SubmitOutcome> {
    const { random, clock } = this.#machine;
    const behaviour = this.behaviours.get(call.connection) ?? GOOD;
    if (random.isLucky(behaviour.late)) {
      await new Promise<void>((resolve) => clock.after(random.below(12 * MINUTE), resolve));
    }
    const refusal = this.#refusalOf(call, behaviour);
    if (refusal !== null) {
      const stated = random.pick([{}, {}, { retryAfterMs: 3 * SECOND }, { retryAfterMs: MINUTE }]);
      return { kind: "refused", statusCode: STATUS[refusal], refusal, ...stated };
    }
    const isUnclear = random.isLucky(behaviour.unclear);
    const job = isUnclear && random.isLucky(0.5) ? null : this.#start(call, behaviour);
    if (isUnclear || job === null) {
      const isSilent = random.isLucky(0.5);
      if (isSilent) return await new Promise<never>(() => {});
      return { kind: "unknown", statusCode: 500 };
    }
    const { id } = job;
    const isHookExpected = behaviour.hook > 0;
    const answer = { status: 200, contentType: "application/json", body: `{"id":"${id}"}` };
    return {
      kind: "accepted",
      job: { id, endpoint: null },
      isHookExpected,
      statusCode: 200,
      answer,
    };
  }

  #refusalOf({ connection }: SentCall, { cap, refusals }: Behaviour): RefusalClass | null {
    if (this.running(connection).length >= cap) return "busy";
    const { random } = this.#machine;
    const classes = ["busy", "rate", "funds", "key", "final"] as const;
    return classes.find((each) => random.isLucky(refusals[each])) ?? null;
  }

  #start(call: SentCall, behaviour: Behaviour): SimulatedJob {
    const { random, clock } = this.#machine;
    const { longestMs, failure, failures, hook } = behaviour;
    const isFailed = random.isLucky(failure);
    const kinds = failures !== null && this.#isFollowed(call) ? failures : null;
    const kind = kinds !== null && this.#kinds.isLucky(0.5) ? this.#kinds.pick(kinds) : null;
    const lengthMs = behaviour.lengthMs?.(random) ?? SECOND + random.below(longestMs);
    const id = `job-${this.jobs.length + 1}`;
    const startedAt = clock.passed;
    const job: SimulatedJob = { id, call, startedAt, lengthMs, end: null, mayBeFollowed: false };
    this.jobs.push(job);
    clock.after(lengthMs, () => {
      if (job.end !== null) return;
      job.end = kind !== null ? failureOf(kind) : isFailed ? FAILED : COMPLETED;
      job.mayBeFollowed = kind !== null ? FOLLOWED.has(kind) : isFailed;
      if (random.isLucky(hook)) this.#onHook(job);
    });
    this.#onStart(job);
    return job;
  }

  poll({ job: { id } }: Poll): PollAnswer {
    const job = this.jobs.find((each) => each.id === id);
    if (job === undefined) return { kind: "unclear", statusCode: 404, word: null };
    return { kind: "news", news: job.end ?? { status: "processing" } };
  }

  cancel({ job: { id } }: Cancel): CancelAnswer {
    const job = this.jobs.find((each) => each.id === id);
    if (job === undefined) return { kind: "refused", statusCode: 404 };
    if (job.end !== null) return { kind: "ended", statusCode: 409 };
    job.end = FAILED;
    return { kind: "canceled", statusCode: 200 };
  }
}

function failureOf(kind: FailureKind): UpstreamEnd {
  if (kind === "funds") return { status: "failed", ...endForAccount("funds") };
  const error = { code: "upstream_error", message: `The job has failed: ${kind}.` };
  const category = kind === "final" ? "provider" : kind;
  return { status: "failed", error, failure: { category, retryable: kind !== "final" } };
}

const COMPLETED: UpstreamEnd = {
  status: "completed",
  completedAt: null,
  urls: ["https://cdn.example.com/video.mp4"],
  metadata: {},
};
const FAILED: UpstreamEnd = {
  status: "failed",
  error: { code: "upstream_error", message: "The job has failed." },
  failure: { category: "provider", retryable: true },
};
