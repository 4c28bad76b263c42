/** Runs pending microtasks for this number of turns. */
export async function runMicrotasks(count = 30): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}

/** Number of turns without activity after which nothing more happens by itself. */
const QUIET_TURNS = 16;

/**
 * Waits until nothing more happens by itself. @param points returns a number that rises with each activity.
 */
export async function untilQuiet(points: () => number | undefined): Promise<void> {
  let known: number | undefined = -1;
  for (let quiet = 0; quiet < QUIET_TURNS; quiet++) {
    if (points() !== known) quiet = 0;
    known = points();
    await Promise.resolve();
  }
}
