import * as z from "zod";
import { isLoopback } from "../security/url-policy.ts";
import { parseJson } from "../core/json.ts";
import type { PollLimits } from "../core/record/tracking.ts";
import { PROVIDERS } from "../providers/registry.ts";
import type { Connection, Provider } from "../providers/provider.ts";
import { SANDBOX } from "../providers/sandbox.ts";
import { text as variableText } from "./variables.ts";

type Result =
  | {
      readonly ok: true;
      readonly connections: ReadonlyMap<string, Connection>;
      readonly polls: ReadonlyMap<string, PollLimits>;
    }
  | { readonly ok: false; readonly issues: readonly Issue[] };

interface Issue {
  readonly path: string;
  readonly message: string;
}

const VARIABLE = "CONNECTIONS";
const Text = variableText("");
const FIRST_POLL_MS = 15_000;
const SANDBOX_LIMITS: PollLimits = { firstMs: 2_000, gapMs: 1_000, maxAgeMs: null };

const filled = z.string().trim().min(1).nullish();
/** What can stand in a header; anything else the platform would print into its log. */
const KEY = /^[\x21-\x7e]+$/;
const Entries = z.record(
  z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
  z.strictObject({
    provider: z.string(),
    key: filled,
    base_url: filled,
    webhook_secret: filled,
    user_id: filled,
    jwks_url: filled,
  }),
);
type Entry = z.infer<typeof Entries>[string];

/** A connection before it has been checked, with the variable that it comes from. */
interface Draft {
  readonly variable: string;
  readonly name: string;
  readonly entry: Entry;
}

/**
 * The ways to upstreams: one by the name of every provider, from its own variables, and those of
 * `CONNECTIONS`. Credentials go only to hosts that the provider's adapter names, and to this machine
 * where `allowLocal`.
 */
export function parseConnections(vars: object, allowLocal: boolean, sandbox: boolean): Result {
  const further = furtherDrafts(vars);
  if (!Array.isArray(further)) return { ok: false, issues: [further] };
  const unreadable = [...PROVIDERS.values()].flatMap((provider) => unreadableOf(provider, vars));
  if (unreadable.length > 0) return { ok: false, issues: unreadable };
  const drafts = [...[...PROVIDERS.values()].map((one) => defaultDraft(one, vars)), ...further];
  const issues = [...drafts.flatMap((draft) => issuesOf(draft, allowLocal)), ...clashes(further)];
  if (issues.length > 0) return { ok: false, issues };
  const connections = new Map(drafts.map((draft) => [draft.name, connectionOf(draft)]));
  const polls = new Map([...connections.values()].flatMap(limitsOf));
  if (sandbox) {
    connections.set(SANDBOX, SANDBOX_CONNECTION);
    polls.set(SANDBOX, SANDBOX_LIMITS);
  }
  return { ok: true, connections, polls };
}

function unreadableOf({ variables }: Provider, vars: object): Issue[] {
  const { key, baseUrl, webhookSecret, userId } = variables;
  return [key, baseUrl, webhookSecret, userId].flatMap((name) => {
    if (name === undefined || Text.safeParse(Reflect.get(vars, name)).success) return [];
    return [{ path: name, message: "must be text" }];
  });
}

function defaultDraft(provider: Provider, vars: object): Draft {
  const { key, baseUrl, webhookSecret, userId } = provider.variables;
  const read = (name: string | undefined) =>
    name === undefined ? null : Text.safeParse(Reflect.get(vars, name)).data || null;
  const entry = {
    provider: provider.name,
    key: read(key),
    base_url: read(baseUrl),
    webhook_secret: read(webhookSecret),
    user_id: read(userId),
  };
  return { variable: baseUrl, name: provider.name, entry };
}

