import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { unstable_readConfig as readConfig } from "wrangler";
import * as z from "zod";
import { callbackFinding } from "../doctor/callback.ts";
import { type Finding, ok } from "../doctor/finding.ts";
import { Relay } from "../doctor/relay.ts";
import { type Environment, optionFor } from "../environments.ts";
import { requireValid } from "./configuration.ts";
import { isUnknownWorker, refusalOf } from "./failures.ts";
import { waitForHealth } from "./health.ts";
import { askLogin } from "./login.ts";
import type { DeployOptions } from "./options.ts";
import { outputsBucketOf, prepareBucket } from "./outputs-bucket.ts";
import {
  addressOf,
  requireAccount,
  type Secrets,
  secretsOf,
  secretsToSend,
  type Settings,
} from "./plan.ts";
import { hasPublicUrl, publicOrigin, storePublicUrl } from "./public-url.ts";
import { Refusal } from "./refusal.ts";
import {
  noReceiver,
  startVerifyingReceiver,
  tunnelledCallback,
  verifiedCallback,
} from "./verified-callback.ts";
import { runWrangler } from "./wrangler.ts";

const root = join(import.meta.dirname, "../..");
const TOML = join(root, "wrangler.toml");
const Toml = z.object({
  name: z.string(),
  vars: z.record(z.string(), z.unknown()),
  d1_databases: z.array(z.object({ binding: z.string() })),
  r2_buckets: z.array(z.object({ binding: z.string() })),
  account_id: z.string().optional(),
});
const SecretList = z.array(z.looseObject({ name: z.string() }));

/**
 * Performs the steps of `npm run deploy:first`, and yields the result of each. Nothing is created before the
 * secrets, the configuration and the login are known to be right.
 * @throws Refusal at the first step that fails.
 */
export async function* deployFirst(options: DeployOptions): AsyncGenerator<Finding> {
  const { environment } = options;
  const { secretsFile: file } = environment;
  const secrets = secretsOf(await contentOf(join(root, file)), environment);
  const settings = settingsOf(environment);
  requireValid(settings, secrets, file);
  const chosen = process.env["CLOUDFLARE_ACCOUNT_ID"] || settings.accountId;
  yield ok(`login: account ${requireAccount(await askLogin(), chosen)}`);
  const secretNames = await deployedSecrets(environment);
  const sent = secretsToSend(secrets, secretNames);
  const bucket = outputsBucketOf((await contentOf(TOML)) ?? "", environment);
  if (bucket !== null) yield await prepareBucket(bucket);
  const deployed = await deploy(environment, sent);
  const { targets } = deployed;
  const names = Object.keys(sent).join(", ");
  yield ok(`deployed: ${settings.name}${targets.map((target) => `, ${target}`).join("")}`);
  yield ok(`secrets: ${names === "" ? "kept as deployed" : `${names} sent from ${file}`}`);
  const address = addressOf(options.url, settings, targets);
  if (address === null) throw new Refusal("The relay has no address", ADDRESS);
  const isKnown = hasPublicUrl({ settings, secrets, secretNames });
  const origin = isKnown ? null : publicOrigin(options.url, targets);
  const { version } = origin === null ? deployed : await deployAt(origin, environment);
  if (origin !== null) yield ok(`address: ${origin}, stored as PUBLIC_URL in wrangler.toml`);
  yield* examine(options, new Relay(address.origin, secrets.operatorKey), version);
}

/**
 * Stores the address of the relay as `PUBLIC_URL` and deploys again, because only a deployment can tell an address
 * under workers.dev.
 */
async function deployAt(origin: string, environment: Environment) {
  await storePublicUrl(TOML, environment, origin);
  return deploy(environment, {});
}

const ADDRESS = "npm run setup -- --domain relay.example.com, or tell it with --url https://…";

/** Examines the deployed relay: its health and a test callback; then says where the console is. */
async function* examine(
  { environment, to, waitMs }: DeployOptions,
  relay: Relay,
  version: string | null,
): AsyncGenerator<Finding> {
  const { secretsFile } = environment;
  const health = await waitForHealth(relay, version, { waitMs, secretsFile });
  yield ok(`health: ${relay.origin} answers${health.isPaused ? ", and is paused (PAUSED)" : ""}`);
  yield await testCallback(relay, to, health.allowsLocalCallbacks, environment);
  yield ok(`console: ${relay.origin}/, log in with the key in OPERATOR_KEYS of ${secretsFile}`);
}

async function testCallback(
  relay: Relay,
  to: string | null,
  allowsLocalCallbacks: boolean,
  environment: Environment,
): Promise<Finding> {
  if (to !== null) return callbackFinding(relay, to);
  if (allowsLocalCallbacks) {
    await using receiver = await startVerifyingReceiver(relay, environment);
    return await verifiedCallback(relay, receiver, `http://127.0.0.1:${receiver.port}/`);
  }
  const cloudflared = process.env["CLOUDFLARED_PATH"] ?? "cloudflared";
  const tunnelled = await tunnelledCallback(relay, cloudflared, environment);
  return tunnelled ?? noReceiver(`npm run deploy:first --${optionFor(environment)}`);
}

/** Returns the names of the secrets that the Worker has; none when there is no Worker yet. */
async function deployedSecrets({ wranglerName }: Environment): Promise<ReadonlySet<string>> {
  const run = await runWrangler(["secret", "list", "--format", "json", "--env", wranglerName]);
  if (isUnknownWorker(run)) return new Set();
  try {
    return new Set(SecretList.parse(JSON.parse(run.stdout)).map(({ name }) => name));
  } catch {
    throw refusalOf("The Worker's secrets cannot be listed", run);
  }
}

async function deploy({ wranglerName }: Environment, secrets: Secrets["values"]) {
  const run = await runWrangler(["deploy", "--env", wranglerName], secrets);
  if (!run.isSuccess) throw refusalOf("Not deployed", run);
  const note = run.notes.find(({ type }) => type === "deploy");
  return { targets: note?.targets ?? [], version: note?.version_id ?? null };
}

/** Reads the settings of an environment. @throws Refusal when `wrangler.toml` is not as wrangler wants it. */
function settingsOf({ wranglerName }: Environment): Settings {
  const env = wranglerName === "" ? undefined : wranglerName;
  try {
    const args = { config: TOML, env };
    const read = Toml.parse(readConfig(args, { hideWarnings: true }));
    const bindings = [...read.d1_databases, ...read.r2_buckets].map(({ binding }) => binding);
    return { name: read.name, vars: read.vars, bindings, accountId: read.account_id ?? null };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Refusal(`wrangler.toml cannot be read: ${reason}`, "correct it");
  }
}

async function contentOf(path: string): Promise<string | null> {
  return await readFile(path, "utf8").catch(() => null);
}
