/**
 * Recognition of files that stand inside an answer as text: `data:` URLs and base64. The rules need no more than the
 * beginning of a text, so they also serve a reader that sees the answer piece by piece.
 */
import { mediaTypeOf, OTHER_TYPE, TYPE_BYTES } from "../core/output-metadata/media-type.ts";
import { fromBase64 } from "../security/encoding.ts";
import { isNoOutputWord, isPreviewWord, wordsOf } from "./member-words.ts";

/**
 * Smallest length in characters from which a string in base64 can count as a file without any other sign of one, and
 * the number of characters of a longer text that are examined.
 */
export const MIN_FILE_CHARS = 256;
/** Number of base64 characters that encode the first bytes of a file, by which its type is recognised. */
const HEAD_CHARS = Math.ceil(TYPE_BYTES / 3) * 4;

/**
 * Further words in the names of members whose text or data are no output, because they repeat the request or only
 * accompany the result.
 */
const FURTHER_WORDS = setOf(
  "options config settings properties original origin source usage metrics timings headers signature token hash md5 " +
    "sha256 encrypted thought reasoning",
);
/**
 * Words that show, at the end of a member's name, that the member is a file in base64 if another member of the same
 * object says so.
 */
const DATA_WORDS = setOf("data content value file body bytes image audio video blob payload");
const MEDIA_TYPES = setOf("image video audio file model");
/** Pattern of texts that stand for no file, in a member that is meant for one. */
const NO_FILE = /^(?:\s*|true|false|null|none)$/i;

function setOf(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

/** Tells whether a text begins like a `data:` URL with content. */
export function isDataUrl(text: string): boolean {
  return /^data:[^,]{0,200},./is.test(text.slice(0, MIN_FILE_CHARS));
}

/** Tells whether a text can be base64. Of a long text only the beginning is examined. */
export function isBase64(text: string): boolean {
  if (NO_FILE.test(text)) return false;
  return /^[\w+/\r\n-]{4,}={0,2}$/.test(text.slice(0, MIN_FILE_CHARS).trimEnd());
}

/** Tells whether text in base64 begins like a file of a type that the relay knows. */
export function hasFileSignature(base64: string): boolean {
  const head = base64.slice(0, HEAD_CHARS);
  try {
    return mediaTypeOf(fromBase64(head.slice(0, head.length - (head.length % 4)))) !== OTHER_TYPE;
  } catch {
    return false;
  }
}

/** Tells whether the words of a member's name say that its value is base64. */
export function namesBase64(words: readonly string[]): boolean {
  return words.some((word) => word === "b64" || word === "base64");
}

/**
 * Tells whether a member can hold nothing but base64, e.g. `b64_json`, or `data` in Google's `inlineData`, so that another
 * text in it is a broken file, unless the text stands for none (`isNoFile`).
 * @param object name of the member that contains the object to which the member belongs.
 */
export function holdsOnlyBase64(name: string, object: string): boolean {
  if (name === "data") return /^inline_?data$/i.test(object);
  return /b(?:ase)?64(?:[_-]?json)?$/i.test(name);
}

/** Tells whether a text in a member that is meant for base64 stands for no file, or is a link or a URL without base64. */
export function isNoFile(text: string): boolean {
  return NO_FILE.test(text) || /^(?:https?:|data:[^,;]*,)/i.test(text);
}

/**
 * Tells whether the words of a member's name let its value be a file in base64, if something else says that there is
 * one: another member of the same object (`statesFile`), or the name of this object (`namesFile`).
 */
export function holdsData(words: readonly string[]): boolean {
  return DATA_WORDS.has(words.at(-1) ?? "");
}

/** Tells whether a member says of its object that it contains a file, by a media type or the word `base64`. */
export function statesFile(name: string, value: unknown): boolean {
  if (typeof value !== "string") return false;
  if (/^base64$/i.test(value)) return true;
  return (
    /type$/i.test(name) &&
    (MEDIA_TYPES.has(value) || /^(?:image|video|audio|model|application)\//.test(value))
  );
}

/** Tells whether the words of an object's name say that it is a file, e.g. `audio` for `{"audio": {"data": …}}`. */
export function namesFile(words: readonly string[]): boolean {
  return MEDIA_TYPES.has(words.at(-1) ?? "");
}

/** Tells whether a member `type` says that its object is no output, e.g. `thought` or `user_input`. */
export function isNoOutputType(type: unknown): boolean {
  return typeof type === "string" && wordsOf(type).some(isBesideOutput);
}

/** Tells whether a word in a member's name says that its value is no output, but accompanies it or repeats the request. */
export function isBesideOutput(word: string): boolean {
  return FURTHER_WORDS.has(word) || isNoOutputWord(word) || isPreviewWord(word);
}
