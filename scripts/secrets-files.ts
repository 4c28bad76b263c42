import { randomBytes } from "node:crypto";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { type EnvironmentName, ENVIRONMENTS } from "./environments.ts";

/** Names of the secrets that the relay requires. */
const SECRETS = ["RELAY_SECRET", "OPERATOR_KEYS"];
const root = join(import.meta.dirname, "..");

/** File with the secrets for `wrangler dev`. */
const DEV_VARS = ".dev.vars";
/** Files that hold the secrets, by environment; those of production include the one for `wrangler dev`. */
const FILES: Readonly<Record<EnvironmentName, readonly string[]>> = {
  production: [DEV_VARS, ENVIRONMENTS.production.secretsFile],
  preview: [ENVIRONMENTS.preview.secretsFile],
};

/** What became of a file of secrets. */
type Outcome = "written" | "completed" | "kept as it is";

/**
 * Generates the secrets that the relay needs, in files. A file that exists is left unchanged, except that `.dev.vars` gets
 * the secrets that it lacks. The file of a deployment gets none, because they would replace those that Cloudflare has.
 */
export function writeSecrets(
  environment: EnvironmentName = "production",
): { readonly file: string; readonly outcome: Outcome }[] {
  return FILES[environment].map((file) => ({ file, outcome: write(file) }));
}

/** Generates the secrets and prints for each file what became of it. */
export function reportSecrets(environment: EnvironmentName): void {
  for (const { file, outcome } of writeSecrets(environment)) console.log(`${file} ${outcome}`);
}

function write(file: string): Outcome {
  const path = join(root, file);
  if (writeIfAbsent(path, linesOf(SECRETS))) return "written";
  const missing = file === DEV_VARS ? missingIn(readFileSync(path, "utf8")) : [];
  if (missing.length === 0) return "kept as it is";
  appendFileSync(path, `\n${linesOf(missing)}`);
  return "completed";
}

/** Returns the secrets that have no value in the text of a file. */
function missingIn(text: string): readonly string[] {
  const given = parseEnv(text);
  return SECRETS.filter((name) => (given[name] ?? "") === "");
}

function linesOf(names: readonly string[]): string {
  return names.map((name) => `${name}="${randomSecret()}"\n`).join("");
}

function randomSecret(): string {
  return randomBytes(32).toString("base64url");
}

function writeIfAbsent(path: string, content: string): boolean {
  try {
    writeFileSync(path, content, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
