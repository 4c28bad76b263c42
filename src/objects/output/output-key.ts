/**
 * Returns the key of an output's copy in the bucket. The key contains the creation time of the task's record, so that a
 * later task with the same id does not find the copies of an earlier one.
 */
export function outputKey(
  { taskId, recordedAt }: { readonly taskId: string; readonly recordedAt: number },
  number: number,
): string {
  return `outputs/${taskId}/${recordedAt}/${number}`;
}
