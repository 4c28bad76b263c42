import * as z from "zod/mini";
import { failure, type Result, success } from "../core/result.ts";
import { CREDENTIALS_REFUSAL, hasCredentials } from "../security/url-policy.ts";

/** Reads a variable as text. TOML numbers and booleans are converted; an empty variable counts as absent. */
export function text(fallback: string) {
  return convert(
    z.nullish(z.union([z.string(), z.number(), z.boolean()], "must be text")),
    (value) => (value ?? "").toString().trim() || fallback,
  );
}

/** Extends a reader, which is a schema that reads a variable, by a conversion of the value that was read. */
export function convert<S extends z.ZodMiniType, T>(
  reader: S,
  conversion: (value: z.output<S>) => T,
) {
  return z.pipe(reader, z.transform(conversion));
}

/**
 * Extends a reader, which is a schema that reads a variable as text, by a parser of this text. When the
 * parser fails, its error is the message for the operator.
 */
export function parse<T>(
  reader: z.ZodMiniType<string>,
  parser: (value: string) => Result<T, string>,
) {
  return z.pipe(
    reader,
    z.transform((value, { issues }) => {
      const parsed = parser(value);
      if (parsed.ok) return parsed.value;
      issues.push({ code: "custom", input: value, message: parsed.error });
      return z.NEVER;
    }),
  );
}

/** Builds a reader that parses the text of a variable by `parser`; null when the variable is absent. */
export function parseOptional<T>(parser: (value: string) => Result<T, string>) {
  return parse(text(""), (value) => (value === "" ? success(null) : parser(value)));
}

/**
 * Reads a variable as a whole number in decimal digits, from `min` to `max`, both included, and returns it
 * times `unit`.
 */
export function wholeNumber(fallback: string, min: number, max: number, unit: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return parse(text(fallback), (value) => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max ? success(number * unit) : failure(message);
  });
}

/** Makes a variable optional: reads it by the given reader; null when the variable is absent. */
export function optional<T>(reader: z.ZodMiniType<T>) {
  return parseOptional((value) => {
    const read = reader.safeParse(value);
    if (read.success) return success(read.data);
    return failure(read.error.issues.map(({ message }) => message).join(", "));
  });
}

/** Reads a variable as an http(s) URL without user name and password; null when the variable is absent. */
export function httpUrl() {
  return parseOptional((value) => {
    const url = URL.parse(value);
    if (url === null || !/^https?:$/.test(url.protocol)) return failure("must be an http(s) URL");
    return hasCredentials(value, url) ? failure(CREDENTIALS_REFUSAL) : success(url);
  });
}

/** Reads a variable as `true` or `false`; false when the variable is absent. */
export function flag() {
  return convert(
    text("false").check(
      z.refine((value) => value === "true" || value === "false", "must be true or false"),
    ),
    (value) => value === "true",
  );
}

/** Reads a variable as one of several words; null when the variable is absent. */
export function oneOf<const Word extends string>(words: readonly Word[]) {
  return parseOptional((value) => {
    const word = words.find((each) => each === value);
    return word === undefined ? failure(`must be one of ${words.join(", ")}`) : success(word);
  });
}

/** Reads a variable as a list of items that are separated by white space and must all be valid. */
export function list(message: string, isValid: (item: string) => boolean) {
  return convert(text(""), (value) => value.split(/\s+/).filter((item) => item !== "")).check(
    z.refine((items) => items.every(isValid), message),
  );
}

/** Tells whether a secret has at least `bytes` bytes of UTF-8. */
export function hasBytes(secret: string, bytes: number): boolean {
  return new TextEncoder().encode(secret).length >= bytes;
}

/** Converts an empty list to null, which means that the variable is absent. */
export function nullIfEmpty(items: readonly string[]): readonly string[] | null {
  return items.length === 0 ? null : items;
}
