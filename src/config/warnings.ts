import leven from "leven";
import { PROVIDERS } from "../providers/registry.ts";
import type { Result } from "../core/result.ts";
import type { Config } from "./config.ts";
import type { ConfigIssue } from "./issue.ts";
import { Variables } from "./variables.ts";

/** Largest fraction of the letters of a name in which a misspelt name may differ from a known variable. */
const CLOSE = 1 / 4;
const CONNECTIONS = /^CONNECTIONS(_\d+)?$/;
/**
 * Pattern of the ends that the variables of many providers share, e.g. `_API_KEY`. Only the part before the
 * end names the provider.
 */
const SHARED = /_(?:API_KEY|BASE_URL|USER_ID|WEBHOOK_KEY|WEBHOOK_SECRET)$/;

const NO_ADDRESS =
  "is not set: tasks of providers with hooks are refused, and links follow the Host header of requests";

/**
 * Returns one warning, with the name of the variable, for everything that is invalid or doubtful in the
 * variables or looks misspelt.
 */
export function warningsOf(
  vars: object,
  result: Result<Config, readonly ConfigIssue[]>,
): readonly ConfigIssue[] {
  return [...(result.ok ? doubts(result.value) : result.error), ...misspelt(vars)];
}

function doubts({ paused, allowLocalCallbacks, publicUrl }: Config): ConfigIssue[] {
  const local = "is on: for development only, never in production";
  return [
    ...(paused ? [{ path: "PAUSED", message: "is on: callbacks and polls wait" }] : []),
    ...(allowLocalCallbacks ? [{ path: "ALLOW_LOCAL_CALLBACKS", message: local }] : []),
    ...(publicUrl === null ? [{ path: "PUBLIC_URL", message: NO_ADDRESS }] : []),
  ];
}

/** Finds variables that the relay does not know and whose names are close to one that it knows. */
function misspelt(vars: object): ConfigIssue[] {
  const known = [
    ...Object.keys(Variables.shape),
    "CONNECTIONS",
    ...[...PROVIDERS.values()].flatMap(({ variables }) => Object.values(variables)),
  ];
  const names = Object.entries(vars).flatMap(([name, value]) =>
    typeof value === "object" || known.includes(name) || CONNECTIONS.test(name) ? [] : name,
  );
  return names.flatMap((path) => {
    const near = known.find((name) => leven(path, name) <= maxDistance(path, name));
    return near === undefined ? [] : { path, message: `is not known: ${near} is` };
  });
}

/**
 * Returns in how many letters a variable may differ from a known one and still count as a misspelling of it: a
 * quarter of its letters, and at least one. When both end with a part that several providers share, such as
 * `_API_KEY`, only the letters before it count, and short names such as `AI` and `XAI` are different variables.
 * @param path name of the variable that is set.
 * @param name name of the known variable.
 */
function maxDistance(path: string, name: string): number {
  const ending = SHARED.exec(name)?.[0] ?? "";
  const stem = path.length - ending.length;
  return ending !== "" && path.endsWith(ending) ? stem * CLOSE : Math.max(1, stem * CLOSE);
}
