import type { UpstreamNews } from "../../src/core/record/upstream.ts";
import { aCompletion, VIDEO } from "../core/builders.ts";

export const TOO_MANY_LINKS = aCompletion({ urls: Array.from({ length: 1_001 }, () => VIDEO) });
export const TOO_LONG = aCompletion({ metadata: { note: "画".repeat(900_000) } });

/** Results that are too large to be stored. */
export const OVERSIZED: readonly UpstreamNews[] = [TOO_MANY_LINKS, TOO_LONG];
