import * as z from "zod/mini";
import { parseJson } from "../core/json.ts";
import { failure, type Result, success } from "../core/result.ts";
import type { Declaration } from "../providers/generic/declaration.ts";
import { at } from "../providers/json-fields.ts";
import type { NamedProvider } from "../providers/provider.ts";
import { PROVIDERS } from "../providers/registry.ts";
import {
  type DisabledConnection,
  isDeclared,
  type ReadDeclaration,
  readDeclarations,
} from "./declared-connections.ts";
import type { ConfigIssue } from "./issue.ts";
import { text } from "./readers.ts";

/**
 * Pattern of the names of the variables that define connections as JSON: `CONNECTIONS`, `CONNECTIONS_2` and so on.
 * There can be several of them, because the platform limits a secret to 5 KB. The default connection of each
 * provider is defined by other variables.
 */
const VARIABLE = /^CONNECTIONS(?:_(.*))?$/;
const VariableText = text("");
const MAX_POLLS_PER_MINUTE = 100_000;
const filled = z.nullish(z.string().check(z.trim(), z.minLength(1)));
/** Pattern of the name of a connection. */
const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;
const Entries = z.record(
  z.string().check(z.regex(NAME)),
  z.strictObject({
    provider: z.string(),
    key: filled,
    base_url: filled,
    webhook_secret: filled,
    user_id: filled,
    jwks_url: filled,
    polls_per_minute: z.nullish(z.int().check(z.gte(1), z.lte(MAX_POLLS_PER_MINUTE))),
    // A fault in these disables the connection alone: queue-limits.ts.
    in_flight: z.optional(z.unknown()),
    queue: z.optional(z.unknown()),
  }),
);
export type Entry = z.infer<typeof Entries>[string];

/** A connection to a provider as the variables define it, before it is checked. */
export interface Draft {
  /**
   * Name of the variable that is named in errors about the connection: `CONNECTIONS`, `CONNECTIONS_2` … For the default
   * connection of a provider, which several variables define, it is the variable of the base URL, because this is the
   * value that is checked.
   */
  readonly variable: string;
  /**
   * True for the provider's default connection. It is defined by variables of its own, e.g. `ARK_API_KEY`, and not
   * in `CONNECTIONS`.
   */
  readonly isDefault: boolean;
  readonly name: string;
  readonly entry: Entry;
  /** The operator's declaration that describes the upstream. Null for a provider that the relay knows. */
  readonly declaration: Declaration | null;
}

/** Value of `provider` in an entry of `CONNECTIONS` that makes a pool of other connections. */
export const POOL = "pool";

/** An entry of `CONNECTIONS` that makes a pool of other connections, before it is checked. */
export interface PoolDraft {
  readonly variable: string;
  readonly name: string;
  readonly entry: unknown;
}

/** All connections to providers that the variables define. */
export interface Drafts {
  readonly drafts: readonly Draft[];
  readonly pools: readonly PoolDraft[];
  /** Connections whose upstream the operator describes in `CONNECTIONS` by a declaration that is not valid. */
  readonly disabled: readonly DisabledConnection[];
}

/**
 * Returns all connections that the variables define, before they are checked: the default connection of every
 * provider, and the connections of `CONNECTIONS`, `CONNECTIONS_2` and so on.
 */
export function readDrafts(vars: object): Result<Drafts, readonly ConfigIssue[]> {
  const further = furtherDrafts(vars);
  if (!further.ok) return further;
  const providers = [...PROVIDERS.values()];
  const unreadable = providers.flatMap((provider) => unreadableVariables(provider, vars));
  if (unreadable.length > 0) return failure(unreadable);
  const defaults = providers.flatMap((provider) => defaultDrafts(provider, vars));
  return success({ ...further.value, drafts: [...defaults, ...further.value.drafts] });
}

function unreadableVariables({ variables }: NamedProvider, vars: object): ConfigIssue[] {
  const { key, baseUrl, webhookSecret, userId } = variables;
  return [key, baseUrl, webhookSecret, userId].flatMap((name) => {
    if (name === undefined || VariableText.safeParse(Reflect.get(vars, name)).success) return [];
    return [{ path: name, message: "must be text" }];
  });
}

/**
 * Returns a list with the default connection of a provider. The list is empty for a provider that operators run
 * themselves, until its base URL is set. Without a key, the connection can be used only by customers with keys of their
 * own.
 */
function defaultDrafts(provider: NamedProvider, vars: object): readonly Draft[] {
  const { key, baseUrl, webhookSecret, userId } = provider.variables;
  const read = (name: string | undefined) =>
    name === undefined ? null : VariableText.safeParse(Reflect.get(vars, name)).data || null;
  const entry = {
    provider: provider.name,
    key: read(key),
    base_url: read(baseUrl),
    webhook_secret: read(webhookSecret),
    user_id: read(userId),
  };
  const isReady = provider.baseUrls !== null || entry.base_url !== null;
  const draft = { variable: baseUrl, isDefault: true, name: provider.name, entry };
  return isReady ? [{ ...draft, declaration: null }] : [];
}

