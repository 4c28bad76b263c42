/**
 * Returns the key of the copy of an output in the bucket. It has the number that tells the task from others under the same
 * id, so that a later task never meets the copies of an earlier one.
 */
export function outputKey(
  { taskId, recordedAt }: { readonly taskId: string; readonly recordedAt: number },
  number: number,
): string {
  return `outputs/${taskId}/${recordedAt}/${number}`;
}
