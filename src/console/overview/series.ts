import type { series } from "../../api/search/read-series.ts";

/** Counts and latencies of the tasks created in each hour or day. */
export type Series = Awaited<ReturnType<typeof series>>;
export type Step = Series["steps"][number];
