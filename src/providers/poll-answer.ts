import { isAbout, type Job } from "../core/record/upstream.ts";
import { isAboutRequest } from "./failure-words.ts";
import { numberAt, textAt } from "./json-fields.ts";
import { type Observation, phaseIn } from "./observation.ts";
import type { Answer } from "./provider-answer.ts";
import { type AnswerReader, isOfServer, type Reading } from "./provider.ts";
import { withReason } from "./stated-reason.ts";

/**
 * HTTP statuses from 400 on that always mean a problem with the request, whatever the body says, and never a failed
 * job.
 */
const OF_REQUESTS: readonly number[] = [401, 403, 404, 407, 408, 425, 429];

/**
 * Returns what an answer to a poll says. HTTP statuses that mean the same for every provider are judged first; then
 * the adapter reads the body.
 * @param baseUrl base URL of the connection.
 */
export function readPollAnswer(
  { read, readsEveryStatus }: AnswerReader,
  answer: Answer,
  job: Job,
  baseUrl: string,
): Reading {
  const refusal = readsEveryStatus === true ? null : readingOfStatus(answer);
  if (refusal !== null && !canStateFailure(answer)) return refusal;
  const reading = explained(read(answer, job, baseUrl), answer, job);
  return refusal === null || isFailureOf(job, reading) ? reading : refusal;
}

function explained(reading: Reading, { body }: Answer, job: Job): Reading {
  if (reading.kind !== "observed") return reading;
  const { observation } = reading;
  const ended = isErrorOf(job, observation) ? { ...observation, state: "failed" } : observation;
  return { ...reading, observation: withReason(ended, body) };
}

/**
 * Tells whether a report names this job, contains no state, and contains an error that is not about the request. False
 * for an upstream that the operator has declared, because the declaration itself says what an error means.
 */
function isErrorOf(job: Job, { jobId, state, phase, urls, error }: Observation): boolean {
  const isStateless = state === null && phase === undefined && urls.length === 0;
  const isNamed = jobId !== null && isAbout(job, jobId);
  const { code, text } = { code: error?.code ?? "", text: error?.text ?? "" };
  return isStateless && isNamed && code + text !== "" && !isAboutRequest({ code, text });
}

/** Tells whether an answer with an error status may be the report of a job that has failed. */
function canStateFailure({ status }: Answer): boolean {
  return status >= 400 && status <= 500 && !OF_REQUESTS.includes(status);
}

/**
 * Tells whether an answer names this job and says that it has failed. It is for answers with an error status, which
 * some upstreams give about a failed job.
 */
function isFailureOf(job: Job, reading: Reading): boolean {
  if (reading.kind !== "observed") return false;
  const { observation } = reading;
  const isNamed = observation.jobId !== null && isAbout(job, observation.jobId);
  return isNamed && phaseIn(observation) === "failed" && !isOfServer(observation);
}

/**
 * Returns the refusal of a poll that the member `code` of a body states, e.g. 401 or 429. Some providers state errors
 * in this way with the HTTP status 200. Null when the body states no refusal.
 */
export function refusalIn(body: unknown): Reading | null {
  const code = numberAt(body, "code");
  if (code === 401) return { kind: "unauthorized" };
  return code === 429 ? { kind: "limited" } : null;
}

/**
 * Returns the meaning of an answer's HTTP status, if it is the same for every provider. For an error status other than
 * 401, 403 and 429 the result says that the answer was not understood, with the error code of the body as `word`. Null
 * for a status from 200 to 299, because the body must then be read.
 */
export function readingOfStatus({ status, body }: Pick<Answer, "status" | "body">): Reading | null {
  if (status === 401 || status === 403) return { kind: "unauthorized" };
  if (status === 429) return { kind: "limited" };
  return status >= 200 && status < 300 ? null : { kind: "unclear", word: textAt(body, "code") };
}
