import { isObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { at } from "../json-fields.ts";

const ID = "{id}";
const PLACEHOLDER = /\{[^{}]*\}/g;
const MAX_PATH_CHARS = 1_024;

/**
 * Checks the path of a call in a declaration.
 * @param placeholders names in braces that the path may contain; null permits any name.
 * @returns the fault as the rest of a sentence; null when the path has no fault.
 */
export function pathFault(text: string, placeholders: readonly string[] | null): string | null {
  const unknown = (text.match(PLACEHOLDER) ?? []).find(
    (each) => placeholders?.includes(each) === false,
  );
  if (unknown !== undefined) {
    const known = placeholders?.join(", ") ?? "";
    return `must not contain ${unknown}${known === "" ? "" : `: it knows ${known}`}`;
  }
  // The URL parser would resolve dots and drop a fragment, so the call would go elsewhere.
  const plain = text.replaceAll(PLACEHOLDER, "x");
  const url = URL.parse(plain, "https://upstream.example");
  const isSame = url?.host === "upstream.example" && `${url.pathname}${url.search}` === plain;
  if (isSame && !plain.includes("//") && text.length <= MAX_PATH_CHARS) return null;
  return "must be a path below the base URL, like /status/{id}, percent-encoded and without .. or #";
}

/** Tells whether a declared path or body contains the placeholder for the id of the job. */
export function namesJob(template: JsonValue): boolean {
  if (typeof template === "string") return template.includes(ID);
  if (typeof template !== "object" || template === null) return false;
  return Object.values(template).some(namesJob);
}

/**
 * Returns the path of a call about a job. The id is encoded, so that it always fills exactly one segment of the path or
 * one value of the query.
 */
export function pathFor(template: string, id: string): string {
  return template.replaceAll(ID, encodeURIComponent(withoutDotSegment(id)));
}

/**
 * Returns the JSON body of a call about a job. The id replaces `{id}` in strings of the template, so that an id can add
 * no members.
 */
export function bodyFor(template: JsonValue, id: string): JsonValue {
  if (typeof template === "string") return template.replaceAll(ID, () => id);
  if (isObject(template)) return membersFor(template, id);
  return Array.isArray(template) ? template.map((each: JsonValue) => bodyFor(each, id)) : template;
}

/** Returns the JSON object that is the body of a call about a job (see `bodyFor`). */
export function membersFor(template: JsonObject, id: string): JsonObject {
  return Object.fromEntries(
    Object.entries(template).map(([name, value]) => [name, bodyFor(value, id)]),
  );
}

/**
 * Returns the path that a template gives for an object: the object's members, percent-encoded, replace their names in
 * braces. Null when one of the members is missing, or is neither a string nor a number.
 */
export function pathFrom(template: string, value: unknown): string | null {
  let isWhole = true;
  const path = template.replaceAll(PLACEHOLDER, (placeholder) => {
    const member = at(value, placeholder.slice(1, -1));
    if (typeof member !== "string" && typeof member !== "number") isWhole = false;
    return encodeURIComponent(withoutDotSegment(String(member).toWellFormed()));
  });
  return isWhole ? path : null;
}

/**
 * Returns the text of a path segment. If it is `.` or `..`, its dots are escaped in such a way that the URL parser does
 * not take it for a step to another folder; percent-encoding alone would not prevent this.
 */
function withoutDotSegment(text: string): string {
  return /^\.{1,2}$/.test(text) ? text.replaceAll(".", "%2E") : text;
}
