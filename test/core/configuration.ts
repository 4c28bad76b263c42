import { parseConfig } from "../../src/config/config.ts";

/** Secret of the tests, which no error message may contain. */
export const MARK = "do-not-repeat-me";
const FLAGS = {
  global_fetch_strictly_public: true,
  durable_object_io_tasks_prevent_eviction: true,
};
const REQUIRED = { RELAY_SECRET: "r".repeat(32), OPERATOR_KEYS: "o".repeat(16) };

/** Parses a configuration with these variables and the required ones. */
export function configuredWith(vars: object) {
  return parseConfig({ ...REQUIRED, ...vars }, FLAGS);
}

/** Builds the variable `CONNECTIONS` with these entries. */
export function connections(entries: object): object {
  return { CONNECTIONS: JSON.stringify(entries) };
}

/** Returns the connections of a valid configuration. */
export function connectionsOf(vars: object) {
  const result = configuredWith(vars);
  if (!result.ok) throw new Error("the configuration was refused");
  return result.value.connections;
}
