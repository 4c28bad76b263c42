/** Runs pending microtasks for so many turns. */
export async function runMicrotasks(count = 30): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}
