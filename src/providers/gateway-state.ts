import type { Observation } from "./observation.ts";
import { type Reading, readingOf, UNCLEAR } from "./provider.ts";

/**
 * States by which a server describes itself or its answer and not a job, e.g. `{"status": "ok"}` of a proxy.
 */
const OF_SERVERS = /^(?:ok|success|ready|error|fail|failure)$/i;

/**
 * Converts the state of a job, as a gateway has reported it, to what the relay understands of the answer. A
 * report without a job id and without a link counts as not understood if a server that runs no jobs could have
 * written its state, e.g. `ok`.
 */
export function readingOfGateway(observation: Observation | null): Reading {
  if (observation === null) return UNCLEAR;
  const { jobId, state, urls } = observation;
  const isOfServer = jobId === null && urls.length === 0 && OF_SERVERS.test(state ?? "");
  return isOfServer ? UNCLEAR : readingOf(observation);
}
