import * as z from "zod/mini";
import { failure, type Result, success } from "../core/result.ts";
import { IsolateRateLimit } from "../lib/isolate-rate-limit.ts";
import { type LogSettings, log } from "../lib/log.ts";
import { type Keyring, keyringOf } from "../security/keyring.ts";
import { type HashedKey, hashedKeysOf } from "../security/operator-key-hashes.ts";
import { type Config, parseConfig } from "./config.ts";
import type { ConfigIssue } from "./issue.ts";
import { warningsOf } from "./warnings.ts";

/** Configuration and imported keys of the running relay. */
export interface Runtime {
  readonly config: Config;
  readonly keyring: Keyring;
  readonly operatorKeys: readonly HashedKey[];
}

/**
 * Values that the relay derives from its environment when an isolate starts. They are derived only then, because the
 * platform does not bill the start.
 */
export interface Startup {
  /**
   * The configuration and the keys. When variables are at fault, it has their names and the reasons instead, and the
   * relay must not send anything.
   */
  readonly runtime: Result<Runtime, readonly ConfigIssue[]>;
  /** Variables that are invalid, doubtful or perhaps misspelt, each with what is wrong. */
  readonly warnings: readonly ConfigIssue[];
  /** Id of the deployed version. Null when the platform does not state it. */
  readonly version: string | null;
  /** Names of the bindings of the Worker, e.g. of databases. */
  readonly bindings: readonly string[];
  readonly waitUntil: WaitUntil;
}

/** Function that keeps the present request running until a promise is settled. */
export type WaitUntil = (work: Promise<unknown>) => void;

/** An environment with the values that the relay has derived from it. */
export interface WithStartup {
  readonly startup: Startup;
}

const Versioned = z.object({ VERSION: z.object({ id: z.string() }) });

/**
 * Returns the environment of the platform with the values that the relay derives from it. The function reads no
 * clock, needs no random numbers and calls no other service, so that it can run at module scope.
 * @param flags `Cloudflare.compatibilityFlags` of the isolate.
 */
export async function withStartup<Bindings extends object>(
  env: Bindings,
  flags: Readonly<Record<string, boolean>>,
  waitUntil: WaitUntil,
): Promise<Bindings & WithStartup> {
  const config = parseConfig(env, flags);
  const runtime = config.ok ? await runtimeOf(config.value) : config;
  const startup = {
    runtime,
    warnings: warningsOf(env, runtime.ok ? config : runtime),
    version: Versioned.safeParse(env).data?.VERSION.id ?? null,
    bindings: Object.entries(env).flatMap(([name, value]) =>
      typeof value === "object" ? name : [],
    ),
    waitUntil,
  };
  return { ...isolateRateLimits(runtime), ...env, startup };
}

/** Returns the rate limits that are counted in this isolate, by the names of their bindings. A binding replaces its own. */
function isolateRateLimits(runtime: Startup["runtime"]): Readonly<Record<string, RateLimit>> {
  const limits = runtime.ok ? [...runtime.value.config.rateLimits] : [];
  return Object.fromEntries(limits.map(([name, limit]) => [name, new IsolateRateLimit(limit)]));
}

/** Returns the configuration; null when it is not valid. */
export function configOf({ startup: { runtime } }: WithStartup): Config | null {
  return runtime.ok ? runtime.value.config : null;
}

/** Returns the log's settings. While the configuration is not valid, lines of the level `detail` are not written. */
export function logSettingsOf(env: WithStartup): LogSettings {
  return { logsDetails: configOf(env)?.logsDetails ?? false };
}

/** Lists of warnings that have been logged already. */
const logged = new WeakSet<Startup["warnings"]>();

/** Logs the warnings about the variables with which this isolate has started, once. */
export function warnOnce({ startup: { warnings } }: WithStartup): void {
  if (logged.has(warnings)) return;
  logged.add(warnings);
  for (const { path: variable, message: detail } of warnings) {
    log({ event: "config.warning", variable, detail }, "warn");
  }
}

async function runtimeOf(config: Config): Promise<Startup["runtime"]> {
  const keyring = await keyringOf(config);
  if (keyring !== null) {
    return success({ config, keyring, operatorKeys: await hashedKeysOf(config.operatorKeys) });
  }
  const message = "must be Ed25519 key pairs, in which x belongs to d";
  return failure([{ path: "SIGNING_KEYS", message }]);
}
