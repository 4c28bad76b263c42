import type { PollLimits } from "../core/policy.ts";
import { failure, type Result, success } from "../core/result.ts";
import type { Connection, UpstreamProvider } from "../providers/provider.ts";
import { PROVIDERS, SIMULATED_PROVIDERS } from "../providers/registry.ts";
import type { SimulatedProvider } from "../providers/simulated-provider.ts";
import { type BaseUrlRules, isPinned, urlIssues } from "./base-url.ts";
import { type Draft, readDrafts } from "./connection-drafts.ts";
import type { ConfigIssue } from "./issue.ts";
import { customerPollLimits, pollLimits } from "./poll-limits.ts";

export interface Connections {
  readonly connections: ReadonlyMap<string, Connection>;
  /** Poll limits of the connections that can be polled, by name of the connection. */
  readonly polls: ReadonlyMap<string, PollLimits>;
  /** Poll limits of all connections to upstreams for jobs that are polled with a customer's key, by name. */
  readonly customerPolls: ReadonlyMap<string, PollLimits>;
}

/**
 * Pattern of an API key: printable ASCII, which can be sent in a header. Other keys are refused, because the
 * platform writes a header that it cannot send to its log.
 */
const KEY = /^[\x21-\x7e]+$/;

/**
 * Returns the checked connections: the default connection of each provider, which has the provider's name, and the
 * connections of `CONNECTIONS`, `CONNECTIONS_2` and so on. Credentials are sent only to the hosts that the
 * provider's adapter names and to those of `EXTRA_BASE_HOSTS`. When the adapter names no host, they are sent only
 * to the host of the connection's own base URL.
 * @param rules rules for base URLs in this deployment, which may also allow connections to this machine.
 * @param isSandboxOn true when simulated providers get a connection too.
 */
export function parseConnections(
  vars: object,
  rules: BaseUrlRules,
  isSandboxOn: boolean,
): Result<Connections, readonly ConfigIssue[]> {
  const drafts = readDrafts(vars);
  if (!drafts.ok) return drafts;
  const checked = drafts.value.map((draft) => ({ draft, provider: providerOf(draft) }));
  const issues = [
    ...checked.flatMap(({ draft, provider }) =>
      provider === null ? [unknownProvider(draft)] : draftIssues(draft, provider, rules),
    ),
    ...nameClashes(drafts.value),
  ];
  if (issues.length > 0) return failure(issues);
  const upstream = checked.flatMap(({ draft, provider }) =>
    provider === null ? [] : upstreamConnections(draft, provider),
  );
  const simulated = isSandboxOn ? SIMULATED_PROVIDERS.map(simulatedConnection) : [];
  const connections = [...upstream, ...simulated];
  return success({
    connections: new Map(connections.map((connection) => [connection.name, connection])),
    polls: limitsByName(connections, pollLimits),
    customerPolls: limitsByName(connections, customerPollLimits),
  });
}

function limitsByName(
  connections: readonly Connection[],
  limitsOf: (connection: Connection) => PollLimits | null,
): ReadonlyMap<string, PollLimits> {
  return new Map(
    connections.flatMap((connection) => {
      const limits = limitsOf(connection);
      return limits === null ? [] : [[connection.name, limits]];
    }),
  );
}

function providerOf({ entry }: Draft): UpstreamProvider | null {
  return PROVIDERS.get(entry.provider) ?? null;
}

function unknownProvider({ variable, name }: Draft): ConfigIssue {
  const known = [...PROVIDERS.keys()].join(", ");
  return { path: variable, message: `must name a provider in ${name}: one of ${known}` };
}

/**
 * Returns a fault for each connection of `CONNECTIONS`, `CONNECTIONS_2` and so on that has the name of a provider.
 * The name of a provider is reserved for its default connection, which other variables define.
 */
function nameClashes(drafts: readonly Draft[]): readonly ConfigIssue[] {
  const reserved = [...PROVIDERS.keys(), ...SIMULATED_PROVIDERS.map(({ name }) => name)];
  const taken = drafts.filter(({ isDefault, name }) => !isDefault && reserved.includes(name));
  return taken.map(({ variable, name }) => ({
    path: variable,
    message: `must not use the name of a provider, ${name}, for a connection`,
  }));
}

function draftIssues(
  draft: Draft,
  provider: UpstreamProvider,
  rules: BaseUrlRules,
): readonly ConfigIssue[] {
  return [
    ...urlIssues(draft, provider, rules),
    ...keyIssues(draft, provider),
    ...secretIssues(draft, provider),
  ];
}

function keyIssues(
  { variable, isDefault, name, entry: { key } }: Draft,
  { variables }: UpstreamProvider,
): readonly ConfigIssue[] {
  if (key == null || KEY.test(key)) return [];
  const message = `must be printable ASCII without spaces, as the key of ${name}`;
  return [{ path: isDefault ? variables.key : variable, message }];
}

function secretIssues(
  { variable, isDefault, name, entry }: Draft,
  provider: UpstreamProvider,
): readonly ConfigIssue[] {
  const secret = entry.webhook_secret ?? null;
  if (secret === null || (provider.isWebhookSecret?.(secret) ?? true)) return [];
  const own = isDefault ? provider.variables.webhookSecret : undefined;
  const message = `must be the signing secret of ${provider.name}'s webhooks in ${name}, whsec_ and base64`;
  return [{ path: own ?? variable, message }];
}

/**
 * Returns the connection that a checked draft describes, as a list of one. The list is empty for a draft without a
 * base URL; the check has refused such a draft already.
 */
function upstreamConnections(draft: Draft, provider: UpstreamProvider): readonly Connection[] {
  const written = draft.entry.base_url ?? provider.baseUrls?.[0];
  if (written === undefined) return [];
  const baseUrl = withoutSlash(new URL(written));
  const isHookless = isPinned(baseUrl, provider.hooklessBaseUrls ?? [], false);
  const own = isHookless ? { ...provider, hooks: null } : provider;
  return [{ name: draft.name, provider: own, baseUrl, ...settingsOf(draft, provider) }];
}

function settingsOf(
  { entry }: Draft,
  { jwksUrl, polls }: UpstreamProvider,
): Omit<Connection, "name" | "provider" | "baseUrl"> {
  return {
    key: entry.key ?? null,
    webhookSecret: entry.webhook_secret ?? null,
    userId: entry.user_id ?? null,
    jwksUrl: entry.jwks_url ?? jwksUrl ?? null,
    pollsPerMinute: entry.polls_per_minute ?? polls.perMinute ?? null,
  };
}

function simulatedConnection(provider: SimulatedProvider): Connection {
  const { name } = provider;
  return {
    name,
    provider,
    baseUrl: "",
    key: null,
    webhookSecret: null,
    userId: null,
    jwksUrl: null,
    pollsPerMinute: null,
  };
}

function withoutSlash({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.replace(/(?<!\/)\/+$/, "");
}
