import * as z from "zod/mini";
import { failure, type Result, success } from "../core/result.ts";
import { CREDENTIALS_REFUSAL, hasCredentials } from "../security/url-rules.ts";

/** The range of whole numbers that a variable may have, including `min` and `max`. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  /** Unit of the numbers, which the name of the variable also states. */
  readonly unit: "s" | "minutes" | "hours" | "days" | "KB" | "MB" | "percent";
  /** Largest number of comma-separated numbers. Absent when the variable has a single number. */
  readonly maxCount?: number;
}

/** Default and allowed values of a variable, from which the documentation of the variable is generated. */
export interface Domain {
  /**
   * Value of the variable that has the same effect as leaving the variable unset. Null when no value has this effect.
   */
  readonly fallback: string | null;
  readonly values: readonly string[] | NumberRange;
}

/** Default and allowed values that belong to a reader, i.e. to the schema that reads a variable. */
export interface WithDomain {
  readonly domain: Domain;
}

/** Returns a reader of a variable with its default and allowed values added. */
function withDomain<S extends z.ZodMiniType>(reader: S, domain: Domain): S & WithDomain {
  return Object.assign(reader, { domain });
}

/** A parser of the text of a variable. Its error is a message for the operator. */
type Parser<T> = (value: string) => Result<T, string>;

/**
 * Returns a reader (the schema that reads a variable) that uses the given function. Each reader is a single schema,
 * because every further schema makes the start of the relay longer.
 */
export function readerOf<T>(read: (value: unknown) => Result<T, string>) {
  return z.transform((value: unknown, { issues }): T => {
    const parsed = read(value);
    if (parsed.ok) return parsed.value;
    issues.push({ code: "custom", input: value, message: parsed.error });
    return z.NEVER;
  });
}

/**
 * Returns a reader that parses a variable as text. Numbers and booleans from TOML become text. A variable that is not
 * set, or is blank, is parsed as if it were `fallback`.
 */
export function parse<T>(fallback: string, parser: Parser<T>) {
  return readerOf((value) => {
    if (value == null) return parser(fallback);
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
      return failure("must be text");
    }
    return parser(String(value).trim() || fallback);
  });
}

/**
 * Returns a reader that reads a variable as text, without parsing it. A variable that is not set, or is blank, is read
 * as `fallback`.
 */
export function text(fallback: string) {
  return parse(fallback, success);
}

/** Returns a reader that parses the text of a variable by `parser`. It reads null when the variable is not set. */
export function parseOptional<T>(parser: Parser<T>) {
  return parse("", (value) => (value === "" ? success(null) : parser(value)));
}

/** Returns a parser that applies a function to what another parser has returned. */
export function convert<Parsed, T>(
  parser: Parser<Parsed>,
  conversion: (value: Parsed) => T,
): Parser<T> {
  return (value) => {
    const parsed = parser(value);
    return parsed.ok ? success(conversion(parsed.value)) : parsed;
  };
}

/** Returns a reader for a whole number in decimal digits, in the unit of the range. */
export function wholeNumber(fallback: string, range: NumberRange) {
  return withDomain(parse(fallback, numberIn(range)), { fallback, values: range });
}

/**
 * Returns a reader for a whole number in decimal digits, in the unit of the range. It reads null when the variable is
 * not set.
 * @param fallback the default that the documentation states, in the unit of the range. Null when leaving the variable
 * unset means something else than a number.
 */
export function optionalNumber(range: NumberRange, fallback: string | null = null) {
  return withDomain(parseOptional(numberIn(range)), { fallback, values: range });
}

function numberIn({ min, max }: NumberRange): Parser<number> {
  return (value) => {
    const number = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return success(number);
    return failure(`must be a whole number from ${min} to ${max}`);
  };
}

/** Returns a reader for a variable with comma-separated whole numbers of seconds. */
export function listOfSeconds(fallback: string, range: { max: number; maxCount: number }) {
  const { max, maxCount } = range;
  const parsed = parse(fallback, (value) => {
    const numbers = value.split(",").map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : NaN));
    if (numbers.length <= maxCount && numbers.every((number) => number <= max)) {
      return success(numbers);
    }
    return failure(`must be 1 to ${maxCount} whole seconds from 0 to ${max}, comma-separated`);
  });
  return withDomain(parsed, { fallback, values: { min: 0, unit: "s", ...range } });
}

/** Parses an http(s) URL without user name and password. */
export function httpUrl(value: string): Result<URL, string> {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol)) return failure("must be an http(s) URL");
  return hasCredentials(value, url) ? failure(CREDENTIALS_REFUSAL) : success(url);
}

/** Returns a reader for a variable that is `true` or `false`. It reads false when the variable is not set. */
export function flag() {
  const words = ["true", "false"] as const;
  const isTrue = convert(wordIn(words), (value) => value === "true");
  return withDomain(parse("false", isTrue), { fallback: "false", values: words });
}

/** Returns a reader for a variable that is one of several words. */
export function oneOf<const Word extends string>(fallback: Word, words: readonly Word[]) {
  return withDomain(parse(fallback, wordIn(words)), { fallback, values: words });
}

/** Returns a reader for a variable that is one of several words. It reads null when the variable is not set. */
export function optionalOneOf<const Word extends string>(words: readonly Word[]) {
  return withDomain(parseOptional(wordIn(words)), { fallback: null, values: words });
}

function wordIn<Word extends string>(words: readonly Word[]): Parser<Word> {
  const message = words.length === 2 ? words.join(" or ") : `one of ${words.join(", ")}`;
  return (value) => {
    const word = words.find((each) => each === value);
    return word === undefined ? failure(`must be ${message}`) : success(word);
  };
}

/** Returns a parser of a list of items that are separated by white space. If one item is invalid, the whole list is. */
export function list(
  message: string,
  isValid: (item: string) => boolean,
): Parser<readonly string[]> {
  return (value) => {
    const items = value.split(/\s+/).filter((item) => item !== "");
    return items.every(isValid) ? success(items) : failure(message);
  };
}

/** Tells whether a secret has at least `bytes` bytes of UTF-8. */
export function hasBytes(secret: string, bytes: number): boolean {
  return new TextEncoder().encode(secret).length >= bytes;
}
