/**
 * The search for secrets in texts, in every spelling in which a text may contain them: unchanged, with the escapes of
 * JSON, URLs or HTML (also escaped more than once), and in base64, e.g. of Basic authentication.
 */
import { bytesOf, toBase64 } from "./encoding.ts";

/** Character that replaces a secret in a text. */
const HIDDEN = "…";
/**
 * Largest number of times that the escapes in a text are undone, because text with escapes may have been escaped again.
 */
const MAX_DEPTH = 4;
/** Smallest number of base64 digits by which a secret is searched for in a text. Fewer digits are not searched. */
const MIN_BASE64_CHARS = 8;

/**
 * Pattern of one escaped character. It captures the code of the character, in hex or in decimal digits, or its name in
 * HTML. A backslash before punctuation matches too, and stands for no character. The pattern also matches an escape
 * that was escaped again: with more backslashes, `%25` or `&amp;`.
 */
const ESCAPE =
  /\\{1,8}(?:u([\da-f]{4})|u\{0{0,4}([\da-f]{1,4})\}|x([\da-f]{2})|(?=[^\w\s\\]))|%(?:25){0,8}([\da-f]{2})|&(?:amp;){0,8}(?:#x0{0,6}([\da-f]{1,4})|#0{0,6}(\d{1,5})|(amp|quot|apos|lt|gt|sol|plus|equals|colon))(?:;|(?![\da-z]))/gi;
const NAMED: ReadonlyMap<string, string> = new Map([
  ["amp", "&"],
  ["quot", '"'],
  ["apos", "'"],
  ["lt", "<"],
  ["gt", ">"],
  ["sol", "/"],
  ["plus", "+"],
  ["equals", "="],
  ["colon", ":"],
]);

/** Tells whether a text contains one of the secrets in any spelling. */
export function areSpelledIn(text: string, secrets: readonly string[]): boolean {
  return secrets.length > 0 && readingsOf(text).some((read) => rangesIn(read, secrets).length > 0);
}

/** Returns a copy of a text in which `…` replaces each of the secrets, in whatever spelling the text contains it. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  return secrets.length === 0 ? text : withoutRanges(text, secretRanges(text, secrets));
}

/** Returns the parts of a text that contain one of the secrets, in whatever spelling the text contains it. */
export function secretRanges(text: string, secrets: readonly string[]): readonly Range[] {
  const readings = readingsOf(text);
  return readings.reduceRight<readonly Range[]>((found, reading, depth) => {
    const own = [...found, ...rangesIn(reading, secrets)];
    const earlier = readings[depth - 1];
    if (earlier === undefined || own.length === 0) return own;
    const places = placesIn(earlier);
    return own.map(([start, end]) => [places[start] ?? 0, places[end] ?? earlier.length]);
  }, []);
}

/** Start and end of a part of a text, as character positions. */
type Range = readonly [start: number, end: number];

/** Returns a text, and the texts that result from undoing its escapes once, twice and so on, at most four times. */
export function readingsOf(text: string): readonly string[] {
  const readings = [text];
  let last = text;
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const next = unescaped(last);
    if (next === last) break;
    readings.push(next);
    last = next;
  }
  return readings;
}

function unescaped(text: string): string {
  const parts: string[] = [];
  let end = 0;
  for (const match of text.matchAll(ESCAPE)) {
    parts.push(text.slice(end, match.index), characterOf(match));
    end = match.index + match[0].length;
  }
  return end === 0 ? text : parts.join("") + text.slice(end);
}

/**
 * Returns the character for which a match of `ESCAPE` stands. It is the empty text for a match that has only
 * backslashes, which stands for no character.
 */
function characterOf(match: RegExpExecArray): string {
  const hex = match[1] ?? match[2] ?? match[3] ?? match[4] ?? match[5];
  if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
  const [, , , , , , decimal, name = ""] = match;
  if (decimal !== undefined) return String.fromCharCode(Number(decimal));
  return NAMED.get(name.toLowerCase()) ?? "";
}

/** Returns the parts of a text that contain one of the secrets, unchanged or in base64. */
function rangesIn(reading: string, secrets: readonly string[]): readonly Range[] {
  // base64url has other characters for two of the 64 digits.
  const standard = reading.replaceAll("-", "+").replaceAll("_", "/");
  return secrets.flatMap((secret) => [
    ...rangesOf(secret, reading),
    ...base64Of(secret).flatMap((part) => rangesOf(part, standard)),
  ]);
}

function rangesOf(needle: string, text: string): readonly Range[] {
  const found: Range[] = [];
  if (needle === "") return found;
  let at = text.indexOf(needle);
  while (at >= 0) {
    found.push([at, at + needle.length]);
    at = text.indexOf(needle, at + needle.length);
  }
  return found;
}

/**
 * Returns the base64 digits that are the same in the base64 of every text with this secret. There is one result for
 * each of the three positions that the secret can have in a group of three bytes. Digits that also depend on the
 * neighbouring bytes are left out.
 */
function base64Of(secret: string): readonly string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = bytesOf(new Uint8Array(before), secret);
    const start = Math.ceil((before * 8) / 6);
    const end = Math.floor((bytes.length * 8) / 6);
    const digits = toBase64(bytes).slice(start, end);
    return digits.length < MIN_BASE64_CHARS ? [] : [digits];
  });
}

/**
 * Returns, for each character of a text after its escapes are undone once, the position at which the character begins
 * in the original text.
 */
function placesIn(text: string): readonly number[] {
  const places: number[] = [];
  let at = 0;
  // Backslashes that stand for nothing belong to the character behind them.
  let dropped: number | null = null;
  const begin = (place: number) => {
    places.push(dropped ?? place);
    dropped = null;
  };
  for (const match of text.matchAll(ESCAPE)) {
    for (; at < match.index; at++) begin(at);
    if (characterOf(match) === "") dropped ??= match.index;
    else begin(match.index);
    at = match.index + match[0].length;
  }
  for (; at < text.length; at++) begin(at);
  return places;
}

function withoutRanges(text: string, ranges: readonly Range[]): string {
  let [rest, end] = ["", 0];
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from >= end) rest += `${text.slice(end, from)}${HIDDEN}`;
    end = Math.max(end, to);
  }
  return rest + text.slice(end);
}
