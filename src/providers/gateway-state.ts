import type { Observation } from "./observation.ts";
import { type Reading, readingOf, UNCLEAR } from "./provider.ts";

/**
 * States by which a server describes itself or its answer and not a job, e.g. `{"status": "ok"}` of a proxy.
 */
const OF_SERVERS = /^(?:ok|success|ready|error|fail|failure)$/i;

/**
 * Returns a gateway's report on a job as the result of reading an answer. An answer that names no job and has
 * no link counts as not understood when a server that knows no jobs could have written its state.
 */
export function readingOfGateway(observation: Observation | null): Reading {
  if (observation === null) return UNCLEAR;
  const { jobId, state, urls } = observation;
  const isOfServer = jobId === null && urls.length === 0 && OF_SERVERS.test(state ?? "");
  return isOfServer ? UNCLEAR : readingOf(observation);
}
