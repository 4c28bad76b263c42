import { parseEnv } from "node:util";
import type { Environment } from "../environments.ts";
import { operatorKeyIn } from "../operator-keys.ts";
import { Refusal } from "./refusal.ts";

/** The settings of an environment in `wrangler.toml` that decide what a deployment does. */
export interface Settings {
  readonly name: string;
  readonly vars: Readonly<Record<string, unknown>>;
  /** Names of the bindings of databases and buckets. */
  readonly bindings: readonly string[];
  readonly accountId: string | null;
}

/** The secrets of a relay, read from its file of secrets. */
export interface Secrets {
  readonly values: Readonly<Record<string, string>>;
  /** The first operator key that may do everything. */
  readonly operatorKey: string;
}

/** Answer of `wrangler whoami --json`. */
export interface Login {
  readonly loggedIn: boolean;
  readonly email?: string | null | undefined;
  readonly accounts?: readonly { readonly id: string; readonly name: string }[] | undefined;
}

const REQUIRED = ["RELAY_SECRET", "OPERATOR_KEYS"] as const;

/**
 * Reads the secrets of an environment.
 * @param content of its file of secrets; null when there is no such file.
 * @throws Refusal when a secret is missing that the relay needs.
 */
export function secretsOf(content: string | null, environment: Environment): Secrets {
  const { secretsFile: file, setup } = environment;
  if (content === null)
    throw new Refusal(`There is no file ${file}`, `${setup}, then run this command again`);
  const entries = Object.entries(parseEnv(content)).map(([name, text = ""]) => [name, text]);
  const values: Record<string, string> = Object.fromEntries(entries);
  const missing = REQUIRED.find((name) => (values[name] ?? "").trim() === "");
  if (missing !== undefined) {
    throw new Refusal(`${file} has no ${missing}`, `delete ${file} and run ${setup}, or add it`);
  }
  const operatorKey = operatorKeyIn(content, "administer");
  if (operatorKey !== null) return { values, operatorKey };
  const cure = `put a key of at least 16 characters without a role into it`;
  throw new Refusal(`OPERATOR_KEYS in ${file} has no key with the role all`, cure);
}

/**
 * Returns the account to which wrangler will deploy, in words.
 * @param chosen id of the account that `CLOUDFLARE_ACCOUNT_ID` or `wrangler.toml` names; null without.
 * @throws Refusal when nobody is logged in, or there are several accounts and none is chosen.
 */
export function requireAccount(login: Login, chosen: string | null): string {
  if (!login.loggedIn) {
    throw new Refusal(
      "You are not logged in to Cloudflare",
      "npx wrangler login, then run this command again",
    );
  }
  const { accounts = [] } = login;
  const [account] = accounts;
  if (chosen !== null) return chosen;
  if (account === undefined) {
    throw new Refusal("The login has no account", "give the API token access to your account");
  }
  if (accounts.length === 1) return `${account.name} (${account.id})`;
  const names = accounts.map(({ id, name }) => `${id} (${name})`).join(", ");
  throw new Refusal(
    "The login has several accounts",
    `set CLOUDFLARE_ACCOUNT_ID to one of ${names}`,
  );
}

/**
 * Returns the secrets that a deployment sends: those that the Worker lacks. A secret that it has is never
 * replaced, because the secrets of all callbacks change with `RELAY_SECRET`.
 * @param deployed names of the secrets that the Worker has.
 */
export function secretsToSend(
  { values }: Secrets,
  deployed: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(values).filter(([name, text]) => !deployed.has(name) && text !== ""),
  );
}

/**
 * Returns the address of a deployed relay; null when neither the options, `PUBLIC_URL` nor wrangler tell it.
 * @param targets what wrangler printed after the deployment: addresses, custom domains and cron triggers.
 */
export function addressOf(
  given: URL | null,
  { vars }: Settings,
  targets: readonly string[],
): URL | null {
  const { PUBLIC_URL } = vars;
  const known = typeof PUBLIC_URL === "string" ? URL.parse(PUBLIC_URL) : null;
  const printed = targets
    .map((target) => URL.parse(target))
    .find((url) => url?.protocol === "https:");
  return given ?? known ?? printed ?? null;
}
