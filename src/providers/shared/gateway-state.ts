import type { Observation } from "../observation.ts";
import { type Reading, readingOf, UNCLEAR } from "../provider.ts";

/**
 * States with which a server describes itself or its answer instead of a job, e.g. `{"status": "ok"}` of a proxy.
 */
const OF_SERVERS = /^(?:ok|success|ready|error|fail|failure)$/i;

/**
 * Returns what the answer of a gateway says about the job. The result `unclear` means that the answer was not
 * understood. An answer without a job id and without a link is `unclear` when its state is one with which servers
 * describe themselves, e.g. `ok`, because a proxy in front of the gateway may have written it.
 */
export function readingOfGateway(observation: Observation | null): Reading {
  if (observation === null) return UNCLEAR;
  const { jobId, state, urls } = observation;
  const isOfServer = jobId === null && urls.length === 0 && OF_SERVERS.test(state ?? "");
  return isOfServer ? UNCLEAR : readingOf(observation);
}
