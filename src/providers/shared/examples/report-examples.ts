import type { UpstreamNews } from "../../../core/record/upstream.ts";
import type { Answer } from "../../provider-answer.ts";
import type { CancelExamples } from "./cancel-examples.ts";
import type { Exempt } from "./exempt.ts";
import type { SubmitExamples } from "./submit-examples.ts";

/** Base URL of a provider whose connections name their own host. */
export const GATEWAY = "https://gateway.example.com";

/** A hook in the documented format of a provider, and its meaning. */
export interface HookExample {
  readonly name: string;
  /** Body of the hook as text. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly jobId: string | null;
  /**
   * Expected meaning of the hook. Null for a hook with an unknown state, "nothing" for a hook that cannot be
   * understood.
   */
  readonly means: UpstreamNews | null | "nothing";
}

/**
 * Expected meaning of an answer that is not understood, followed by the word in it that the operator is shown, if there
 * is one.
 */
type Unclear = "unclear" | `unclear: ${string}`;

/** An answer of a provider. `headers` is given only when the adapter reads headers. */
export interface ExampleAnswer extends Pick<Answer, "status" | "body"> {
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * An example of a poll: its requests in their order, each with its answer, and the expected meaning of the last answer.
 */
export interface PollExample {
  readonly name: string;
  readonly endpoint?: string;
  readonly jobId: string;
  readonly exchanges: readonly { readonly path: string; readonly answer: ExampleAnswer }[];
  readonly means: UpstreamNews | null | "unauthorized" | "limited" | Unclear;
}

/**
 * For each kind of report that a provider can make on a job, an example, or the reason why the provider makes no such
 * report.
 */
export interface Reports<Example, Success = Example> {
  readonly success: Success;
  /** A report of a success without any link that can be opened. */
  readonly noOutput: Example | Exempt;
  readonly moderation: Example | Exempt;
  /** A report of a failure for another reason than moderation. */
  readonly failure: Example;
  readonly running: Example | Exempt;
  /** A report that names the state of the job with a word that the relay does not know. */
  readonly unknownState: Example | Exempt;
  readonly others: readonly Example[];
}

/**
 * Examples of the hooks of a provider. For some providers, no hook of a success contains links, because their hooks
 * only name the job that has ended.
 */
export interface HookReports extends Reports<HookExample, HookExample | Exempt> {
  /** A hook in JSON that does not have the documented form. */
  readonly unreadable: HookExample;
}

export interface Examples {
  /** Name of the provider or, for an upstream that is declared, of the connection. */
  readonly provider: string;
  /** Hooks of the provider; null for one that sends none. */
  readonly hooks: HookReports | null;
  readonly polls: Reports<PollExample>;
  /** Calls that start jobs; absent for a provider to which the relay cannot submit jobs. */
  readonly submits?: SubmitExamples;
  /** The call that cancels a job; absent for a provider at which the relay cancels none. */
  readonly cancels?: CancelExamples;
  /**
   * Reason why the adapter cannot notice that an answer is about another job than the polled one. Absent when it can
   * notice this.
   */
  readonly foreignJob?: Exempt;
}

/**
 * Returns functions that make examples of reports on one job.
 * @param jobId id of the job.
 * @param path path at which the job is polled.
 * @param endpoint endpoint of the job; absent when polls need none.
 */
export function examplesOf(jobId: string, path: string, endpoint?: string) {
  return {
    hook: (
      name: string,
      body: unknown,
      means: HookExample["means"],
      id: string | null = means === "nothing" ? null : jobId,
    ): HookExample => {
      const raw = typeof body === "string" ? body : JSON.stringify(body);
      return { name, body: raw, jobId: id, means };
    },
    poll: (name: string, body: unknown, means: PollExample["means"], status = 200): PollExample => {
      const exchanges = [{ path, answer: { status, body } }];
      return { name, jobId, exchanges, means, ...(endpoint !== undefined && { endpoint }) };
    },
  };
}
