import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Environment, ENVIRONMENTS } from "../environments.ts";
import { operatorKeyIn } from "../operator-keys.ts";

const root = join(import.meta.dirname, "../..");

/** Tells whether a host name is that of this machine. */
export function isLoopbackHost(name: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(name);
}

/**
 * Returns the name of the file that contains the operator keys: that of the deployment that was named, else
 * `.dev.vars` for a relay on this machine, and the file of production for any other.
 */
export function keyFile(environment: Environment | null, isLocal: boolean): string {
  if (environment !== null) return environment.secretsFile;
  return isLocal ? ".dev.vars" : ENVIRONMENTS.production.secretsFile;
}

/**
 * Returns an operator key: the environment variable `OPERATOR_KEY`, or else one in the file of secrets; null
 * when there is none.
 * @param choose returns the key from the content of the file.
 */
export function operatorKey(file: string, choose = doctorKeyIn): string | null {
  const given = process.env["OPERATOR_KEY"]?.trim();
  if (given !== undefined && given !== "") return given;
  return choose(contentOf(join(root, file)));
}

/**
 * Returns the key in a file of secrets that permits the most checks: the first one that may send test
 * callbacks, or else the first one, because every role permits the other checks; null when there is none.
 */
export function doctorKeyIn(content: string): string | null {
  return operatorKeyIn(content, "redeliver") ?? operatorKeyIn(content, "statistics");
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
