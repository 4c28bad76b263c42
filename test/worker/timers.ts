import { vi } from "vitest";

/**
 * Holds back all timers of `ms` milliseconds, which are the time limits of one kind of call.
 * @returns lets the time of all that are held be up.
 */
export function holdTimers(ms: number): () => void {
  const start = globalThis.setTimeout;
  const held = new Set<() => void>();
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run, delay, ...values) => {
    if (delay !== ms) return start(run, delay, ...values);
    held.add(() => run(...values));
    // An id that can be cleared.
    return start(() => undefined, 0);
  });
  return () => {
    for (const run of held) run();
    held.clear();
  };
}
