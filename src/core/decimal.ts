/** An exact decimal number: `digits` × 10^-`scale`. */
interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

/**
 * Returns `a` × `b` ÷ `divisor`, rounded up to a whole number. Each number counts as the decimal number that its
 * shortest text shows, so 0.1 is exactly a tenth. Nothing is rounded before the result.
 * @throws RangeError when a number is not finite, and when the divisor is 0.
 */
export function ceilOfProduct(a: number, b: number, divisor: number): bigint {
  const [x, y, z] = [decimalOf(a), decimalOf(b), decimalOf(divisor)];
  const dividend = x.digits * y.digits * powerOfTen(z.scale);
  return ceilOfQuotient(dividend, z.digits * powerOfTen(x.scale + y.scale));
}

function decimalOf(value: number): Decimal {
  const [digits = "", exponent = "0"] = String(value).split("e");
  const [whole = "", fraction = ""] = digits.split(".");
  const scale = fraction.length - Number(exponent);
  if (!Number.isFinite(value)) throw new RangeError("a number without decimal digits");
  // A negative scale stands for zeros at the end.
  return { digits: BigInt(whole + fraction) * powerOfTen(-scale), scale: Math.max(scale, 0) };
}

/** Returns 10 to the power of `exponent`; 1 when the exponent is negative. */
function powerOfTen(exponent: number): bigint {
  return 10n ** BigInt(Math.max(exponent, 0));
}

function ceilOfQuotient(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  const isBelow = dividend % divisor !== 0n && dividend > 0n === divisor > 0n;
  return isBelow ? quotient + 1n : quotient;
}
