import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");

/** `.dev.vars` is read by `wrangler dev`, `.secrets` is for `wrangler deploy --secrets-file`. */
const FILES = [".dev.vars", ".secrets"] as const;

/** Generates the secrets that the relay needs, once: files that exist are left as they are. */
export function writeSecrets(): { readonly file: string; readonly isNew: boolean }[] {
  return FILES.map((file) => ({ file, isNew: writeOnce(join(root, file), generated()) }));
}

function generated(): string {
  return `RELAY_SECRET="${random()}"\nOPERATOR_KEYS="${random()}"\n`;
}

function random(): string {
  return randomBytes(32).toString("base64url");
}

function writeOnce(path: string, content: string): boolean {
  try {
    writeFileSync(path, content, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
