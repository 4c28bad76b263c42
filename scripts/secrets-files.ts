import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/**
 * Files that hold the secrets of the relay: one for `wrangler dev`, one for `wrangler deploy --secrets-file`.
 */
const FILES = [".dev.vars", ".secrets"] as const;

/** Generates the secrets that the relay needs, in files. Files that exist are left unchanged. */
export function writeSecrets(): { readonly file: string; readonly isNew: boolean }[] {
  return FILES.map((file) => ({ file, isNew: writeIfAbsent(join(root, file), generateSecrets()) }));
}

/** Generates the secrets and prints for each file whether it was written or kept. */
export function reportSecrets(): void {
  for (const { file, isNew } of writeSecrets()) {
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
