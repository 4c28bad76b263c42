import type { PollLimits } from "../core/policy.ts";
import { failure, type Result, success } from "../core/result.ts";
import { withoutSlash } from "../core/url.ts";
import type { Connection, UpstreamProvider } from "../providers/provider.ts";
import { PROVIDERS, SIMULATED_PROVIDERS } from "../providers/registry.ts";
import type { SimulatedProvider } from "../providers/simulated-provider.ts";
import { declaredProvider } from "../providers/generic/declared-provider.ts";
import { DECLARED_PROVIDER } from "../providers/generic/declaration.ts";
import { type BaseUrlRules, declaredUrlIssues, isPinned, urlIssues } from "./base-url.ts";
import { type Draft, POOL, readDrafts } from "./connection-drafts.ts";
import type { DisabledConnection } from "./declared-connections.ts";
import type { ConfigIssue } from "./issue.ts";
import { customerPollLimits, pollLimits } from "./poll-limits.ts";
import { parsePools } from "./pools.ts";
import { queueLimitIssues, queueLimitsOf, USUAL_QUEUE } from "./queue-limits.ts";

export interface Connections {
  /** Connections with a fault that concerns only them. They are not among `connections`. */
  readonly disabledConnections: readonly DisabledConnection[];
  readonly connections: ReadonlyMap<string, Connection>;
  /** Poll limits of the connections that can be polled, by name of the connection. */
  readonly polls: ReadonlyMap<string, PollLimits>;
  /** Poll limits for jobs that are polled with a customer's key, by name of the connection. */
  readonly customerPolls: ReadonlyMap<string, PollLimits>;
}

/**
 * Pattern of an API key: printable ASCII, which can be sent in a header. Other keys are refused, because the platform
 * would write them to its log as part of a header that cannot be sent.
 */
const KEY = /^[\x21-\x7e]+$/;

/**
 * Returns the checked connections: the default connection of each provider, which has the provider's name, and the
 * connections of `CONNECTIONS`, `CONNECTIONS_2` and so on. Credentials are sent only to the hosts that the provider's
 * adapter names and to those of `EXTRA_BASE_HOSTS`. When the adapter names no host, they are sent only to the host of
 * the connection's own base URL.
 * @param rules rules for base URLs in this deployment, which may also allow connections to this machine.
 * @param isSandboxOn true when each simulated provider gets a connection too.
 */
