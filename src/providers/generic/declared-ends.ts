import { firstChars } from "../../core/text.ts";
import type { UpstreamError } from "../failure.ts";
import { isAboutRequest } from "../failure-words.ts";
import { booleanAt, textAt } from "../json-fields.ts";
import {
  ANY_VALUE,
  type DeclaredError,
  type DeclaredPoll,
  type WordMeaning,
} from "./declaration.ts";
import { reasonIn } from "../stated-reason.ts";
import { findAll, type Found } from "./json-pointer.ts";

/**
 * The end of a job that a report shows by a value which the declaration lists in `ends`, with the pointer to that
 * value.
 */
export interface DeclaredEnd {
  /** The value that shows the end of the job, as text; null when the value is a list or an object. */
  readonly word: string | null;
  readonly meaning: WordMeaning;
  readonly pointer: string;
}

/** A report in which the end of a job, or an error, is looked for. */
interface Searched {
  readonly body: unknown;
  /** Id of the job that the request asked for; null when it is not known. */
  readonly jobId: string | null;
}

const MAX_ERROR_CHARS = 8_192;

/**
 * Returns the end of a job that a report shows by a value at one of the pointers in `poll.ends` of the declaration. If
 * `ends` has an entry that stands for every value, any value counts, but only if the report names the job and the error
 * beside the value is not about the request, e.g. about its key. Null when the report shows no end.
 * @param namedId id of the job that the report names; null when it names none.
 */
export function endIn(
  report: Searched,
  { ends, error }: Pick<DeclaredPoll, "ends" | "error">,
  namedId: string | null,
): DeclaredEnd | null {
  const isNamed = namedId !== null && (report.jobId === null || report.jobId === namedId);
  for (const [place, meanings] of Object.entries(ends ?? {})) {
    for (const { pointer, value } of findAll(report.body, place, report.jobId)) {
      const word = wordOf(value);
      const isError = isNamed && textOf(value) !== null && !isOfRequest(report, error, pointer);
      const meaning =
        ownMeaning(meanings, word) ?? ownMeaning(meanings, isError ? ANY_VALUE : null);
      if (meaning !== null) return { word, meaning, pointer };
    }
  }
  return null;
}

function ownMeaning(
  meanings: Readonly<Record<string, WordMeaning>>,
  word: string | null,
): WordMeaning | null {
  return word !== null && Object.hasOwn(meanings, word) ? (meanings[word] ?? null) : null;
}

function isOfRequest(report: Searched, error: DeclaredPoll["error"], near: string): boolean {
  const { code, text } = errorTextsIn(report, error, near);
  return isAboutRequest({ code: code ?? "", text: text ?? "" });
}

/**
 * Returns the error of a job in a report. Null when the report states none.
 * @param meaning meaning of the state in the report.
 * @param near pointer to the value that shows the end of the job; an error in the same object is preferred. Null when
 * there is none.
 */
export function errorIn(
  report: Searched,
  error: DeclaredPoll["error"],
  meaning: WordMeaning | null,
  near: string | null,
): UpstreamError | null {
  const { code, text, isRetryable } = errorTextsIn(report, error, near);
  const found = { code, text, ...(isRetryable !== null && { isRetryable }) };
  if (meaning === "moderated") return { ...found, category: "moderation" };
  if (meaning === "canceled") return { ...found, category: "canceled" };
  return code === null && text === null ? null : found;
}

function errorTextsIn(report: Searched, error: DeclaredPoll["error"], near: string | null) {
  const { code, message, retryable } = errorPlaces(error ?? []);
  const retry = valueNear(report, retryable, near, isWord);
  return {
    code: textOf(valueNear(report, code, near, isReadable)),
    text: textOf(valueNear(report, message, near, isReadable)),
    isRetryable: booleanAt(retry) ?? booleanOf(textAt(retry)),
  };
}

function booleanOf(text: string | null): boolean | null {
  return text === "true" || text === "false" ? text === "true" : null;
}

/**
 * Returns the first value that one of the pointers finds in the object to which the value at the pointer `near`
 * belongs. When there is none, returns the first value that the pointers find anywhere.
 */
function valueNear(
  { body, jobId }: Searched,
  pointers: readonly string[],
  near: string | null,
  isStated: (found: Found) => boolean,
): unknown {
  const object = near?.slice(0, near.lastIndexOf("/") + 1) ?? "";
  const found = pointers.map((place) => findAll(body, place, jobId).filter(isStated));
  const beside = found
    .flat()
    .find(({ pointer }) => object.length > 1 && pointer.startsWith(object));
  return (beside ?? found.flat()[0])?.value;
}

function isWord({ value }: Found): boolean {
  return wordOf(value) !== null;
}

/**
 * Tells whether a value states a reason. A value found in a list counts only if it contains a readable text, because a
 * later element of the list may have one.
 */
function isReadable({ pointer, value }: Found): boolean {
  const isElement = /\/\d+(?:\/|$)/.test(pointer) && typeof value === "object";
  return isElement ? reasonIn(value) !== null : textOf(value) !== null;
}

/**
 * Returns the pointers that the declaration names for an error: to its code, to its text, and to the value that states
 * whether a retry helps.
 */
export function errorPlaces(error: DeclaredError | readonly string[]) {
  if (!("code" in error || "message" in error || "retryable" in error)) {
    return { code: [], message: isList(error) ? error : [], retryable: [] };
  }
  const { code, message, retryable } = error;
  return { code: code ?? [], message: message ?? [], retryable: retryable ?? [] };
}

function isList(value: object): value is readonly string[] {
  return Array.isArray(value);
}

function wordOf(value: unknown): string | null {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" ? value : null;
}

/**
 * Returns a value of an error as text. If the value is an object, this is the reason that it states or, without one,
 * the whole object as JSON. Null when there is no value.
 */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null || value === "" || value === false) return null;
  const text = typeof value === "string" ? value : (reasonIn(value) ?? JSON.stringify(value));
  return firstChars(text, MAX_ERROR_CHARS);
}
