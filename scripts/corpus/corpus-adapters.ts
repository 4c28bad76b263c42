import { declared } from "../../test/providers/adapters.ts";
import { DECLARATIONS, OWN_DECLARATIONS } from "../../test/providers/declarations.ts";
import type { UpstreamProvider } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { GATEWAY } from "../../src/providers/shared/examples/report-examples.ts";

/** An adapter, and the base URL of a connection with it. */
export interface CorpusAdapter {
  readonly provider: UpstreamProvider;
  readonly baseUrl: string;
}

const PRINTED: ReadonlyMap<string, unknown> = new Map(
  Object.entries({ ...DECLARATIONS, ...OWN_DECLARATIONS }),
);

/** Names of the providers and of the upstreams whose declarations are ready to paste. */
export const CORPUS_NAMES: readonly string[] = [...PROVIDERS.keys(), ...PRINTED.keys()];

/**
 * Returns the adapter of a provider or of an upstream whose declaration is ready to paste. Null when there is none.
 * @param declaration declaration that counts in place of a known one.
 * @throws Error when the declaration is not valid.
 */
export function corpusAdapter(
  name: string,
  declaration: unknown = PRINTED.get(name),
): CorpusAdapter | null {
  if (declaration !== undefined) {
    return { provider: declared(name, declaration), baseUrl: baseUrlOf(declaration) };
  }
  const provider = PROVIDERS.get(name);
  if (provider === undefined) return null;
  return { provider, baseUrl: provider.baseUrls?.[0] ?? GATEWAY };
}

function baseUrlOf(declaration: unknown): string {
  const isObject = typeof declaration === "object" && declaration !== null;
  const stated = isObject && "base_url" in declaration ? declaration.base_url : undefined;
  return typeof stated === "string" && URL.canParse(stated) ? stated : GATEWAY;
}
