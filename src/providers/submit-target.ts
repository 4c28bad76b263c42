import type { Connection } from "./provider.ts";
import type { SubmitAdapter, SubmitTarget } from "./submit.ts";

/**
 * Returns the description of the calls with which jobs of a connection are submitted. Null when the relay cannot submit
 * jobs to its provider.
 */
export function submitAdapterOf({ provider }: Connection): SubmitAdapter | null {
  return provider.polls === null ? provider.simulation.submits : (provider.submits ?? null);
}

/**
 * Returns the description of the job that a `POST` to a path of a connection starts. Null when it starts no job that
 * the relay knows.
 */
export function submitTargetOf(connection: Connection, path: string): SubmitTarget | null {
  return submitAdapterOf(connection)?.target(path) ?? null;
}
