import type { UpstreamNews } from "../../src/core/record/upstream.ts";
import type { Answer } from "../../src/providers/provider.ts";

/** A hook of a provider, composed by us in its documented form, and what it means. */
export interface HookFixture {
  readonly name: string;
  /** Raw body. */
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly jobId: string | null;
  /** Null: an unknown state; "nothing": not understood at all. */
  readonly means: UpstreamNews | null | "nothing";
}

/** A poll: the requests in their order with what came back, and what that means. */
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
