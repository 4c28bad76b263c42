import type { Violation } from "./task-history.ts";

/** What lives in a simulation: one task, or a relay with queues and many tasks (queues/). */
export type LifeKind = "task" | "queues";

/** Runs one life; the seed alone decides what happens. */
type RunSeed = (seed: number) => Promise<{ readonly violation: Violation | null }>;

/** Returns what runs a life of a kind. Other modules are loaded for each, so only what is needed is imported. */
export async function runnerOf(kind: LifeKind): Promise<RunSeed> {
  return kind === "task"
    ? (await import("./run.ts")).runSeed
    : (await import("./queues/lives.ts")).runSeed;
}
