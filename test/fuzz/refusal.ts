import { Problem } from "../../src/api/http/problem.ts";

export type Parsed<T> =
  | { readonly isAccepted: true; readonly value: T }
  | { readonly isAccepted: false };

/** Runs a parser that refuses input by throwing a `Problem`. @throws any other error. */
export function parsedBy<T>(parse: () => T): Parsed<T> {
  try {
    return { isAccepted: true, value: parse() };
  } catch (error) {
    requireRefusal(error);
    return { isAccepted: false };
  }
}

/** Requires that an error refuses invalid input and has issues. @throws the error when it does not. */
export function requireRefusal(error: unknown): void {
  if (!(error instanceof Problem)) throw error;
  const { code, details } = error;
  if (code !== "invalid_json" && code !== "invalid_request") throw error;
  requireIssues(details.issues);
}

/** Requires that the issues state what is wrong and where. @throws when they do not. */
export function requireIssues(issues: unknown): void {
  if (!Array.isArray(issues) || issues.length === 0) throw new Error("the refusal has no issues");
  for (const { path, message } of issues) {
    const isPointer = typeof path === "string" && /^(?:\/(?:[^~/]|~[01])*)*$/u.test(path);
    if (!isPointer) throw new Error(`the path of an issue is not a JSON Pointer: ${String(path)}`);
    if (typeof message !== "string" || message === "")
      throw new Error("the message of an issue is empty");
  }
}
