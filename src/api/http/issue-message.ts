import type * as z from "zod/mini";

/**
 * Returns the message for a validation issue of zod, worded to follow the name of the field, e.g. "must be a string".
 * @returns undefined to keep the message that the schema itself has set.
 */
export function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type") {
    return issue.input === undefined ? "is required" : `must be ${withArticle(issue.expected)}`;
  }
  if (issue.code === "invalid_key") return issue.issues[0]?.message;
  if (issue.code === "invalid_format" && issue.format === "guid") return "must be a UUID";
  if (issue.code === "invalid_value") return oneOf(issue.values);
  if (issue.code === "invalid_union" && Array.isArray(issue.options)) return oneOf(issue.options);
  if (issue.code === "too_small") return bounded("at least", issue.minimum, issue.origin);
  if (issue.code === "too_big") return bounded("at most", issue.maximum, issue.origin);
  return undefined;
}

function oneOf(values: readonly unknown[]): string {
  return `must be one of ${values.join(", ")}`;
}

function withArticle(type: string): string {
  if (type === "int") return "an integer";
  if (type === "record") return "an object";
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function bounded(relation: string, bound: number | bigint, origin: string): string {
  if (origin === "string") return `must have ${relation} ${bound} characters`;
  if (origin === "array") return `must have ${relation} ${bound} items`;
  return `must be ${relation} ${bound}`;
}
