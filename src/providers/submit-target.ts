import type { Connection } from "./provider.ts";
import type { SubmitTarget } from "./submit.ts";

/** Path, body and answer of a submission to a simulated provider. */
export const SIMULATED_TARGET: SubmitTarget = {
  model: { pointer: "/model" },
  endpoint: null,
  parameters: {},
  answer: "job",
};

/** Returns what a `POST` to a path of a connection starts. Null when it starts no job that the relay knows. */
export function submitTargetOf({ provider }: Connection, path: string): SubmitTarget | null {
  if (provider.polls !== null) return provider.submits?.target(path) ?? null;
  return path === provider.simulation.submitPath ? SIMULATED_TARGET : null;
}
