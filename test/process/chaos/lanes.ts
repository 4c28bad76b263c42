/**
 * Runs tasks one after another on parallel lanes until the round closes.
 * @param runNext runs the next task, and returns what its client has recorded.
 */
export async function runInLanes<Recorded>(
  lanes: number,
  isClosing: () => boolean,
  runNext: () => Promise<Recorded>,
): Promise<readonly Recorded[]> {
  const recorded: Recorded[] = [];
  const lane = async () => {
    while (!isClosing()) recorded.push(await runNext());
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return recorded;
}
