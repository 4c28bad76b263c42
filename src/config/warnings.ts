import leven from "leven";
import { PROVIDERS } from "../providers/registry.ts";
import type { Result } from "../core/result.ts";
import type { Config } from "./config.ts";
import type { ConfigIssue } from "./issue.ts";
import { Variables } from "./variables.ts";

/**
 * Largest share of letters in which the name of a variable may differ from a known one and still count as a misspelling
 * of it.
 */
const CLOSE = 1 / 4;
const CONNECTIONS = /^CONNECTIONS(_\d+)?$/;
/**
 * Pattern of the endings that the names of variables of many providers share, e.g. `_API_KEY`. Only the part before
 * such an ending names the provider.
 */
const SHARED = /_(?:API_KEY|BASE_URL|USER_ID|WEBHOOK_KEY|WEBHOOK_SECRET)$/;

const NO_ADDRESS =
  "is not set: hook URLs and links begin with the host that each caller has used, and outside Cloudflare tasks of providers with hooks are refused";

/** Returns a warning for each variable that is invalid, doubtful or perhaps misspelt. A warning names the variable. */
export function warningsOf(
  vars: object,
  result: Result<Config, readonly ConfigIssue[]>,
): readonly ConfigIssue[] {
  return [...(result.ok ? doubts(result.value) : result.error), ...misspelt(vars)];
}

function doubts(config: Config): ConfigIssue[] {
  const { paused, allowLocalCallbacks, publicUrl, disabledConnections } = config;
  const local = "is on: for development only, never in production";
  return [
    ...(paused ? [{ path: "PAUSED", message: "is on: callbacks and polls wait" }] : []),
    ...(allowLocalCallbacks ? [{ path: "ALLOW_LOCAL_CALLBACKS", message: local }] : []),
    ...(publicUrl === null ? [{ path: "PUBLIC_URL", message: NO_ADDRESS }] : []),
    ...disabledConnections.flatMap(({ issues }) => issues),
  ];
}

/** Returns a warning for each variable whose name the relay does not know but which is similar to a known name. */
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
 * Returns in how many letters a variable may differ from a known one and still count as a misspelling of it: a quarter
 * of its letters, and at least one. If both end with a part that several providers have in common, e.g. `_API_KEY`,
 * only the letters before that part count, and the minimum of one does not apply. Therefore `AI_API_KEY` does not count
 * as a misspelling of `XAI_API_KEY`.
 * @param path name of the variable that is set.
 * @param name name of the known variable.
 */
function maxDistance(path: string, name: string): number {
  const ending = SHARED.exec(name)?.[0] ?? "";
  const stem = path.length - ending.length;
  return ending !== "" && path.endsWith(ending) ? stem * CLOSE : Math.max(1, stem * CLOSE);
}
