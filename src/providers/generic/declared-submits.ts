import { idAt } from "../json-fields.ts";
import {
  isModelSegment,
  jobReadingOf,
  resultReadingOf,
  type SubmitAdapter,
  type SubmitReading,
  submitReadingOf,
  type SubmitTarget,
} from "../submit.ts";
import { phaseIn } from "../observation.ts";
import { refusalOfStatus } from "../submit-refusal.ts";
import type { Declaration, DeclaredSubmit } from "./declaration.ts";
import { declaredRefusal } from "./declared-refusal.ts";
import { readReport } from "./declared-reports.ts";
import { findFirst } from "./json-pointer.ts";

const MAX_NAME_CHARS = 200;
/** Values of the member that asks for a stream, as JSON and as a field of a form. */
const STREAM = { "/stream": [true, "true"] };
/** Media types of answers that are the output itself. An HTML page is that of a proxy. */
const PLAIN_TYPES =
  /^(?:(?:audio|font|image|model|video)\/.+|text\/(?!html$|event-stream$).+|application\/(?:octet-stream|pdf|x-subrip|zip))$/;
const UNCLEAR: SubmitReading = { kind: "unclear" };
/** Place of the error in answers of most upstreams. */
const USUAL_ERROR = ["/error"];

/**
 * Returns the description of the calls that start jobs, made from the declaration of a connection.
 * @param name name of the connection, which is used as the model when a call states none.
 */
export function submitsOf(declaration: Declaration, name: string): SubmitAdapter {
  const { submit } = declaration;
  return {
    target: (path) => {
      const matched = matchIn(submit.path, path);
      if (matched === null) return null;
      const target = targetOf(submit, matched || name);
      return submit.answer === "result" ? { ...target, ...resultTargetOf(submit, path) } : target;
    },
    refusal: (status, body) => declaredRefusal(submit, status, body) ?? refusalOfStatus(status),
    readAnswer: (body, _path, baseUrl) => readAnswer(body, baseUrl, declaration),
  };
}

/**
 * Returns the segments that match the `*` of the first of these patterns that a path matches, joined by slashes. Null
 * when the path matches none.
 */
function matchIn(patterns: DeclaredSubmit["path"], path: string): string | null {
  const matches = [patterns].flat().map((pattern) => matchOf(pattern, path));
  return matches.find((each) => each !== null) ?? null;
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

/** Returns what the description of a call whose answer is the result has besides. */
function resultTargetOf(
  { multipart, streams, unreadable }: DeclaredSubmit,
  path: string,
): Partial<SubmitTarget> {
  const hasStream = matchIn(streams ?? [], path) !== null;
  return {
    needsCall: true,
    plainTypes: PLAIN_TYPES,
    unreadable: { ...(!hasStream && STREAM), ...unreadable },
    ...(multipart === true && { takesMultipart: true }),
  };
}

function readAnswer(body: unknown, baseUrl: string, declaration: Declaration): SubmitReading {
  const { submit, poll } = declaration;
  if (typeof body !== "object" || body === null) return UNCLEAR;
  if (submit.answer === "result") return readResult(body, baseUrl, declaration);
  if ("request" in submit.id) return { kind: "named" };
  const jobId = idAt(findFirst(body, submit.id, null)[0]);
  if (submit.answer !== "job-or-result") return jobReadingOf(jobId, null);
  const observation = readReport({ body, status: null, jobId, baseUrl }, poll, declaration);
  return submitReadingOf(observation === null ? null : { ...observation, jobId });
}

/**
 * Returns the meaning of an answer that is the result. Without a state, an answer with an error and no output is a
 * failure, and any other is complete, unless its part for outputs is an empty list. A state in which the upstream goes on
 * proves nothing, because there is no job to ask for.
 */
function readResult(body: object, baseUrl: string, declaration: Declaration): SubmitReading {
  const { poll } = declaration;
  const places = { ...poll, error: poll.error ?? USUAL_ERROR, otherwise: "completed" } as const;
  const report = { body, status: null, jobId: null, baseUrl };
  const observation = readReport(report, places, declaration);
  if (observation === null) return UNCLEAR;
  const { state, urls, error } = observation;
  if (state === null && urls.length === 0) {
    if (error !== null) return resultReadingOf({ ...observation, phase: "failed" });
    const [part] = findFirst(body, poll.outputs_in ?? [], null);
    if (Array.isArray(part) && part.length === 0) return UNCLEAR;
  }
  const phase = phaseIn(observation);
  return phase === "completed" || phase === "failed" ? resultReadingOf(observation) : UNCLEAR;
}
