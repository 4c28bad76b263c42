import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseEnv } from "node:util";
import * as z from "zod/mini";
import { baseUrlRulesOf } from "../../src/config/config.ts";
import { type Connections, parseConnections } from "../../src/config/connections.ts";
import { readDrafts } from "../../src/config/connection-drafts.ts";
import { type ConfigIssue, describeIssues } from "../../src/config/issue.ts";
import type { NewsConfig } from "../../src/config/news-rules.ts";
import { Variables } from "../../src/config/variables.ts";
import { failure, type Result, success } from "../../src/core/result.ts";
import type { Declaration } from "../../src/providers/generic/declaration.ts";
import type { Connection, UpstreamProvider } from "../../src/providers/provider.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { hasBlock, readTable } from "../setup/wrangler-toml.ts";

/** A configured connection through which the provider can be asked. */
export interface Asking {
  readonly connection: Connection;
  readonly provider: UpstreamProvider;
  readonly key: string;
  readonly config: NewsConfig;
  /** Declaration of the upstream; null for a provider that the relay knows. */
  readonly declaration: Declaration | null;
}

const root = resolve(import.meta.dirname, "../..");
/** File that holds the secrets of a relay on this machine; it may be missing. */
const DEV_VARS = ".dev.vars";
const Needed = z.pick(Variables, {
  ALLOW_LOCAL_CALLBACKS: true,
  ALLOW_IP_CALLBACKS: true,
  EXTRA_BASE_HOSTS: true,
  PUBLIC_URL: true,
  OUTPUTS_URL: true,
});

/**
 * Reads the connection as the relay does, from the table `[vars]` of `wrangler.toml` and from a file of
 * secrets, whose values count where both have one.
 * @param name name of the connection, which for the default connection of a provider is that of the provider.
 * @param file path of the file of secrets, relative to the root of the repository.
 * @returns the reason in one line when the provider cannot be asked.
 */
export function readConnection(name: string, file: string): Result<Asking, string> {
  const vars = readVars(file);
  if (vars === null) return failure(`${file} cannot be read.`);
  const parsed = parse(vars);
  if (!parsed.ok) return failure(describeIssues(parsed.error));
  const { connections, disabledConnections, config } = parsed.value;
  const connection = connections.get(name);
  const disabled = disabledConnections.find((each) => each.name === name);
  if (connection === undefined) {
    if (disabled !== undefined) return failure(describeIssues(disabled.issues));
    const provider = PROVIDERS.get(name);
    return failure(
      provider === undefined ? unknown(name, connections) : missing(name, provider, file),
    );
  }
  const { provider: known, key, pool } = connection;
  if (pool !== null) {
    const members = pool.members.map((member) => member.name).join(", ");
    return failure(`${name} is a pool: ask one of its members, ${members}.`);
  }
  if (known.polls === null) return failure(unknown(name, connections));
  if (known.polls.hasNoJobs === true) return failure(`${name} has no jobs to ask about.`);
  if (key === null) return failure(missing(name, known, file));
  const declaration = declarationOf(name, vars);
  return success({ connection, provider: known, key, config, declaration });
}

function declarationOf(name: string, vars: object): Declaration | null {
  const read = readDrafts(vars);
  const drafts = read.ok ? read.value.drafts : [];
  return drafts.find((draft) => draft.name === name)?.declaration ?? null;
}

function unknown(name: string, connections: Connections["connections"]): string {
  const known = new Set([...PROVIDERS.keys(), ...connections.keys()]);
  return `${name} is no provider or connection: ${[...known].join(", ")}.`;
}

/** Reads the variables of the relay; null when the file of secrets is missing and is not `.dev.vars`. */
function readVars(file: string): object | null {
  const secrets = contentOf(file) ?? (file === DEV_VARS ? "" : null);
  if (secrets === null) return null;
  return { ...readTable(contentOf("wrangler.toml") ?? "", "vars"), ...parseEnv(secrets) };
}

interface Parsed extends Connections {
  readonly config: NewsConfig;
}

/** Parses those variables of the relay that decide how providers are polled, and how their answers are read. */
function parse(vars: object): Result<Parsed, readonly ConfigIssue[]> {
  const { data, error } = Needed.safeParse(vars);
  if (error !== undefined) {
    return failure(error.issues.map(({ path, message }) => ({ path: path.join("."), message })));
  }
  const parsed = parseConnections(vars, baseUrlRulesOf(data), false);
  if (!parsed.ok) return parsed;
  const config = {
    allowLocalCallbacks: data.ALLOW_LOCAL_CALLBACKS,
    allowIpCallbacks: data.ALLOW_IP_CALLBACKS,
    publicUrl: data.PUBLIC_URL,
    outputsOrigin: data.OUTPUTS_URL ?? data.PUBLIC_URL,
    isListenOn: false,
    isErrorTextGeneric: false,
    areOutputsKept: hasBlock(contentOf("wrangler.toml") ?? "", "[[r2_buckets]]", () => true),
  };
  return success({ ...parsed.value, config });
}

/** Says in one line which variables a connection lacks, and where to set them. */
function missing(name: string, provider: UpstreamProvider, file: string): string {
  const { key, baseUrl } = provider.variables ?? {};
  if (name !== provider.name || key === undefined)
    return `${name} has no key: set it in CONNECTIONS in ${file}.`;
  const variables = provider.baseUrls === null ? `${key} and ${baseUrl}` : key;
  return `${name} has no key: set ${variables} in ${file}.`;
}

function contentOf(file: string): string | null {
  try {
    return readFileSync(resolve(root, file), "utf8");
  } catch {
    return null;
  }
}
