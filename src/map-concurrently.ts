/**
 * Calls `work` for each item, at most `concurrency` calls at once.
 * @returns the results in the order of the items.
 * @throws what the first call throws that fails; after it no further call begins.
 */
export async function mapConcurrently<T, R>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const rest = numbered(items);
  const run = async () => {
    // A call that throws ends the generator, and with it the other loops.
    for (const [index, item] of rest) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: concurrency }, run));
  return results;
}

function* numbered<T>(items: Iterable<T>): Generator<readonly [number, T]> {
  yield* [...items].entries();
}
