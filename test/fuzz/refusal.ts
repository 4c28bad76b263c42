import { Problem } from "../../src/api/http/problem.ts";

/** The outcome of a parser of the HTTP layer, which refuses by throwing a `Problem` and nothing else. */
export type Parsed<T> = { readonly isTaken: true; readonly value: T } | { readonly isTaken: false };

/** @throws whatever is thrown that is no refusal of invalid input that names what is wrong. */
export function parsedBy<T>(parse: () => T): Parsed<T> {
  try {
    return { isTaken: true, value: parse() };
  } catch (error) {
    requireRefusal(error);
    return { isTaken: false };
  }
}

export function requireRefusal(error: unknown): void {
  if (!(error instanceof Problem)) throw error;
  const { code, details } = error;
  if (code !== "invalid_json" && code !== "invalid_request") throw error;
  requireIssues(details.issues);
}

/** @throws when they do not say what is wrong, and where. */
export function requireIssues(issues: unknown): void {
  if (!Array.isArray(issues) || issues.length === 0) throw new Error("it names no field");
  for (const { path, message } of issues) {
    const isPointer = typeof path === "string" && /^(?:\/(?:[^~/]|~[01])*)*$/u.test(path);
    if (!isPointer) throw new Error(`it is no JSON Pointer: ${String(path)}`);
    if (typeof message !== "string" || message === "") throw new Error("it says nothing");
  }
}
