// Adds a provider whose parts compile and whose tests name what is missing. Used as
// `npm run providers:new -- acme`.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { failure, type Result } from "../src/core/result.ts";
import { PROVIDERS, SIMULATED_PROVIDERS } from "../src/providers/registry.ts";
import { FILES_OF_SIGNED_HOOKS, filesOf, LISTS, UnexpectedFile } from "./providers-new/edits.ts";
import { type NewProvider, newProvider } from "./providers-new/names.ts";

const USAGE = `Usage: npm run providers:new -- NAME [--no-hooks]
Writes the adapter, the fixtures and the documentation of a new provider, with MISSING where you have to
fill something in. docs/adding-a-provider.md has the steps.`;
const SIGNED_HOOKS = `If its hooks are signed, also:
${FILES_OF_SIGNED_HOOKS.map(([path, what]) => `${path}  ${what}`).join("\n")}`;
const TESTS = `npm run check
npx vitest run --project core --project smoke test/providers test/lint/new-provider`;
const root = join(import.meta.dirname, "..");

const provider = providerOf(process.argv.slice(2));
if (provider.ok) process.exitCode = add(provider.value);
else {
  console.error(provider.error);
  process.exitCode = 2;
}

function providerOf(args: string[]): Result<NewProvider, string> {
  try {
    const options = { "no-hooks": { type: "boolean", default: false } } as const;
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    const [name, ...others] = positionals;
    if (name === undefined || others.length > 0) return failure(USAGE);
    const taken = [...PROVIDERS.values(), ...SIMULATED_PROVIDERS].map((known) => known.name);
    return newProvider(name, !values["no-hooks"], taken);
  } catch {
    return failure(USAGE);
  }
}

/** Writes the files of a provider, and returns the exit code. */
function add(added: NewProvider): number {
  const before = LISTS.map((path) => [path, readFileSync(join(root, path), "utf8")] as const);
  try {
    const files = filesOf(added, new Map(before));
    for (const [path, text] of files) writeFileSync(join(root, path), text);
    const paths = [...files.keys()];
    const code = paths.filter((path) => path.endsWith(".ts"));
    execFileSync(join(root, "node_modules/.bin/oxfmt"), code, { cwd: root });
    console.log(`Written:\n${paths.join("\n")}\n`);
    if (added.hasHooks) console.log(`${SIGNED_HOOKS}\n`);
    console.log(`What is missing:\n${TESTS}`);
    return 0;
  } catch (error) {
    if (!(error instanceof UnexpectedFile)) throw error;
    console.error(error.message);
    return 1;
  }
}
