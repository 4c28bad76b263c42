import { idAt } from "../json-fields.ts";
import {
  isModelSegment,
  jobReadingOf,
  type SubmitAdapter,
  type SubmitReading,
  submitReadingOf,
  type SubmitTarget,
} from "../submit.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import type { Declaration, DeclaredSubmit } from "./declaration.ts";
import { declaredRefusal } from "./declared-refusal.ts";
import { readReport } from "./declared-reports.ts";
import { findFirst } from "./json-pointer.ts";

const MAX_NAME_CHARS = 200;
const UNCLEAR: SubmitReading = { kind: "unclear" };

/**
 * Returns the description of the calls that start jobs, made from the declaration of a connection.
 * @param name name of the connection, which is used as the model when a call states none.
 */
export function submitsOf(declaration: Declaration, name: string): SubmitAdapter {
  const { submit } = declaration;
  const patterns = typeof submit.path === "string" ? [submit.path] : submit.path;
  return {
    target: (path) => {
      const matched = patterns
        .map((pattern) => matchOf(pattern, path))
        .find((each) => each !== null);
      return matched === undefined ? null : targetOf(submit, matched || name);
    },
    refusal: (status, body) => declaredRefusal(submit, status, body) ?? refusalOfStatus(status),
    readAnswer: (body, _path, baseUrl) => readAnswer(body, baseUrl, declaration),
  };
}

/**
 * Returns the segments of a path that match the `*` of a pattern, joined by slashes. Null when the path does not match
 * the pattern.
 */
function matchOf(pattern: string, path: string): string | null {
  const [expected, given] = [pattern.split("/"), path.split("/")];
  if (expected.length !== given.length) return null;
  const matched: string[] = [];
  for (const [at, segment] of expected.entries()) {
    const text = given[at] ?? "";
    const isFitting = segment === "*" ? isModelSegment(text) : segment === text;
    if (!isFitting) return null;
    if (segment === "*") matched.push(text);
  }
  const name = matched.join("/");
  return name.length > MAX_NAME_CHARS ? null : name;
}

function targetOf(submit: DeclaredSubmit, name: string): SubmitTarget {
  return {
    model: submit.model == null ? { name } : { pointer: submit.model, otherwise: name },
    endpoint: null,
    parameters: submit.parameters ?? {},
    answer: submit.answer ?? "job",
    ...(submit.list === true && { isListOfOne: true }),
    ...(submit.inline != null && { inline: { asked: submit.inline } }),
    ...("request" in submit.id && { jobId: submit.id.request }),
  };
}

function readAnswer(body: unknown, baseUrl: string, declaration: Declaration): SubmitReading {
  const { submit, poll } = declaration;
  if (typeof body !== "object" || body === null) return UNCLEAR;
  if ("request" in submit.id) return { kind: "named" };
  const jobId = idAt(findFirst(body, submit.id, null)[0]);
  if (submit.answer !== "job-or-result") return jobReadingOf(jobId, null);
  const observation = readReport({ body, status: null, jobId, baseUrl }, poll, declaration);
  return submitReadingOf(observation === null ? null : { ...observation, jobId });
}
