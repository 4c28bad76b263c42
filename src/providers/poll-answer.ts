import type { Job } from "../core/record/upstream.ts";
import { numberAt, textAt } from "./json-fields.ts";
import { type Answer, type AnswerReader, type Reading } from "./provider.ts";

/**
 * Reads an answer to a poll: first the status codes that mean the same for every provider, then the body.
 * @param baseUrl base URL of the connection.
 */
export function readPollAnswer(
  { read, readsEveryStatus }: AnswerReader,
  answer: Answer,
  job: Job,
  baseUrl: string,
): Reading {
  return (readsEveryStatus === true ? null : readingOfStatus(answer)) ?? read(answer, job, baseUrl);
}

/**
 * Reads a refusal of the poll in the member `code`, where the HTTP status of an answer is 200 for errors too;
 * null when there is none.
 */
export function refusalIn(body: unknown): Reading | null {
  const code = numberAt(body, "code");
  if (code === 401) return { kind: "unauthorized" };
  return code === 429 ? { kind: "limited" } : null;
}

/**
 * Reads an answer whose HTTP status means the same for every provider; null for a status from 200 to 299,
 * with which the body must be read. For any other error status the reading says that the answer is not
 * understood, and repeats the error code in the body as `word`.
 */
export function readingOfStatus({ status, body }: Answer): Reading | null {
  if (status === 401 || status === 403) return { kind: "unauthorized" };
  if (status === 429) return { kind: "limited" };
  return status >= 200 && status < 300 ? null : { kind: "unclear", word: textAt(body, "code") };
}
