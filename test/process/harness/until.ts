import { setTimeout as sleep } from "node:timers/promises";

const LOOK_EVERY_MS = 50;

/** Waits until a condition holds. @throws after `withinMs`. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  withinMs: number,
): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`not so within ${withinMs} ms: ${holds.toString()}`);
    await sleep(LOOK_EVERY_MS);
  }
}
