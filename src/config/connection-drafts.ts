import * as z from "zod/mini";
import { parseJson } from "../core/json.ts";
import { failure, type Result, success } from "../core/result.ts";
import { at } from "../providers/json-fields.ts";
import type { UpstreamProvider } from "../providers/provider.ts";
import { PROVIDERS } from "../providers/registry.ts";
import type { ConfigIssue } from "./issue.ts";
import { text } from "./readers.ts";

/**
 * Pattern of the names of the variables that define connections besides each provider's default one, as
 * JSON: `CONNECTIONS`, `CONNECTIONS_2` and so on. They can be several because the platform limits a secret
 * to 5 KB.
 */
const VARIABLE = /^CONNECTIONS(?:_(.*))?$/;
const VariableText = text("");
const MAX_POLLS_PER_MINUTE = 100_000;
const filled = z.nullish(z.string().check(z.trim(), z.minLength(1)));
const Entries = z.record(
  z.string().check(z.regex(/^[a-z0-9][a-z0-9-]{0,31}$/)),
  z.strictObject({
    provider: z.string(),
    key: filled,
    base_url: filled,
    webhook_secret: filled,
    user_id: filled,
    jwks_url: filled,
    polls_per_minute: z.nullish(z.int().check(z.gte(1), z.lte(MAX_POLLS_PER_MINUTE))),
  }),
);
export type Entry = z.infer<typeof Entries>[string];

/** A connection to a provider as the variables define it, not checked yet. */
export interface Draft {
  /**
   * Name of the variable that defines the connection, which errors about it state: `CONNECTIONS`, `CONNECTIONS_2` …
   * The default connection of a provider is defined by several variables; here stands the one with the base URL,
   * because its value is what is checked.
   */
  readonly variable: string;
  /**
   * True for the provider's default connection, which is defined by variables of its own, such as
   * `ARK_API_KEY`, and not in `CONNECTIONS`.
   */
  readonly isDefault: boolean;
  readonly name: string;
  readonly entry: Entry;
}

/**
 * Reads the default connection of every provider, and the connections that `CONNECTIONS`, `CONNECTIONS_2`
 * and so on define.
 */
export function readDrafts(vars: object): Result<readonly Draft[], readonly ConfigIssue[]> {
  const further = furtherDrafts(vars);
  if (!further.ok) return further;
  const providers = [...PROVIDERS.values()];
  const unreadable = providers.flatMap((provider) => unreadableVariables(provider, vars));
  if (unreadable.length > 0) return failure(unreadable);
  const defaults = providers.flatMap((provider) => defaultDrafts(provider, vars));
  return success([...defaults, ...further.value]);
}

function unreadableVariables({ variables }: UpstreamProvider, vars: object): ConfigIssue[] {
  const { key, baseUrl, webhookSecret, userId } = variables;
  return [key, baseUrl, webhookSecret, userId].flatMap((name) => {
    if (name === undefined || VariableText.safeParse(Reflect.get(vars, name)).success) return [];
    return [{ path: name, message: "must be text" }];
  });
}

/**
 * Reads the default connection of a provider. For a provider without a host of its own there is none until
 * both the base URL and the key are set; only one of them is no fault, because they are set one after the
 * other.
 */
function defaultDrafts(provider: UpstreamProvider, vars: object): readonly Draft[] {
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
  const isReady = provider.baseUrls !== null || (entry.key !== null && entry.base_url !== null);
  return isReady ? [{ variable: baseUrl, isDefault: true, name: provider.name, entry }] : [];
}

function furtherDrafts(vars: object): Result<readonly Draft[], readonly ConfigIssue[]> {
  const variables = Object.keys(vars).filter((name) => VARIABLE.test(name) && isSet(vars, name));
  const parsed = variables.map((variable) => draftsOf(variable, Reflect.get(vars, variable)));
  const drafts = parsed.flatMap((result) => (result.ok ? result.value : []));
  const issues = [
    ...parsed.flatMap((result) => (result.ok ? [] : [result.error])),
    ...numberingIssues(variables),
    ...repetitions(drafts),
  ];
  return issues.length === 0 ? success(drafts) : failure(issues);
}

function isSet(vars: object, name: string): boolean {
  return (Reflect.get(vars, name) ?? "") !== "";
}

/**
 * Finds faults in the numbering of `CONNECTIONS`, `CONNECTIONS_2`, `CONNECTIONS_3` and so on: a gap or
 * another suffix, which mean that a variable is misspelt or left over.
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

/** Finds names of connections that `CONNECTIONS`, `CONNECTIONS_2` and so on define more than once. */
function repetitions(drafts: readonly Draft[]): ConfigIssue[] {
  return drafts.flatMap(({ variable, name }, i) => {
    const first = drafts.slice(0, i).find((draft) => draft.name === name);
    if (first === undefined) return [];
    const message = `must not define ${name}, which ${first.variable} defines already`;
    return { path: variable, message };
  });
}

function draftsOf(variable: string, value: unknown): Result<readonly Draft[], ConfigIssue> {
  const json = typeof value === "string" ? parseJson(value) : value;
  const parsed = Entries.safeParse(json);
  // The schema drops an entry of this name without an issue.
  const dropped = at(json, "__proto__") === undefined ? [] : ["__proto__"];
  if (parsed.success && dropped.length === 0) {
    const entries = Object.entries(parsed.data);
    return success(entries.map(([name, entry]) => ({ variable, isDefault: false, name, entry })));
  }
  // The message contains the place of the fault, never the value, which may be a key.
  const wrong = (parsed.error?.issues ?? []).map((issue) => {
    const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
    return [...issue.path, ...keys].join(".");
  });
  const places = [...dropped, ...wrong.filter(Boolean)];
  const where = places.length === 0 ? "" : ` (see ${places.join(", ")})`;
  const shape = '{"ark-cn": {"provider": "ark", "key": "…", "base_url": "…"}}';
  const message = `must be JSON like ${shape}, with names of a-z 0-9 -${where}`;
  return failure({ path: variable, message });
}
