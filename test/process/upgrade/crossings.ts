import { Counters } from "../chaos/counters.ts";
import type { Evidence } from "../chaos/callbacks/recording.ts";

/** This tree's build, or a kept one. */
export type Build = "earlier" | "present";

/**
 * Counts tasks and callbacks that one build began and the other continued.
 * @param buildAt returns the build that ran the tasks at a time in Unix milliseconds; null while it was changed.
 */
export function crossings(
  evidence: readonly Evidence[],
  buildAt: (time: number) => Build | null,
): Counters {
  const counters = new Counters();
  const count = (what: string, begun: number, continued: number, how: string) => {
    const [before, after] = [buildAt(begun), buildAt(continued)];
    if (before === null || after === null || before === after) return;
    counters.add(`${what} begun by the ${before} build, ${how} by the ${after} one`);
  };
  for (const { history, posts } of evidence) {
    const { createdAt, endedAt } = history;
    if (endedAt !== null) count("tasks", createdAt, endedAt, "ended");
    for (const [i, { arrivedAt }] of posts.entries()) {
      const next = posts[i + 1];
      if (next !== undefined) count("callbacks", arrivedAt, next.arrivedAt, "continued");
    }
  }
  return counters;
}
