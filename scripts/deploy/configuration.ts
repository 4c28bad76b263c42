import { parseConfig } from "../../src/config/config.ts";
import { describeIssues } from "../../src/config/issue.ts";
import type { Secrets, Settings } from "./plan.ts";
import { Refusal } from "./refusal.ts";

/** Flags that the compatibility date of `wrangler.toml` and the file itself set. */
const FLAGS = {
  global_fetch_strictly_public: true,
  durable_object_io_tasks_prevent_eviction: true,
};

/**
 * Checks the variables and secrets as the deployed relay will.
 * @throws Refusal when the relay would answer 503 `not_configured`.
 */
export function requireValid(settings: Settings, secrets: Secrets, file: string): void {
  const bound = Object.fromEntries(settings.bindings.map((name) => [name, {}] as const));
  const result = parseConfig({ ...bound, ...settings.vars, ...secrets.values }, FLAGS);
  if (result.ok) return;
  const cure = `correct it in ${file} or wrangler.toml (docs/configuration.md)`;
  throw new Refusal(`The configuration is wrong: ${describeIssues(result.error)}`, cure);
}
