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
  /** Meaning of the hook: null for an unknown state, "nothing" for a hook that cannot be understood. */
  readonly means: UpstreamNews | null | "nothing";
}

/** An answer that was not understood, with the word that the operator is shown, if there is one. */
type Unclear = "unclear" | `unclear: ${string}`;

/** An answer of a provider. `headers` is given only when the adapter reads headers. */
export interface ExampleAnswer extends Pick<Answer, "status" | "body"> {
  readonly headers?: Readonly<Record<string, string>>;
}

/** A poll: its requests in their order, each with its answer, and the expected meaning of the last answer. */
export interface PollExample {
  readonly name: string;
  readonly endpoint?: string;
  readonly jobId: string;
  readonly exchanges: readonly { readonly path: string; readonly answer: ExampleAnswer }[];
  readonly means: UpstreamNews | null | "unauthorized" | "limited" | Unclear;
}

/** An example of each report that a provider can make on a job, or the reason why it makes none. */
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
 * Examples of the hooks of a provider. There may be no hook with links of a success, because the hooks of some
 * providers only name the job that has ended.
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
  /** Reason why an answer about another job cannot be told from one about the polled job. Absent when it can. */
  readonly foreignJob?: Exempt;
}

/**
 * Makes examples of a job, which is polled at `path` (of `endpoint`); a hook that cannot be understood names
 * no job.
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
