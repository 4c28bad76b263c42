// Prints a declaration of a new upstream to begin with or, with --code, adds a provider whose parts compile and whose
// tests name what is missing. Used as `npm run providers:new -- acme`.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { failure, type Result, success } from "../src/core/result.ts";
import { DECLARED_PROVIDER } from "../src/providers/generic/declaration.ts";
import { PROVIDERS, SIMULATED_PROVIDERS } from "../src/providers/registry.ts";
import { FILES_OF_SIGNED_HOOKS, filesOf, LISTS, UnexpectedFile } from "./providers-new/edits.ts";
import { declarationOf } from "./providers-new/declaration-text.ts";
import { printHelp } from "./help.ts";
import { type NewProvider, newProvider } from "./providers-new/names.ts";

const USAGE = `Usage: npm run providers:new -- NAME [--code] [--no-hooks]
Prints the declaration of an upstream, which needs no code. With --code it writes the folder of a new
provider, with its adapter, its examples, its page and the list of bodies
that its corpus lacks, and MISSING where you have to fill something in.
docs/adding-a-provider.md has the steps.`;
const SIGNED_HOOKS = `If its hooks are signed, also:
${FILES_OF_SIGNED_HOOKS.map(([path, what]) => `${path}  ${what}`).join("\n")}`;
const TESTS = `npm run check
npx vitest run --project core --project smoke test/providers test/lint/new-provider`;
const root = join(import.meta.dirname, "..");

const args = process.argv.slice(2);
const asked = askedFor(args);
if (printHelp(args, USAGE)) {
  process.exitCode = 0;
} else if (!asked.ok) {
  console.error(asked.error);
  process.exitCode = 2;
} else if (asked.value.isCode) {
  process.exitCode = add(asked.value.provider);
} else {
  console.log(declarationOf(asked.value.provider));
}

/** What the command was asked for. */
interface Asked {
  readonly provider: NewProvider;
  /** True to write an adapter; false to print a declaration. */
  readonly isCode: boolean;
}

function askedFor(given: string[]): Result<Asked, string> {
  try {
    const flag = { type: "boolean", default: false } as const;
    const options = { code: flag, "no-hooks": flag };
    const { values, positionals } = parseArgs({ args: given, options, allowPositionals: true });
    const [name, ...others] = positionals;
    if (name === undefined || others.length > 0) return failure(USAGE);
    const taken = [...PROVIDERS.values(), ...SIMULATED_PROVIDERS].map((known) => known.name);
    const provider = newProvider(name, !values["no-hooks"], [...taken, DECLARED_PROVIDER]);
    return provider.ok ? success({ provider: provider.value, isCode: values.code }) : provider;
  } catch {
    return failure(USAGE);
  }
}

/** Writes the files of a provider, and returns the exit code. */
function add(added: NewProvider): number {
  const before = LISTS.map((path) => [path, readFileSync(join(root, path), "utf8")] as const);
  try {
    const files = filesOf(added, new Map(before));
    for (const [path, text] of files) {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    const paths = [...files.keys()];
    const code = paths.filter((path) => path.endsWith(".ts"));
    execFileSync(join(root, "node_modules/.bin/oxfmt"), code, { cwd: root });
    // The registry that this process has read lacks the new provider.
    execFileSync("npm", ["run", "-s", "docs"], { cwd: root });
    console.log(`Written:\n${[...paths, "docs/providers.md"].join("\n")}\n`);
    if (added.hasHooks) console.log(`${SIGNED_HOOKS}\n`);
    console.log(`What is missing:\n${TESTS}`);
    return 0;
  } catch (error) {
    if (!(error instanceof UnexpectedFile)) throw error;
    console.error(error.message);
    return 1;
  }
}
