import type { UpstreamNews } from "../../src/core/record/upstream.ts";
import type { Answer } from "../../src/providers/provider.ts";

/** A hook in the documented format of a provider, and its meaning. */
export interface HookFixture {
  readonly name: string;
  /** Raw body. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly jobId: string | null;
  /** Null for an unknown state, "nothing" for a hook that cannot be understood. */
  readonly means: UpstreamNews | null | "nothing";
}

/** A poll: its requests in order with their answers, and the meaning of the last one. */
export interface PollFixture {
  readonly name: string;
  readonly endpoint?: string;
  readonly jobId: string;
  readonly exchanges: readonly { readonly path: string; readonly answer: Answer }[];
  readonly means: UpstreamNews | null | "unauthorized" | "limited" | "unclear";
}

export interface Fixtures {
  /** Name of the provider. */
  readonly provider: string;
  readonly hooks: readonly HookFixture[];
  readonly polls: readonly PollFixture[];
}

/** Makes fixtures of a job, which is polled at `path` (of `endpoint`); a hook that means nothing names no job. */
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
