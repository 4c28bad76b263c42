import { vi } from "vitest";

/**
 * Holds back all timers of `ms` milliseconds, which are the time limits of one kind of call. @returns a
 * function that lets the time of the first `count` of these timers pass, by default of all.
 */
export function holdTimers(ms: number): (count?: number) => void {
  const start = globalThis.setTimeout;
  const held = new Set<() => void>();
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run, delay, ...values) => {
    if (delay !== ms) return start(run, delay, ...values);
    held.add(() => run(...values));
    // The caller gets the id of a timer without effect, which `clearTimeout` accepts.
    return start(() => undefined, 0);
  });
  return (count = held.size) => {
    for (const run of [...held].slice(0, count)) {
      held.delete(run);
      run();
    }
  };
}
