/** A job of an account, which has waited since `since`. */
interface Job {
  readonly id: string;
  readonly account: string;
  readonly since: number;
}

/** Returns jobs of the first account, and of another one, which asks after all of them. */
export function jobsOfTwo(first: number, second: number): readonly Job[] {
  return Array.from({ length: first + second }, (_, i) => {
    const account = i < first ? "x" : "y";
    return { id: `${account}${i}`, account, since: i };
  });
}

/**
 * Returns the order in which jobs get one of so many places by the rule: the next place goes to the account that has
 * fewest, among those to the job that has waited longest. The jobs end in the order in which they have begun.
 */
export function grantsByRule(jobs: readonly Job[], places: number): readonly string[] {
  const running = jobs.slice(0, places);
  const granted = running.map(({ id }) => id);
  let waiting = jobs.slice(places);
  while (waiting.length > 0) {
    running.shift();
    const placesOf = (account: string) => running.filter((job) => job.account === account).length;
    const [next] = waiting.toSorted(
      (a, b) => placesOf(a.account) - placesOf(b.account) || a.since - b.since,
    );
    if (next === undefined) break;
    running.push(next);
    granted.push(next.id);
    waiting = waiting.filter((job) => job !== next);
  }
  return granted;
}
