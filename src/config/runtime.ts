import { type Keyring, keyringOf } from "../security/keyring.ts";
import { type Config, type ConfigIssue, type ConfigResult, parseConfig } from "./config.ts";
import { log } from "../log.ts";

/** Configuration and keys of the running relay. */
export interface Runtime {
  readonly config: Config;
  readonly keyring: Keyring;
}

export type RuntimeResult =
  | { readonly ok: true; readonly runtime: Runtime }
  | { readonly ok: false; readonly issues: readonly ConfigIssue[] };

const configs = new WeakMap<object, ConfigResult>();

/** The configuration that the platform bound as `env`, parsed once. */
export function configOf(env: object): ConfigResult {
  const known = configs.get(env);
  if (known !== undefined) return known;
  const result = parseConfig(env, Cloudflare.compatibilityFlags);
  configs.set(env, result);
  if (result.ok && result.config.allowLocalCallbacks) {
    log({
      event: "config.warning",
      detail: "ALLOW_LOCAL_CALLBACKS is on: for development only, never in production",
    });
  }
  return result;
}

/** The relay, or the variables that keep it from running; nothing may be sent then. */
export async function runtimeOf(env: object): Promise<RuntimeResult> {
  const result = configOf(env);
  if (!result.ok) return result;
  const { config } = result;
  const keyring = await keyringOf(config);
  if (keyring !== null) return { ok: true, runtime: { config, keyring } };
  const message = "must be Ed25519 key pairs, in which x belongs to d";
  return { ok: false, issues: [{ path: "SIGNING_KEYS", message }] };
}

/** One sentence that names the variables, never their values. */
export function describeIssues(issues: readonly ConfigIssue[]): string {
  return `${issues.map(({ path, message }) => `${path} ${message}`).join("; ")}.`;
}
