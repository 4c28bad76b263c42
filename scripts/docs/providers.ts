import { HOUR_MS } from "../../src/core/time.ts";
import { documentedLimits } from "../../src/providers/documented-limits.ts";
import type { NamedProvider } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { fillRegions, table } from "./regions.ts";

/**
 * Returns docs/providers.md with its table of all providers.
 * @param titleOf returns the first heading of the page of a provider.
 */
export function providersDoc(page: string, titleOf: (name: string) => string): string {
  const head = [
    "provider",
    "service",
    "variables",
    "the end of a job is found",
    "output links live",
    "a job can be canceled",
    "`usage` has",
  ];
  const rows = [...PROVIDERS.values()].map((provider) => [
    `[\`${provider.name}\`](../${pageOf(provider.name)})`,
    titleOf(provider.name),
    codes(variablesOf(provider)),
    findingOf(provider),
    documentedLimits(provider).linkLife,
    provider.cancels === undefined ? "–" : "yes",
    codes(provider.usageNames ?? []) || "–",
  ]);
  return fillRegions(page, { providers: table(head, rows) });
}

/** Returns the page of a provider with its table of what the adapter states. */
function providerDoc(page: string, provider: NamedProvider): string {
  const { linkLife, jobLife, polls } = documentedLimits(provider);
  const rows = [
    ["variables", codes(variablesOf(provider))],
    ["end found", findingOf(provider)],
    ["output links live", isShort(provider) ? `**${linkLife}**` : linkLife],
    ["polled for", jobLife],
    ["poll limit", polls],
  ];
  return fillRegions(page, { facts: table(["provider", codes([provider.name])], rows) });
}

/** Tells whether the links of a provider can expire within an hour, before a client has opened them. */
function isShort({ linkLife }: NamedProvider): boolean {
  return linkLife !== null && linkLife !== "stated" && linkLife.minMs < HOUR_MS;
}

/** Returns the path of the page of a provider. */
export function pageOf(name: string): string {
  return `src/providers/${name}/README.md`;
}

/** Returns the names of the variables of a provider, in the order in which documents list them. */
function variablesOf({ variables }: NamedProvider): readonly string[] {
  const { key, webhookSecret, userId, baseUrl } = variables;
  return [key, webhookSecret, userId, baseUrl].filter((name) => name !== undefined);
}

/** Says how the end of a job of a provider is found. */
function findingOf({ hooks, variables }: NamedProvider): string {
  if (hooks === null) return "by polls alone";
  const setting = variables.webhookSecret ?? variables.userId;
  if (hooks.isOptional === true && setting === undefined)
    return "by polls, or earlier by the poll that a hook causes";
  return hooks.assurance === "body-signed" && setting !== undefined
    ? `by its hook, with \`${setting}\``
    : "by the poll that its hook causes";
}

function codes(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}

/** The pages of all providers, by path, each with what makes its generated part. */
export const PROVIDER_PAGES: ReadonlyMap<string, (page: string) => string> = new Map(
  Array.from(PROVIDERS.values(), (provider) => [
    pageOf(provider.name),
    (page: string) => providerDoc(page, provider),
  ]),
);
