import { readFileSync } from "node:fs";
import { join } from "node:path";
import { operatorKeyIn } from "../operator-keys.ts";

const root = join(import.meta.dirname, "../..");

/**
 * Returns the name of the file that contains the operator keys: `.dev.vars` for a relay on this machine,
 * `.secrets` for a deployed one.
 */
export function keyFile(isLocal: boolean): string {
  return isLocal ? ".dev.vars" : ".secrets";
}

/**
 * Returns an operator key: the environment variable `OPERATOR_KEY`, or else the first key in the file of
 * secrets that may send test callbacks; null when there is none.
 */
export function operatorKey(isLocal: boolean): string | null {
  const given = process.env["OPERATOR_KEY"]?.trim();
  if (given !== undefined && given !== "") return given;
  return operatorKeyIn(contentOf(join(root, keyFile(isLocal))), "redeliver");
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
