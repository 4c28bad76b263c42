import { parseDeclaration } from "../../src/providers/generic/declaration.ts";
import { declaredProvider } from "../../src/providers/generic/declared-provider.ts";
import type { UpstreamProvider } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { DECLARATIONS } from "./declarations.ts";

/** Adapters of the upstreams that docs/providers.md declares, by the name of the connection. */
export const DECLARED: ReadonlyMap<string, UpstreamProvider> = new Map(
  Object.entries(DECLARATIONS).map(([name, declaration]) => [name, declared(name, declaration)]),
);

/** All adapters of which the tests have examples: those of the registry, and those of declared upstreams. */
export const ADAPTERS: ReadonlyMap<string, UpstreamProvider> = new Map([...PROVIDERS, ...DECLARED]);

/** Returns the base URL of the connection with which the tests use an adapter. */
export function baseUrlIn(name: string, gateway: string): string {
  const known = PROVIDERS.get(name)?.baseUrls?.[0];
  const declaration = Object.entries(DECLARATIONS).find(([each]) => each === name)?.[1];
  return known ?? declaration?.base_url ?? gateway;
}

/** Returns the adapter that a declaration makes. @throws Error when the declaration is not valid. */
export function declared(name: string, declaration: unknown): UpstreamProvider {
  const parsed = parseDeclaration(declaration);
  if (!parsed.ok) throw new Error(`${name}: ${JSON.stringify(parsed.error)}`);
  return declaredProvider(parsed.value, name);
}
