import * as z from "zod";

/** Reads a variable as text. TOML numbers and booleans are converted; an empty variable counts as absent. */
export function text(fallback: string) {
  return z
    .union([z.string(), z.number(), z.boolean()], "must be text")
    .nullish()
    .transform((value) => (value ?? "").toString().trim() || fallback);
}

/** Reads a variable as a number from `min` to `max`, both included; `min` is more than 0. */
export function numberBetween(fallback: string, min: number, max: number) {
  return text(fallback)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`);
}

/** Reads a variable as a number above 0 and up to `max`. */
export function positiveNumber(fallback: string, max: number) {
  return text(fallback)
    .transform(Number)
    .refine((value) => value > 0 && value <= max, `must be more than 0 and at most ${max}`);
}

/** Reads a variable by another reader; null when the variable is absent. */
export function optional<T>(reader: z.ZodType<T>) {
  return text("").transform((value, ctx) => {
    if (value === "") return null;
    const read = reader.safeParse(value);
    if (read.success) return read.data;
    for (const { message } of read.error.issues) ctx.addIssue(message);
    return z.NEVER;
  });
}

/** Reads a variable as an http(s) URL; null when the variable is absent. */
export function httpUrl() {
  return text("").transform((value, ctx) => {
    if (value === "") return null;
    const url = URL.parse(value);
    if (url !== null && /^https?:$/.test(url.protocol)) return url;
    ctx.addIssue("must be an http(s) URL");
    return z.NEVER;
  });
}

/** Reads a variable as `true` or `false`; false when the variable is absent. */
export function flag() {
  return text("false")
    .refine((value) => value === "true" || value === "false", "must be true or false")
    .transform((value) => value === "true");
}

/** Reads a variable as one of several words; null when the variable is absent. */
export function oneOf<const Word extends string>(words: readonly Word[]) {
  return text("").transform((value, ctx) => {
    if (value === "") return null;
    const word = words.find((each) => each === value);
    if (word !== undefined) return word;
    ctx.addIssue(`must be one of ${words.join(", ")}`);
    return z.NEVER;
  });
}

/** Reads a variable as a list of items that are separated by white space and must all be valid. */
export function list(message: string, isValid: (item: string) => boolean) {
  return text("")
    .transform((value) => value.split(/\s+/).filter((item) => item !== ""))
    .refine((items) => items.every(isValid), message);
}

/** Tells whether a secret has at least `bytes` bytes of UTF-8. */
export function hasBytes(secret: string, bytes: number): boolean {
  return new TextEncoder().encode(secret).length >= bytes;
}

/** Converts an empty list to null, which means that the variable is absent. */
export function nullIfEmpty(items: readonly string[]): readonly string[] | null {
  return items.length === 0 ? null : items;
}
