import { nameOfSegment, segmentOf } from "../../core/pointer.ts";
import { at } from "../json-fields.ts";

/** A value that was found by a pointer which may contain `*`, and the pointer that leads to this value alone. */
export interface Found {
  readonly pointer: string;
  readonly value: unknown;
}

/**
 * Pattern of a JSON Pointer (RFC 6901) in a declaration. In such a pointer a segment `*` stands for every member of an
 * object and every element of a list, and a segment `{id}` for the id of the job.
 */
const POINTER = /^(?:\/(?:[^/~]|~[01])*)+$/;
const MAX_CHARS = 256;
/** Largest number of values that one pointer finds. It is above the largest number of outputs of a task. */
const MAX_FOUND = 2_000;

/** Tells whether a text is a JSON Pointer in the form that declarations use. */
export function isPointer(text: string): boolean {
  return text.length <= MAX_CHARS && POINTER.test(text);
}

/**
 * Returns the values at a pointer in parsed JSON, at most 2,000; none when the pointer leads to no value.
 * @param id id of the job; null when it is not known, so that a pointer with `{id}` finds nothing.
 */
export function findAll(body: unknown, pointer: string, id: string | null): readonly Found[] {
  let found: readonly Found[] = [{ pointer: "", value: body }];
  for (const segment of pointer.slice(1).split("/")) {
    if (segment === "{id}" && id === null) return [];
    const name = segment === "{id}" ? id : nameOfSegment(segment);
    found = membersOfAll(found, segment, name);
  }
  return found.filter(({ value }) => value !== undefined);
}

/**
 * Returns the members of all these objects and the elements of all these lists, at most `MAX_FOUND` values, to limit
 * the memory that they take.
 */
function membersOfAll(
  values: readonly Found[],
  segment: string,
  name: string | null,
): readonly Found[] {
  const found: Found[] = [];
  for (const { pointer, value } of values) {
    if (found.length >= MAX_FOUND) break;
    found.push(...membersOf(value, segment, name, pointer));
  }
  return found.slice(0, MAX_FOUND);
}

/** Returns the values of the first pointer that finds any. Values that are null do not count. */
export function findFirst(
  body: unknown,
  pointers: readonly string[],
  id: string | null,
): readonly unknown[] {
  for (const pointer of pointers) {
    const values = findAll(body, pointer, id).map(({ value }) => value);
    const stated = values.filter((value) => value !== null);
    if (stated.length > 0) return stated;
  }
  return [];
}

function membersOf(
  value: unknown,
  segment: string,
  name: string | null,
  above: string,
): readonly Found[] {
  if (typeof value !== "object" || value === null) return [];
  if (segment === "*") {
    const entries: readonly [string, unknown][] = Object.entries(value);
    return entries
      .slice(0, MAX_FOUND)
      .map(([key, member]) => ({ pointer: `${above}/${segmentOf(key)}`, value: member }));
  }
  if (name === null || (Array.isArray(value) && !/^\d{1,6}$/.test(name))) return [];
  return [{ pointer: `${above}/${segmentOf(name)}`, value: at(value, name) }];
}
