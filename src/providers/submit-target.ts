import type { Connection } from "./provider.ts";
import type { SubmitTarget } from "./submit.ts";

/** Description of a submission to a simulated provider: its path, its body and its answer. */
export const SIMULATED_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: {},
  answer: "job",
};

/**
 * Returns the description of the job that a `POST` to a path of a connection starts. Null when it starts no job that
 * the relay knows.
 */
export function submitTargetOf({ provider }: Connection, path: string): SubmitTarget | null {
  if (provider.polls !== null) return provider.submits?.target(path) ?? null;
  return path === provider.simulation.submitPath ? SIMULATED_TARGET : null;
}
