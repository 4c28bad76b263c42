import * as z from "zod/mini";
import { GONE_REASONS } from "../outputs/output-gone.ts";
import { Count, described, maybe, named } from "../shapes/described.ts";
import { Task } from "../shapes/task-shape.ts";
import { isProblemCode, type ProblemCode, PROBLEMS } from "./problem-list.ts";
import type { RouteDescription } from "./route.openapi.ts";
import type { Route } from "./route.ts";

const CODES = Object.keys(PROBLEMS);

export const ProblemSchema = named(
  "Problem",
  z.strictObject({
    type: described(z.string(), "Link to the code on the page `/docs/errors` of the relay."),
    title: z.string(),
    status: z.int(),
    detail: described(z.string(), "What is wrong in this case."),
    code: described(z.enum(CODES), "The kind of problem, which does not change."),
    issues: maybe(
      z.array(z.strictObject({ path: z.string(), message: z.string() })),
      "Faults of the input: `path` is a JSON Pointer, or `/Name` of a header or parameter.",
    ),
    more_issues: maybe(Count, "Number of further faults."),
    balance: maybe(z.int(), "Balance of the account, of `insufficient_credits`."),
    price: maybe(z.int(), "Price of the task, of `insufficient_credits` and `monthly_limit`."),
    monthly_limit: maybe(
      z.int(),
      "Credits that the account may spend in a month, of `monthly_limit`.",
    ),
    spent_this_month: maybe(
      z.int(),
      "Credits that it has spent in this month, of `monthly_limit`.",
    ),
    reason: maybe(z.enum(GONE_REASONS), "Why the output is gone, of `output_gone`."),
    task: z.optional(Task),
  }),
  "A refused request (RFC 9457). It has changed nothing.",
);

/** Returns the codes of all problems with which a route may answer, in the order of `PROBLEMS`. */
export function problemsOf(
  { access, body, path }: Route,
  { problems: own }: Pick<RouteDescription, "problems">,
): readonly ProblemCode[] {
  const possible = new Set<string>(["invalid_request", "internal_error", ...own]);
  if (access !== "anyone") {
    for (const code of GUARDED) possible.add(code);
  }
  if (body !== null) {
    for (const code of WITH_BODY) possible.add(code);
  }
  if (path.includes("{account}")) possible.add("not_found");
  return ALL.filter((code) => possible.has(code));
}

const ALL = Object.keys(PROBLEMS).filter(isProblemCode);
const GUARDED: readonly ProblemCode[] = [
  "unauthenticated",
  "forbidden",
  "rate_limited",
  "not_configured",
  "stored_by_earlier_build",
  "unavailable",
];
const WITH_BODY: readonly ProblemCode[] = ["invalid_json", "body_timeout", "payload_too_large"];
