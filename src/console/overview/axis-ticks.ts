/**
 * Returns the numbers that label an axis from 0 to `most`, e.g. 0, 20, 40, 60. They are at most five multiples of
 * one number, which is 1, 2 or 5 times a power of ten. The last number is not below `most`.
 */
export function axisTicks(most: number): readonly number[] {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const sizes = [power / 10, power / 5, power / 2, power, power * 2, power * 5];
  const size = sizes.find((each) => each >= 1 && most / each <= 4) ?? power;
  return Array.from({ length: Math.ceil(most / size) + 1 }, (_, n) => n * size);
}
