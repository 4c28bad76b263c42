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
