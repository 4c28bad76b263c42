import { categoryIn } from "./failure-words.ts";
import type { UpstreamError } from "./failure.ts";
import { numberAt } from "./json-fields.ts";

/**
 * Pattern of the names of members in which an upstream states how many outputs a filter has withheld. `REASONS` is the
 * pattern for the members with the reasons. Names are compared in lower case and without `_`.
 */
const COUNT = /(?:filtered|blocked|withheld|censored)count$/;
const REASONS = /(?:filter|filtered|block|blocked|withheld|censored)reasons?$/;
/**
 * Pattern of the name of a member that states why the generation of an output ended, e.g. `SAFETY` or `content_filter`.
 */
const END = /^(?:finish|stop)reason$/;
/** Pattern of the names of members that repeat the request. */
const OF_REQUEST = /^(?:inputs?|requests?|params?|parameters?|prompts?|options|config|settings)$/;
const MAX_DEPTH = 8;

/**
 * Returns the error of a job that the upstream reports as a success although a safety filter has withheld all its
 * outputs. Such a report states the number of withheld outputs or the reasons (`raiMediaFilteredReasons` of Veo), and
 * contains no output. Null for any other report.
 */
export function withheldIn(report: unknown, depth = MAX_DEPTH): UpstreamError | null {
  if (typeof report !== "object" || report === null || depth === 0) return null;
  if (!Array.isArray(report)) {
    const error = errorOf(Object.entries(report));
    if (error !== null) return error;
  }
  for (const [name, member] of Object.entries(report)) {
    const error = OF_REQUEST.test(name) ? null : withheldIn(member, depth - 1);
    if (error !== null) return error;
  }
  return null;
}

function errorOf(members: readonly (readonly [string, unknown])[]): UpstreamError | null {
  const named = members.map(([name, value]) => ({
    name: name.replaceAll(/[_-]/g, "").toLowerCase(),
    value,
  }));
  const reasons = named
    .filter(({ name }) => REASONS.test(name))
    .flatMap(({ value }) => textsIn(value));
  const hasCount = named.some(({ name, value }) => COUNT.test(name) && (numberAt(value) ?? 0) > 0);
  const end = named.find(({ name, value }) => END.test(name) && isOfFilter(value));
  if (reasons.length === 0 && !hasCount && end === undefined) return null;
  // A part of the outputs may have been withheld, and the others stand beside.
  const hasOther = named.some(({ name, value }) => !REASONS.test(name) && hasMembers(value));
  if (hasOther && end === undefined) return null;
  const text = reasons.join(" ") || "A safety filter of the upstream has withheld the output.";
  return { code: end === undefined ? null : String(end.value), text, category: "moderation" };
}

function textsIn(value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((each) => typeof each === "string").filter((each) => each.trim() !== "");
}

function isOfFilter(value: unknown): boolean {
  if (typeof value !== "string") return false;
  const isNamed = /content.?filter/i.test(value);
  return isNamed || categoryIn({ state: "", code: value, text: "" }) === "moderation";
}

function hasMembers(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}
