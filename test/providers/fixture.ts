import type { UpstreamNews } from "../../src/core/record/upstream.ts";
import type { Answer } from "../../src/providers/provider.ts";
import type { SubmitFixtures } from "./submit-fixture.ts";

/** Base URL of a provider whose connections name their own host. */
export const GATEWAY = "https://gateway.example.com";

/** A hook in the documented format of a provider, and its meaning. */
export interface HookFixture {
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

/** A poll: its requests in order with their answers, and the meaning of the last one. */
export interface PollFixture {
  readonly name: string;
  readonly endpoint?: string;
  readonly jobId: string;
  readonly exchanges: readonly { readonly path: string; readonly answer: Answer }[];
  readonly means: UpstreamNews | null | "unauthorized" | "limited" | Unclear;
}

/** An example of each report that a provider can make on a job, or the reason why it makes none. */
export interface Reports<Fixture, Success = Fixture> {
  readonly success: Success;
  /** A success without a link that can be opened. */
  readonly noOutput: Fixture | Exempt;
  readonly moderation: Fixture | Exempt;
  /** A failure for another reason than moderation. */
  readonly failure: Fixture;
  readonly running: Fixture | Exempt;
  /** A report that names the state of the job with a word that the relay does not know. */
  readonly unknownState: Fixture | Exempt;
  readonly others: readonly Fixture[];
}

/** States why a provider makes no report of a kind, e.g. "A hook is sent at the end of a job only." */
export interface Exempt {
  readonly exempt: string;
}

/** Hooks may have no success with links: those of some providers only name the job that has ended. */
export interface HookReports extends Reports<HookFixture, HookFixture | Exempt> {
  /** A hook in JSON of another shape. */
  readonly unreadable: HookFixture;
}

export interface Fixtures {
  /** Name of the provider or, for an upstream that is declared, of the connection. */
  readonly provider: string;
  /** Hooks of the provider; null for one that sends none. */
  readonly hooks: HookReports | null;
  readonly polls: Reports<PollFixture>;
  /** Calls that start jobs; absent for a provider to which the relay cannot submit jobs. */
  readonly submits?: SubmitFixtures;
  /** States why an answer about another job cannot be told from one about the job. */
  readonly foreignJob?: Exempt;
}

/** Lists all examples of a provider's reports. */
export function examplesIn<Fixture extends object>(
  reports: Reports<Fixture, Fixture | Exempt> | null,
): readonly Fixture[] {
  if (reports === null) return [];
  const { others, ...named } = reports;
  return [...Object.values<Fixture | Exempt>(named).flatMap(presentOnly), ...others];
}

/** Returns an example in a list, which is empty when there is none. */
function presentOnly<Fixture extends object>(example: Fixture | Exempt): readonly Fixture[] {
  return "exempt" in example ? [] : [example];
}

/**
 * Makes fixtures of a job, which is polled at `path` (of `endpoint`); a hook that cannot be understood names
 * no job.
 */
export function fixturesOf(jobId: string, path: string, endpoint?: string) {
  return {
    hook: (
      name: string,
      body: unknown,
      means: HookFixture["means"],
      id: string | null = means === "nothing" ? null : jobId,
    ): HookFixture => {
      const raw = typeof body === "string" ? body : JSON.stringify(body);
      return { name, body: raw, jobId: id, means };
    },
    poll: (name: string, body: unknown, means: PollFixture["means"], status = 200): PollFixture => {
      const exchanges = [{ path, answer: { status, body } }];
      return { name, jobId, exchanges, means, ...(endpoint !== undefined && { endpoint }) };
    },
  };
}

/** Descriptions of the kinds of reports, for titles. */
export const MEANINGS: ReadonlyMap<string, string> = new Map([
  ["success", "a success"],
  ["noOutput", "a success without output"],
  ["moderation", "a failure by moderation"],
  ["failure", "a failure"],
  ["running", "a job in progress"],
  ["unknownState", "an unknown state"],
  ["unreadable", "nothing that the relay can use"],
  ["unclear", "an answer that the relay does not understand"],
  ["unauthorized", "a refusal of the API key"],
  ["limited", "a refusal by a rate limit"],
]);
