import type { Connection } from "../providers/provider.ts";
import { PROVIDERS, SIMULATED_PROVIDERS } from "../providers/registry.ts";

/**
 * Returns the settings that must be set before a provider has a connection: the names of its variables, or
 * `SANDBOX=true` for a simulated provider. Returns `[]` for an unknown provider.
 */
export function settingsNeededBy(providerName: string): readonly string[] {
  if (SIMULATED_PROVIDERS.some(({ name }) => name === providerName)) return ["SANDBOX=true"];
  const variables = PROVIDERS.get(providerName)?.variables;
  return variables === undefined ? [] : [variables.key, variables.baseUrl];
}

/**
 * Returns the name of the setting that contains the API key of a connection. Null for a simulated connection, which
 * has no key.
 */
export function keySettingOf({ name, provider }: Connection): string | null {
  if (provider.polls === null) return null;
  const { variables } = provider;
  return variables !== undefined && name === provider.name
    ? variables.key
    : `CONNECTIONS, ${name}.key`;
}