export function parseConnections(
  vars: object,
  rules: BaseUrlRules,
  isSandboxOn: boolean,
): Result<Connections, readonly ConfigIssue[]> {
  const read = readDrafts(vars);
  if (!read.ok) return read;
  const checked = read.value.drafts.map((draft) => checkedDraft(draft, rules));
  // A declared connection with a fault is disabled alone, as is any with a fault in its limits of jobs. Every other fault
  // is one of the configuration.
  const issues = checked.flatMap(({ draft, issues: found }) =>
    draft.declaration === null ? found : [],
  );
  if (issues.length > 0) return failure(issues);
  const faulty = checked.flatMap(({ draft: { name, entry }, issues: found, limitIssues }) => {
    const all = [...found, ...limitIssues];
    return all.length > 0 ? { name, provider: entry.provider, issues: all } : [];
  });
  const disabled = [...read.value.disabled, ...faulty];
  const upstream = checked.flatMap(({ draft, provider, issues: found, limitIssues }) =>
    provider === null || found.length + limitIssues.length > 0
      ? []
      : upstreamConnections(draft, provider),
  );
  const simulated = isSandboxOn ? SIMULATED_PROVIDERS.map(simulatedConnection) : [];
  const singles = [...upstream, ...simulated];
  const pooled = parsePools(read.value, singles, disabled, RESERVED);
  const connections = [...singles, ...pooled.pools];
  return success({
    disabledConnections: [...disabled, ...pooled.disabled],
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

/**
 * Result of checking one connection that the variables define: the connection before the check (draft), its provider
 * (null when the relay does not know it), and all faults of the draft, those of its limits of jobs apart.
 */
interface CheckedDraft {
  readonly draft: Draft;
  readonly provider: UpstreamProvider | null;
  readonly issues: readonly ConfigIssue[];
  readonly limitIssues: readonly ConfigIssue[];
}

function checkedDraft(draft: Draft, rules: BaseUrlRules): CheckedDraft {
  const provider = providerOf(draft);
  const faults = provider === null ? [unknownProvider(draft)] : draftIssues(draft, provider, rules);
  const issues = [...faults, ...nameClash(draft)];
  return { draft, provider, issues, limitIssues: queueLimitIssues(draft) };
}

function providerOf({ entry, declaration, name }: Draft): UpstreamProvider | null {
  if (declaration !== null) return declaredProvider(declaration, name);
  return PROVIDERS.get(entry.provider) ?? null;
}

function unknownProvider({ variable, name }: Draft): ConfigIssue {
  const known = [...PROVIDERS.keys(), DECLARED_PROVIDER, POOL].join(", ");
  return { path: variable, message: `must name a provider in ${name}: one of ${known}` };
}

/** Names of providers, which no connection of `CONNECTIONS`, `CONNECTIONS_2` and so on may have. */
const RESERVED = [
  ...PROVIDERS.keys(),
  ...SIMULATED_PROVIDERS.map(({ name }) => name),
  DECLARED_PROVIDER,
  POOL,
];

/**
 * Returns a list with a fault when a connection of `CONNECTIONS`, `CONNECTIONS_2` and so on has the name of a provider;
 * empty otherwise. The name of a provider is reserved for its default connection, which other variables define.
 */
function nameClash({ isDefault, name, variable }: Draft): readonly ConfigIssue[] {
  if (isDefault || !RESERVED.includes(name)) return [];
  const message = `must not use the name of a provider, ${name}, for a connection`;
  return [{ path: variable, message }];
}

function draftIssues(
  draft: Draft,
  provider: UpstreamProvider,
  rules: BaseUrlRules,
): readonly ConfigIssue[] {
  const ofUrls =
    draft.declaration === null
      ? urlIssues(draft, provider, rules)
      : declaredUrlIssues(draft, rules);
  return [...ofUrls, ...keyIssues(draft, provider), ...secretIssues(draft, provider)];
}

function keyIssues(
  { variable, isDefault, name, entry: { key }, declaration }: Draft,
  { variables }: UpstreamProvider,
): readonly ConfigIssue[] {
  if (key == null || KEY.test(key)) return [];
  const message = `must be printable ASCII without spaces, as the key of ${name}`;
  if (declaration !== null) return [{ path: `${variable}.${name}.key`, message }];
  return [{ path: (isDefault ? variables?.key : null) ?? variable, message }];
}

function secretIssues(
  { variable, isDefault, name, entry }: Draft,
  provider: UpstreamProvider,
): readonly ConfigIssue[] {
  const secret = entry.webhook_secret ?? null;
  if (secret === null || (provider.isWebhookSecret?.(secret) ?? true)) return [];
  const own = isDefault ? provider.variables?.webhookSecret : undefined;
  const message = `must be the signing secret of ${provider.name}'s webhooks in ${name}, whsec_ and base64`;
  return [{ path: own ?? variable, message }];
}

/**
 * Returns a list with the connection that a checked draft describes. The list is empty for a draft without a base URL,
 * which the check has refused already.
 */
function upstreamConnections(draft: Draft, provider: UpstreamProvider): readonly Connection[] {
  const written = draft.entry.base_url ?? provider.baseUrls?.[0];
  if (written === undefined) return [];
  const { origin, pathname } = new URL(written);
  const baseUrl = withoutSlash(`${origin}${pathname}`);
  const isHookless = isPinned(baseUrl, provider.hooklessBaseUrls ?? [], false);
  const own = isHookless ? { ...provider, hooks: null } : provider;
  return [{ name: draft.name, provider: own, baseUrl, ...settingsOf(draft, provider) }];
}

function settingsOf(
  { entry }: Draft,
  { jwksUrl, polls }: UpstreamProvider,
): Omit<Connection, "name" | "provider" | "baseUrl"> {
  return {
    key: entry.key ?? (polls.takesNoKey === true ? "" : null),
    webhookSecret: entry.webhook_secret ?? null,
    userId: entry.user_id ?? null,
    jwksUrl: entry.jwks_url ?? jwksUrl ?? null,
    pollsPerMinute: entry.polls_per_minute ?? polls.perMinute ?? null,
    ...queueLimitsOf(entry),
    pool: null,
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
    inFlight: null,
    queueLimit: USUAL_QUEUE,
    pool: null,
  };
}
