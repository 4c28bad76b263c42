import * as z from "zod/mini";

export const Int = z.int();
export const IntOrNull = z.nullable(Int);
export const TextOrNull = z.nullable(z.string());
export const Time = Int.check(z.nonnegative());
export const TimeOrNull = z.nullable(Time);
/** Schema of a time that is missing in records which earlier builds have stored; it is then null. */
export const LaterTime = z._default(TimeOrNull, null);
