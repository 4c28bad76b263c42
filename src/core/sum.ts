/** Returns the sum of these numbers; 0 when there are none. */
export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
