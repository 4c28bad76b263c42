import * as z from "zod/mini";
import { failure, type Result, success } from "../core/result.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../core/time.ts";
import { CREDENTIALS_REFUSAL, hasCredentials } from "../security/url-rules.ts";

/** Units of the variables that are numbers, each with its size in milliseconds, bytes or as a fraction. */
const UNITS = {
  s: SECOND_MS,
  minutes: MINUTE_MS,
  hours: HOUR_MS,
  days: DAY_MS,
  KB: 1024,
  percent: 1 / 100,
} as const;

/** The whole numbers that a variable takes, both ends included. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  readonly unit: keyof typeof UNITS;
  /** Largest number of comma-separated numbers; absent for a single number. */
  readonly maxCount?: number;
}

/** Default and values of a variable, which the documentation of the variables states. */
export interface Domain {
  /** Value that has the same effect as leaving the variable out; null when no value has. */
  readonly fallback: string | null;
  readonly values: readonly string[] | NumberRange;
}

/** A reader of a variable that states its default and its values. */
export interface WithDomain {
  readonly domain: Domain;
}

/** Adds to a reader what it takes. */
function withDomain<S extends z.ZodMiniType>(reader: S, domain: Domain): S & WithDomain {
  return Object.assign(reader, { domain });
}

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
 * Reads a variable as a whole number in decimal digits, and returns it in milliseconds, in bytes or as a
 * fraction, by its unit.
 */
export function wholeNumber(fallback: string, range: NumberRange) {
  return withDomain(parse(text(fallback), numberIn(range)), { fallback, values: range });
}

/**
 * Reads a variable like `wholeNumber`; null when the variable is absent.
 * @param fallback the number for which the configuration takes null, in the unit of the range; null when it takes
 * null for something else.
 */
export function optionalNumber(range: NumberRange, fallback: string | null = null) {
  return withDomain(parseOptional(numberIn(range)), { fallback, values: range });
}

function numberIn({ min, max, unit }: NumberRange) {
  return (value: string): Result<number, string> => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return success(number * UNITS[unit]);
    return failure(`must be a whole number from ${min} to ${max}`);
  };
}

/** Reads a variable as comma-separated whole seconds, and returns them in milliseconds. */
export function listOfSeconds(fallback: string, range: { max: number; maxCount: number }) {
  const { max, maxCount } = range;
  const reader = parse(text(fallback), (value) => {
    const numbers = value.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : NaN));
    if (numbers.length <= maxCount && numbers.every((number) => number <= max)) {
      return success(numbers.map((number) => number * SECOND_MS));
    }
    return failure(`must be 1 to ${maxCount} whole seconds from 0 to ${max}, comma-separated`);
  });
  return withDomain(reader, { fallback, values: { min: 0, unit: "s", ...range } });
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
  const words = ["true", "false"] as const;
  const reader = convert(parse(text("false"), wordIn(words)), (value) => value === "true");
  return withDomain(reader, { fallback: "false", values: words });
}

/** Reads a variable as one of several words. */
export function oneOf<const Word extends string>(fallback: Word, words: readonly Word[]) {
  return withDomain(parse(text(fallback), wordIn(words)), { fallback, values: words });
}

/** Reads a variable as one of several words; null when the variable is absent. */
export function optionalOneOf<const Word extends string>(words: readonly Word[]) {
  return withDomain(parseOptional(wordIn(words)), { fallback: null, values: words });
}

function wordIn<Word extends string>(words: readonly Word[]) {
  const message = words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`;
  return (value: string): Result<Word, string> => {
    const word = words.find((each) => each === value);
    return word === undefined ? failure(`must be ${message}`) : success(word);
  };
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
