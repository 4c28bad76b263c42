import { unboundObjects } from "../config/object-bindings.ts";
import { configOf, type Runtime, warnOnce } from "../config/runtime.ts";
import type { ConfigIssue } from "../config/issue.ts";
import { failure, type Result } from "../core/result.ts";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";
import { withTimeout } from "../timeout.ts";
import { markerObject, type ObjectNamespaces } from "./object-names.ts";

/** Value that is stored as jurisdiction when `JURISDICTION` is not set. */
const NONE = "none";
const MARKER_TIMEOUT_MS = 2 * SECOND_MS;

/**
 * Last answer of the object that stores the deployment's jurisdiction, as this isolate remembers it; `noted`
 * is the stored jurisdiction, or null when the object did not answer.
 */
interface MarkerAnswer {
  readonly noted: string | null;
  /**
   * Time at which the object that stores the jurisdiction answered, or at which the relay stopped waiting for
   * its answer, in Unix milliseconds.
   */
  readonly at: number;
}

const answers = new WeakMap<object, MarkerAnswer>();

/**
 * Returns the configuration of the relay and its keys; or, when variables are invalid or a class of objects is
 * not bound, the name of each with the reason: the relay must then neither write nor send anything.
 * `JURISDICTION` is also invalid when the existing Durable Objects were created in another jurisdiction.
 */
export async function placedRuntimeOf(
  env: ObjectNamespaces,
): Promise<Result<Runtime, readonly ConfigIssue[]>> {
  warnOnce(env);
  const { runtime } = env.startup;
  const unbound = unboundObjects(env);
  if (unbound.length > 0) return failure(runtime.ok ? unbound : [...unbound, ...runtime.error]);
  const issue = await jurisdictionIssue(env);
  return issue === null ? runtime : failure([issue]);
}

/** Has the `JURISDICTION` of an environment not compared, for a rehearsal, which calls no object. */
export function skipComparison(env: ObjectNamespaces): void {
  answers.set(env, { noted: configOf(env)?.jurisdiction ?? NONE, at: 0 });
}

/**
 * Compares `JURISDICTION` with the jurisdiction that the deployment's first request stored, once per isolate.
 * The relay does not depend on the one object that stores it: when the object does not answer, the relay
 * works on and asks again after a minute.
 * @returns the fault when the two differ; null when they are equal or cannot be compared.
 */
async function jurisdictionIssue(env: ObjectNamespaces): Promise<ConfigIssue | null> {
  const config = configOf(env);
  if (config === null) return null;
  const wanted = config.jurisdiction ?? NONE;
  const noted = await notedJurisdiction(env, wanted);
  if (noted === null || noted === wanted) return null;
  const stored = noted === NONE ? "be empty" : `be ${noted}`;
  return { path: "JURISDICTION", message: `must ${stored}, as when the first task was stored` };
}

async function notedJurisdiction(env: ObjectNamespaces, wanted: string): Promise<string | null> {
  const known = answers.get(env);
  if (known !== undefined && isCurrent(known)) return known.noted;
  const ask = async (): Promise<string | null> => markerObject(env).claimJurisdiction(wanted);
  const noted = await withTimeout("jurisdiction", ask, null, MARKER_TIMEOUT_MS);
  answers.set(env, { noted, at: Date.now() });
  return noted;
}

function isCurrent({ noted, at }: MarkerAnswer): boolean {
  return noted !== null || Date.now() - at < MINUTE_MS;
}
