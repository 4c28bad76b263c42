import type { Config } from "../../config/config.ts";
import { keySettingOf } from "../../config/needed-settings.ts";
import type { Connection } from "../../providers/provider.ts";
import { idAt } from "../../providers/json-fields.ts";
import { jobReadingOf, type SubmitAdapter, type SubmitTarget } from "../../providers/submit.ts";
import { Problem } from "../http/problem.ts";
import type { SubmitPlace } from "./prepared-call.ts";

/** Path, body and answer of a submission to a simulated provider. */
const SIMULATED: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: {},
  answer: "job",
};
const SIMULATED_ADAPTER: SubmitAdapter = {
  target: () => SIMULATED,
  readAnswer: (body) => jobReadingOf(idAt(body, "id"), null),
};

/**
 * Returns where a submission goes.
 * @param name name of the connection.
 * @param path path of the call below the base URL of the connection.
 * @throws Problem `not_found` when there is no such connection, or the path starts no job there; `not_configured` when
 * the connection has no API key.
 */
export function requireSubmitPlace(
  name: string,
  path: string,
  { connections }: Config,
): SubmitPlace {
  const connection = connections.get(name);
  if (connection === undefined) {
    throw new Problem("not_found", { detail: `There is no connection ${JSON.stringify(name)}.` });
  }
  const { provider } = connection;
  if (provider.polls === null) {
    const isJob = provider.simulation.submit(path, null) !== null;
    if (!isJob) throw startsNoJob(connection);
    return { connection, adapter: SIMULATED_ADAPTER, target: SIMULATED };
  }
  const adapter = provider.submits;
  if (adapter === undefined) {
    const detail = `Jobs of ${provider.name} cannot be submitted through the relay: register the task and submit the job yourself.`;
    throw new Problem("not_found", { detail });
  }
  const target = adapter.target(path);
  if (target === null) throw startsNoJob(connection);
  if (connection.key === null) {
    const detail = `The connection has no API key: ${keySettingOf(connection)} is not set.`;
    throw new Problem("not_configured", { detail, headers: { "Retry-After": "60" } });
  }
  return { connection, adapter, target };
}

function startsNoJob({ provider }: Connection): Problem {
  return new Problem("not_found", {
    detail: `A POST to this path of ${provider.name} starts no job that the relay knows.`,
  });
}
