// Prepares a deployment: generates secrets and applies the options to `wrangler.toml`. Run by `npm run
// setup`.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { reportSecrets } from "./secrets-files.ts";
import { edit, warnings } from "./setup/edit.ts";
import { optionsOf, type SetupOptions, USAGE, WrongOption } from "./setup/options.ts";
import { askOptions } from "./setup/questions.ts";
import { UnexpectedToml } from "./setup/wrangler-toml.ts";

const path = join(import.meta.dirname, "../wrangler.toml");

try {
  await setUp(process.argv.slice(2));
} catch (error) {
  if (error instanceof WrongOption) console.error(error.message);
  else if (error instanceof UnexpectedToml) console.error(`wrangler.toml ${error.message}`);
  else if (isCancelled(error)) console.error("\nCancelled: nothing was changed.");
  else throw error;
  process.exitCode = 1;
}

async function setUp(args: readonly string[]): Promise<void> {
  if (args.includes("--help")) return console.log(USAGE);
  const options = args.length > 0 || !isTerminal() ? optionsOf(args) : await askOnTerminal();
  const { environment = "production", ...settings } = options;
  if (environment === "production") apply(settings);
  reportSecrets(environment);
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

async function askOnTerminal(): Promise<SetupOptions> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await askOptions((question) => terminal.question(question));
  } finally {
    terminal.close();
  }
}
