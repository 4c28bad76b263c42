import { vi } from "vitest";

/**
 * Holds back all timers of `ms` milliseconds, which are the time limits of one kind of call. @returns a
 * function that lets the time of all these timers pass.
 */
export function holdTimers(ms: number): () => void {
  const start = globalThis.setTimeout;
  const held = new Set<() => void>();
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run, delay, ...values) => {
    if (delay !== ms) return start(run, delay, ...values);
    held.add(() => run(...values));
    // The caller gets the id of a timer without effect, which `clearTimeout` accepts.
    return start(() => undefined, 0);
  });
  return () => {
    for (const run of held) run();
    held.clear();
  };
}
