import * as z from "zod/mini";
import { at } from "../json-fields.ts";
import { isPointer } from "./json-pointer.ts";

/**
 * A fault of a declaration: where it is, and what the declaration must have there, written as the rest of a sentence.
 * It contains no values of the declaration.
 */
export interface DeclarationFault {
  /** Names and indexes that lead to the fault within the connection, e.g. `["poll", "state"]`. */
  readonly path: readonly string[];
  readonly message: string;
}

/** The members of an issue (a fault that zod has found) that are used to describe the fault. */
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

const POINTER_MESSAGE =
  "must be a JSON Pointer like /data/0/url, in which * stands for all members and {id} for the job";
const POINTERS_MESSAGE = `${POINTER_MESSAGE}, or a list of them of which the first that finds something counts`;

/** Returns the faults that an issue of zod reports: one for each unknown member, or one for the issue itself. */
export function faultsOf(
  issue: Issue & { readonly code?: string | undefined; readonly keys?: readonly string[] },
): readonly DeclarationFault[] {
  const path = issue.path.map(String);
  const { message } = issue;
  if (issue.code !== "unrecognized_keys") return [{ path, message }];
  return (issue.keys ?? []).map((key) => ({ path: [...path, key], message }));
}

/**
 * Returns the schema of an object that may have only the members of `shape`.
 * @param message fault of any other value, as the rest of a sentence.
 */
export function members<Shape extends z.core.$ZodShape>(shape: Shape, message: string) {
  const unknown = `is not known: known members are ${Object.keys(shape).join(", ")}`;
  return z.strictObject(shape, {
    error: ({ code }) => (code === "unrecognized_keys" ? unknown : message),
  });
}

/**
 * Returns the schema of an object whose member names match a pattern and whose values match one schema.
 * @param message fault of any other value, as the rest of a sentence.
 */
export function named<Value extends z.ZodMiniType>(name: RegExp, value: Value, message: string) {
  return z.pipe(
    z.unknown().check(
      // The schema of a record drops a member with this name and reports no issue.
      z.refine((given) => at(given, "__proto__") === undefined, { path: ["__proto__"], message }),
    ),
    z.record(z.string().check(z.regex(name)), value, { error: () => message }),
  );
}

/**
 * Returns a schema for a string that fulfils a condition.
 * @param message fault of any other value, as the rest of a sentence.
 */
export function textThat(isValid: (text: string) => boolean, message: string) {
  return z.string(message).check(z.refine(isValid, message));
}

/**
 * Returns a zod check that reports the faults which a function finds in a value, each with its position within the
 * value.
 */
export function faultless<T>(faultsIn: (value: T) => readonly DeclarationFault[]) {
  return z.check<T>(({ value, issues }) => {
    for (const { path, message } of faultsIn(value)) {
      issues.push({ code: "custom", input: value, path: [...path], message });
    }
  });
}

/** Schema of a JSON Pointer. */
export const Pointer = textThat(isPointer, POINTER_MESSAGE);

/**
 * Schema of one JSON Pointer or of a list of JSON Pointers. Its output is always a list. Whoever uses the list takes
 * the first pointer that finds something.
 */
export const Pointers = z.transform((value: unknown, { issues }): readonly string[] => {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const texts = list.filter((each) => typeof each === "string" && isPointer(each));
  if (list.length > 0 && texts.length === list.length) return texts.map(String);
  issues.push({ code: "custom", input: value, message: POINTERS_MESSAGE });
  return z.NEVER;
});

/**
 * Returns a schema that reads a value by one of two schemas. A union of zod is not used, because its faults do not say
 * which member is at fault.
 * @param isFirst tells whether a value is meant for the first schema.
 */
export function either<A, B>(
  isFirst: (value: unknown) => boolean,
  first: z.ZodMiniType<A>,
  second: z.ZodMiniType<B>,
) {
  return z.transform((value: unknown, { issues }): A | B => {
    const parsed = isFirst(value) ? first.safeParse(value) : second.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const { path, message } of parsed.error.issues.flatMap(faultsOf)) {
      issues.push({ code: "custom", input: value, path: [...path], message });
    }
    return z.NEVER;
  });
}
