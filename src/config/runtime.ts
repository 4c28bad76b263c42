import * as z from "zod/mini";
import { failure, type Result, success } from "../core/result.ts";
import { type LogSettings, nameVersion } from "../log.ts";
import { type Keyring, keyringOf } from "../security/keyring.ts";
import { type HashedKey, hashedKeysOf } from "../security/operator-keys.ts";
import { type Config, parseConfig } from "./config.ts";
import type { ConfigIssue } from "./issue.ts";
import { warnOnce } from "./warnings.ts";

/** Configuration and imported keys of the running relay. */
export interface Runtime {
  readonly config: Config;
  readonly keyring: Keyring;
  readonly operatorKeys: readonly HashedKey[];
}

type ConfigResult = Result<Config, readonly ConfigIssue[]>;

const configs = new WeakMap<object, ConfigResult>();

const Versioned = z.object({ VERSION: z.object({ id: z.string() }) });

/** Returns the id of the deployed version; null when the platform names none. */
export function versionOf(env: object): string | null {
  return Versioned.safeParse(env).data?.VERSION.id ?? null;
}

/** Parses the configuration that the platform passed as `env`, once per isolate. */
export function configOf(env: object): ConfigResult {
  const known = configs.get(env);
  if (known !== undefined) return known;
  const result = parseConfig(env, Cloudflare.compatibilityFlags);
  configs.set(env, result);
  nameVersion(versionOf(env));
  warnOnce(env, result);
  return result;
}

/**
 * Returns the settings of the log; while the configuration is not valid, no line of the level `detail` is
 * written.
 */
export function logSettingsOf(env: object): LogSettings {
  const result = configOf(env);
  return { logsDetails: result.ok && result.value.logsDetails };
}

/**
 * Returns the configuration and the keys of the relay. A failure lists the variables at fault; the relay
 * then must not send anything.
 */
export async function runtimeOf(env: object): Promise<Result<Runtime, readonly ConfigIssue[]>> {
  const result = configOf(env);
  if (!result.ok) return result;
  const config = result.value;
  const keyring = await keyringOf(config);
  if (keyring !== null) {
    return success({ config, keyring, operatorKeys: await hashedKeysOf(config.operatorKeys) });
  }
  const message = "must be Ed25519 key pairs, in which x belongs to d";
  return failure([{ path: "SIGNING_KEYS", message }]);
}
