import type { Violation } from "./task-history.ts";

/** What lives in a simulation: one task, or a relay with queues and many tasks (queues/). */
export type LifeKind = "task" | "queues";

/** A life that has ended. */
export interface EndedLife {
  readonly violation: Violation | null;
  readonly observed: ReadonlySet<string>;
}

/** Runs one life; the seed alone decides what happens. @param trace is called with each thing that happens. */
type RunSeed = (seed: number, trace?: (text: string) => void) => Promise<EndedLife>;

/** Module that runs relays with queues. Its files are compiled with the types of the platform. */
const QUEUES = new URL("queues/lives.ts", import.meta.url).href;

/** Returns what runs lives of relays with queues. */
export async function runnerOfQueues(): Promise<RunSeed> {
  const { runSeed }: { readonly runSeed: RunSeed } = await import(QUEUES);
  return runSeed;
}
