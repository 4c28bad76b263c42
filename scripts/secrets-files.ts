import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type EnvironmentName, ENVIRONMENTS } from "./environments.ts";

const root = join(import.meta.dirname, "..");

/** Files that hold the secrets, by environment; those of production include the one for `wrangler dev`. */
const FILES: Readonly<Record<EnvironmentName, readonly string[]>> = {
  production: [".dev.vars", ENVIRONMENTS.production.secretsFile],
  preview: [ENVIRONMENTS.preview.secretsFile],
};

/** Generates the secrets that the relay needs, in files. Files that exist are left unchanged. */
export function writeSecrets(
  environment: EnvironmentName = "production",
): { readonly file: string; readonly isNew: boolean }[] {
  return FILES[environment].map((file) => ({
    file,
    isNew: writeIfAbsent(join(root, file), generateSecrets()),
  }));
}

/** Generates the secrets and prints for each file whether it was written or kept. */
export function reportSecrets(environment: EnvironmentName): void {
  for (const { file, isNew } of writeSecrets(environment)) {
    console.log(`${file} ${isNew ? "written" : "kept as it is"}`);
  }
}

function generateSecrets(): string {
  return `RELAY_SECRET="${randomSecret()}"\nOPERATOR_KEYS="${randomSecret()}"\n`;
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
