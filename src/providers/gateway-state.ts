import type { Observation } from "./observation.ts";
import { type Reading, readingOf, UNCLEAR } from "./provider.ts";

/**
 * States by which a server describes itself or its answer and not a job, e.g. `{"status": "ok"}` of a proxy.
 */
const OF_SERVERS = /^(?:ok|success|ready|error|fail|failure)$/i;

/**
 * Returns what the answer of a gateway means for the job: its news, or that it was not understood. An answer without
 * a job id and without a link is not understood when its state is one of a server and not of a job, e.g. `ok`,
 * because a proxy in front of the gateway may have written it.
 */
export function readingOfGateway(observation: Observation | null): Reading {
  if (observation === null) return UNCLEAR;
  const { jobId, state, urls } = observation;
  const isOfServer = jobId === null && urls.length === 0 && OF_SERVERS.test(state ?? "");
  return isOfServer ? UNCLEAR : readingOf(observation);
}
