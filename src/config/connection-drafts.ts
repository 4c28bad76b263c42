import * as z from "zod";
import { parseJson } from "../core/json.ts";
import { failure, type Result, success } from "../core/result.ts";
import type { UpstreamProvider } from "../providers/provider.ts";
import { PROVIDERS } from "../providers/registry.ts";
import type { ConfigIssue } from "./issue.ts";
import { text } from "./readers.ts";

/** Name of the variable that defines further connections, as JSON. */
export const VARIABLE = "CONNECTIONS";

const VariableText = text("");
const filled = z.string().trim().min(1).nullish();
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
export type Entry = z.infer<typeof Entries>[string];

/** A connection as it is configured, not checked yet, and the name of its variable. */
export interface Draft {
  readonly variable: string;
  readonly name: string;
  readonly entry: Entry;
}

/** Reads the default connections of all providers and those of `CONNECTIONS`. */
export function readDrafts(vars: object): Result<readonly Draft[], readonly ConfigIssue[]> {
  const further = furtherDrafts(vars);
  if (!further.ok) return further;
  const providers = [...PROVIDERS.values()];
  const unreadable = providers.flatMap((provider) => unreadableVariables(provider, vars));
  if (unreadable.length > 0) return failure(unreadable);
  const defaults = providers.map((provider) => defaultDraft(provider, vars));
  return success([...defaults, ...further.value]);
}

function unreadableVariables({ variables }: UpstreamProvider, vars: object): ConfigIssue[] {
  const { key, baseUrl, webhookSecret, userId } = variables;
  return [key, baseUrl, webhookSecret, userId].flatMap((name) => {
    if (name === undefined || VariableText.safeParse(Reflect.get(vars, name)).success) return [];
    return [{ path: name, message: "must be text" }];
  });
}

function defaultDraft(provider: UpstreamProvider, vars: object): Draft {
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
  return { variable: baseUrl, name: provider.name, entry };
}

function furtherDrafts(vars: object): Result<readonly Draft[], readonly ConfigIssue[]> {
  const value: unknown = Reflect.get(vars, VARIABLE) ?? "";
  if (value === "") return success([]);
  const parsed = Entries.safeParse(typeof value === "string" ? parseJson(value) : value);
  if (parsed.success) {
    const entries = Object.entries(parsed.data);
    return success(entries.map(([name, entry]) => ({ variable: VARIABLE, name, entry })));
  }
  // The message contains the place of the fault, never the value, which may be a key.
  const wrong = parsed.error.issues.map((issue) => {
    const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
    return [...issue.path, ...keys].join(".");
  });
  const where = wrong.some(Boolean) ? ` (see ${wrong.filter(Boolean).join(", ")})` : "";
  const shape = '{"ark-cn": {"provider": "ark", "key": "…", "base_url": "…"}}';
  const message = `must be JSON like ${shape}, with names of a-z 0-9 -${where}`;
  return failure([{ path: VARIABLE, message }]);
}
