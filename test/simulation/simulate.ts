import { Worker } from "node:worker_threads";
import * as z from "zod";
import type { LifeKind } from "./lives.ts";

export interface Simulation {
  readonly kind: LifeKind;
  /** Seed of the first simulated task; the task number i has the seed `seed + i`. */
  readonly seed: number;
  readonly lives: number;
  /** Number of threads that share the work. */
  readonly threads: number;
}

type Share = Omit<Simulation, "threads">;

/**
 * Seed and violation of a life in which a promise was broken; `life` is the shortest form of that of a task as JSON text
 * (kept-lives.ts). Null for other lives.
 */
const Broken = z.object({ seed: z.number(), report: z.string(), life: z.string().nullable() });
/** Result of a part of the simulated tasks; `observed` counts the tasks in which each event occurred. */
const Part = z.object({
  lives: z.number(),
  observed: z.record(z.string(), z.number()),
  broken: Broken.nullable(),
});
export type Part = z.infer<typeof Part>;
/** Message of a thread: how many tasks more it has simulated, or its part at the end. */
const Message = z.union([z.number(), Part]);
/** Number of simulated tasks after which a thread says so. */
export const REPORTED_LIVES = 10_000;

const NOTHING: Part = { lives: 0, observed: {}, broken: null };

/**
 * Simulates many tasks. Stops at the first for which a promise is broken.
 * @param onProgress is called again and again with the number of tasks for which all promises have held so far.
 */
export async function simulate(
  { kind, seed, lives, threads }: Simulation,
  onProgress: (held: number) => void = () => {},
): Promise<Part> {
  let held = 0;
  const hold = (more: number) => onProgress((held += more));
  const share = Math.ceil(lives / threads);
  const workers = Array.from({ length: threads }, (_, i) => {
    const from = Math.min(i * share, lives);
    return working({ kind, seed: seed + from, lives: Math.min(share, lives - from) }, hold);
  });
  const { promise: broken, resolve } = Promise.withResolvers<readonly Part[]>();
  for (const { part } of workers) {
    void part.then(
      (done) => (done.broken === null ? null : resolve([done])),
      () => null,
    );
  }
  try {
    const parts = await Promise.race([broken, Promise.all(workers.map(({ part }) => part))]);
    return parts.reduce(joined, NOTHING);
  } finally {
    await Promise.all(workers.map(({ worker }) => worker.terminate()));
  }
}

function working(
  share: Share,
  hold: (more: number) => void,
): { readonly worker: Worker; readonly part: Promise<Part> } {
  const { promise: part, resolve, reject } = Promise.withResolvers<Part>();
  const worker = new Worker(new URL("worker.ts", import.meta.url), { workerData: share });
  worker.on("message", (given) => {
    const message = Message.parse(given);
    if (typeof message === "number") hold(message);
    else resolve(message);
  });
  worker.once("error", reject);
  return { worker, part };
}

function joined(a: Part, b: Part): Part {
  const observed = { ...a.observed };
  for (const [what, count] of Object.entries(b.observed))
    observed[what] = (observed[what] ?? 0) + count;
  return { lives: a.lives + b.lives, observed, broken: a.broken ?? b.broken };
}
