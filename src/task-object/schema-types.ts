import * as z from "zod/mini";

export const Int = z.int();
export const IntOrNull = z.nullable(Int);
export const TextOrNull = z.nullable(z.string());
export const Time = Int.check(z.nonnegative());
export const TimeOrNull = z.nullable(Time);
/** Schema of a time that the records of earlier builds lack. */
export const LaterTime = z._default(TimeOrNull, null);