/** An issue names what is wrong, never what stands there. */
function furtherDrafts(vars: object): Draft[] | Issue {
  const value: unknown = Reflect.get(vars, VARIABLE) ?? "";
  if (value === "") return [];
  const parsed = Entries.safeParse(typeof value === "string" ? parseJson(value) : value);
  if (parsed.success) {
    const entries = Object.entries(parsed.data);
    return entries.map(([name, entry]) => ({ variable: VARIABLE, name, entry }));
  }
  const wrong = parsed.error.issues.map((issue) => {
    const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
    return [...issue.path, ...keys].join(".");
  });
  const where = wrong.some(Boolean) ? ` (see ${wrong.filter(Boolean).join(", ")})` : "";
  const shape = '{"ark-cn": {"provider": "ark", "key": "…", "base_url": "…"}}';
  return { path: VARIABLE, message: `must be JSON like ${shape}, with names of a-z 0-9 -${where}` };
}

/** A provider's name stands for its own variables. */
function clashes(drafts: readonly Draft[]): readonly Issue[] {
  const taken = drafts.filter(({ name }) => name === SANDBOX || PROVIDERS.has(name));
  return taken.map(({ variable, name }) => ({
    path: variable,
    message: `must not use the name of a provider, ${name}, for a connection`,
  }));
}

function issuesOf({ variable, name, entry }: Draft, allowLocal: boolean): readonly Issue[] {
  const provider = PROVIDERS.get(entry.provider);
  if (provider === undefined) {
    const known = [...PROVIDERS.keys()].join(", ");
    return [{ path: variable, message: `must name a provider in ${name}: one of ${known}` }];
  }
  const hosts = [...provider.baseUrls, ...(provider.jwksUrl ? [provider.jwksUrl] : [])];
  const urls = [entry.base_url, entry.jwks_url];
  const isAllowed = urls.every((url) => url == null || isPinned(url, hosts, allowLocal));
  const message = `must stay on the hosts of ${provider.name} in ${name}: ${hosts.join(", ")}`;
  const misplaced = isAllowed ? [] : [{ path: variable, message }];
  return [
    ...misplaced,
    ...keyIssues(provider, name, entry),
    ...secretIssues(provider, name, entry),
  ];
}

function keyIssues({ name: own, variables }: Provider, name: string, { key }: Entry) {
  if (key == null || KEY.test(key)) return [];
  const message = `must be printable ASCII without spaces, as the key of ${name}`;
  return [{ path: name === own ? variables.key : VARIABLE, message }];
}

function secretIssues(provider: Provider, name: string, entry: Entry): readonly Issue[] {
  const secret = entry.webhook_secret ?? null;
  if (secret === null || (provider.isWebhookSecret?.(secret) ?? true)) return [];
  const own = name === provider.name ? provider.variables.webhookSecret : undefined;
  const message = `must be the signing secret of ${provider.name}'s webhooks in ${name}, whsec_ and base64`;
  return [{ path: own ?? VARIABLE, message }];
}

function isPinned(text: string, hosts: readonly string[], allowLocal: boolean): boolean {
  const url = URL.parse(text);
  // Also a bare ? or #, behind which the path of a request would be lost.
  if (url === null || url.username !== "" || url.password !== "" || /[?#]/.test(text)) return false;
  if (allowLocal && isLoopback(url)) return true;
  return hosts.some((host) => new URL(host).origin === url.origin);
}

function connectionOf({ name, entry }: Draft): Connection {
  const provider = PROVIDERS.get(entry.provider);
  return {
    name,
    provider: entry.provider,
    baseUrl: prefixOf(entry.base_url ?? provider?.baseUrls[0] ?? ""),
    key: entry.key ?? null,
    webhookSecret: entry.webhook_secret ?? null,
    userId: entry.user_id ?? null,
    jwksUrl: entry.jwks_url ?? provider?.jwksUrl ?? null,
  };
}

/** As it will be called, whatever its spelling; empty: it is no URL. */
function prefixOf(text: string): string {
  const url = URL.parse(text);
  return url === null ? "" : `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

const SANDBOX_CONNECTION: Connection = {
  name: SANDBOX,
  provider: SANDBOX,
  baseUrl: "",
  key: "",
  webhookSecret: null,
  userId: null,
  jwksUrl: null,
};

function limitsOf({ name, provider, key }: Connection): readonly [string, PollLimits][] {
  const polls = PROVIDERS.get(provider)?.polls;
  if (polls === undefined || key === null) return [];
  const { gapMs, maxAgeMs } = polls;
  return [[name, { firstMs: FIRST_POLL_MS, gapMs, maxAgeMs }]];
}
