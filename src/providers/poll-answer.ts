import type { Job } from "../core/record/upstream.ts";
import { type Answer, type AnswerReader, type Reading, UNCLEAR } from "./provider.ts";

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

/** Reads the HTTP statuses that mean the same for every provider; null for those with a body to read. */
export function readingOfStatus({ status }: Answer): Reading | null {
  if (status === 401 || status === 403) return { kind: "unauthorized" };
  if (status === 429) return { kind: "limited" };
  return status >= 200 && status < 300 ? null : UNCLEAR;
}