function furtherDrafts(vars: object): Result<Drafts, readonly ConfigIssue[]> {
  const variables = Object.keys(vars).filter((name) => VARIABLE.test(name) && isSet(vars, name));
  const parsed = variables.map((variable) => draftsOf(variable, Reflect.get(vars, variable)));
  const drafts = parsed.flatMap((result) => (result.ok ? result.value.drafts : []));
  const disabled = parsed.flatMap((result) => (result.ok ? result.value.disabled : []));
  const pools = parsed.flatMap((result) => (result.ok ? result.value.pools : []));
  const issues = [
    ...parsed.flatMap((result) => (result.ok ? [] : [result.error])),
    ...numberingIssues(variables),
    ...repetitions(drafts),
  ];
  return issues.length === 0 ? success({ drafts, pools, disabled }) : failure(issues);
}

function isSet(vars: object, name: string): boolean {
  return (Reflect.get(vars, name) ?? "") !== "";
}

/**
 * Returns the faults in the names of the variables `CONNECTIONS`, `CONNECTIONS_2`, `CONNECTIONS_3` and so on: a gap in
 * the numbers, or another suffix, e.g. `_1` or `_B`. Both mean that a variable is misspelt or left over.
 */
function numberingIssues(variables: readonly string[]): ConfigIssue[] {
  return variables.flatMap((path) => {
    const suffix = VARIABLE.exec(path)?.[1];
    if (suffix === undefined) return [];
    if (!/^(?:[2-9]|[1-9]\d+)$/.test(suffix)) {
      return {
        path,
        message: "must be called CONNECTIONS, CONNECTIONS_2, CONNECTIONS_3 and so on",
      };
    }
    const previous = suffix === "2" ? "CONNECTIONS" : `CONNECTIONS_${Number(suffix) - 1}`;
    return variables.includes(previous) ? [] : { path, message: `needs ${previous} before it` };
  });
}

/**
 * Returns a fault for each name of a connection that `CONNECTIONS`, `CONNECTIONS_2` and so on define more than once.
 */
function repetitions(drafts: readonly Draft[]): ConfigIssue[] {
  return drafts.flatMap(({ variable, name }, i) => {
    const first = drafts.slice(0, i).find((draft) => draft.name === name);
    if (first === undefined) return [];
    const message = `must not define ${name}, which ${first.variable} defines already`;
    return { path: variable, message };
  });
}

function draftsOf(variable: string, value: unknown): Result<Drafts, ConfigIssue> {
  const json = typeof value === "string" ? parseJson(value) : value;
  const isObject = typeof json === "object" && json !== null && !Array.isArray(json);
  const entries: readonly (readonly [string, unknown])[] = isObject ? Object.entries(json) : [];
  const named = entries.filter(([name]) => NAME.test(name));
  const declaring = named.filter(([, entry]) => isDeclared(entry));
  const pooling = named.filter(([, entry]) => at(entry, "provider") === POOL);
  const names = new Set([...declaring, ...pooling].map(([name]) => name));
  const known = entries.filter(([name]) => !names.has(name));
  const parsed = Entries.safeParse(names.size === 0 ? json : Object.fromEntries(known));
  // The schema drops an entry with this name and reports no issue.
  const dropped = at(json, "__proto__") === undefined ? [] : ["__proto__"];
  if (parsed.success && dropped.length === 0) {
    const drafts = Object.entries(parsed.data).map(([name, entry]): Draft => {
      return { variable, isDefault: false, name, entry, declaration: null };
    });
    const declared = readDeclarations(variable, value, declaring);
    return success({
      drafts: [...drafts, ...declared.flatMap((read) => declaredDraft(variable, read))],
      pools: pooling.map(([name, entry]) => ({ variable, name, entry })),
      disabled: declared.flatMap((read) => (read.kind === "disabled" ? read.connection : [])),
    });
  }
  return failure({ path: variable, message: faultIn(parsed.error?.issues ?? [], dropped) });
}

/**
 * Returns what is wrong with a variable, and where in its JSON. The text never contains the value, which may be a key.
 * @param dropped places of faults that the schema has not reported.
 */
function faultIn(issues: readonly z.core.$ZodIssue[], dropped: readonly string[]): string {
  const unknown = issues.flatMap(({ path, ...issue }) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...path, key].join(".")) : [],
  );
  if (unknown.length > 0) return `has an unknown member at ${unknown.join(", ")}`;
  const places = [...dropped, ...issues.map(({ path }) => path.join(".")).filter(Boolean)];
  const where = places.length === 0 ? "" : ` (see ${places.join(", ")})`;
  const shape = '{"ark-cn": {"provider": "ark", "key": "…", "base_url": "…"}}';
  return `must be JSON like ${shape}, with names of a-z 0-9 -${where}`;
}

/**
 * Returns a list with the draft of a connection whose upstream the operator describes by a declaration. The list is
 * empty when the declaration is not valid, because the connection is then disabled.
 */
function declaredDraft(variable: string, read: ReadDeclaration): readonly Draft[] {
  if (read.kind === "disabled") return [];
  const { name, declaration } = read;
  const { provider, key, base_url, webhook_secret, polls_per_minute, in_flight, queue } =
    declaration;
  const entry = { provider, key, base_url, webhook_secret, polls_per_minute, in_flight, queue };
  return [{ variable, isDefault: false, name, entry, declaration }];
}
