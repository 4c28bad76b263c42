// Prepares a deployment: generates secrets, applies the options to `wrangler.toml` and creates the bucket of outputs if
// they ask for it. With `--self-host` it writes what a machine of one's own needs. Run by `npm run setup`.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { askLogin } from "./deploy/login.ts";
import { outputsBucketOf, prepareBucket } from "./deploy/outputs-bucket.ts";
import { Refusal } from "./deploy/refusal.ts";
import { lineOf } from "./doctor/finding.ts";
import { ENVIRONMENTS } from "./environments.ts";
import { printHelp } from "./help.ts";
import { reportSecrets } from "./secrets-files.ts";
import { edit, presentOptions, warnings } from "./setup/edit.ts";
import {
  optionsOf,
  type SelfHostOptions,
  type SetupOptions,
  USAGE,
  WrongOption,
} from "./setup/options.ts";
import { type Ask, askOptions, askSelfHost } from "./setup/questions.ts";
import { isSelfHostWritten, writeSelfHost } from "./setup/self-host.ts";
import { UnexpectedToml } from "./setup/wrangler-toml.ts";

const path = join(import.meta.dirname, "../wrangler.toml");

try {
  await setUp(process.argv.slice(2));
} catch (error) {
  if (error instanceof WrongOption) console.error(error.message);
  else if (error instanceof UnexpectedToml) console.error(`wrangler.toml ${error.message}`);
  else if (error instanceof Refusal) console.error(error.message);
  else if (isCancelled(error)) console.error("\nCancelled: nothing was changed.");
  else throw error;
  process.exitCode = 1;
}

async function setUp(args: readonly string[]): Promise<void> {
  if (printHelp(args, USAGE)) return;
  const options = args.length > 0 || !isTerminal() ? optionsOf(args) : await askOnTerminal();
  const { environment = "production", offers, selfHost, ...settings } = options;
  if (offers !== undefined) {
    // Only this part of the setup needs code of the relay.
    const { storeOffers } = await import("./setup/store-offers.ts");
    return await storeOffers(offers, environment);
  }
  if (selfHost !== undefined) return await prepareSelfHost(selfHost, args.length === 1);
  if (environment === "production") apply(settings);
  reportSecrets(environment);
  if (settings.outputs === true) await makeBucket();
}

/**
 * Writes the files of a relay on machines of one's own. Without options it asks on a terminal, but not for a relay whose
 * environment file is there already.
 */
async function prepareSelfHost(options: SelfHostOptions, isBare: boolean): Promise<void> {
  const isAsked = isBare && isTerminal() && !isSelfHostWritten();
  const asked = isAsked ? await onTerminal(askSelfHost) : options;
  for (const file of writeSelfHost(asked)) console.log(`${file} written`);
  console.log(
    `Next: ${asked.cluster === undefined ? "docs/self-host.md#install" : "docs/cluster.md"}`,
  );
}

/** Creates the bucket of outputs and its rule. Without a login this is left to the first deployment. */
async function makeBucket(): Promise<void> {
  const bucket = outputsBucketOf(readFileSync(path, "utf8"), ENVIRONMENTS.production);
  if (bucket === null) return;
  const { loggedIn } = await askLogin();
  if (loggedIn) return console.log(lineOf(await prepareBucket(bucket)));
  console.log(
    `You are not logged in to Cloudflare, so the bucket ${bucket.name} is not made yet. Run npx wrangler login and ` +
      "then this command again, or leave it to npm run deploy:first",
  );
}

function apply(options: SetupOptions): void {
  const before = readFileSync(path, "utf8");
  const after = edit(before, options);
  if (after !== before) writeFileSync(path, after);
  const isAsked = Object.keys(options).length > 0;
  if (isAsked) console.log(`wrangler.toml ${after === before ? "kept as it is" : "changed"}`);
  for (const warning of warnings(after)) console.log(warning);
}

function isTerminal(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/** Tells whether an error means that the user ended the questions of the setup with Ctrl+C or Ctrl+D. */
function isCancelled(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

function askOnTerminal(): Promise<SetupOptions> {
  const present = presentOptions(readFileSync(path, "utf8"));
  return onTerminal((ask) => askOptions(ask, present));
}

/** Asks questions on the terminal. */
async function onTerminal<T>(questions: (ask: Ask) => Promise<T>): Promise<T> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await questions((question) => terminal.question(question));
  } finally {
    terminal.close();
  }
}
