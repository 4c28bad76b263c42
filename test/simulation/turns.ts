/** Lets everything go on that waits for nothing but its turn, so many times. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await Promise.resolve();
}
