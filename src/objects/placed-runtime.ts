import { unboundObjects } from "../config/object-bindings.ts";
import { configOf, type Runtime, warnOnce } from "../config/runtime.ts";
import { type ConfigIssue, describeIssues } from "../config/issue.ts";
import { failure, type Result } from "../core/result.ts";
import { MINUTE_MS, SECOND_MS } from "../core/time.ts";
import { log } from "../lib/log.ts";
import { withTimeout } from "../lib/timeout.ts";
import { markerObject, type ObjectNamespaces } from "./object-names.ts";

/** Value that is stored as the jurisdiction when `JURISDICTION` is not set. */
const NONE = "none";
const MARKER_TIMEOUT_MS = 2 * SECOND_MS;
/**
 * Largest number of tasks that an isolate remembers, to name them in the log if the jurisdiction turns out to be wrong.
 */
const MAX_NAMED = 1_000;

/**
 * Facts that this isolate has found out about an environment: the classes of Durable Objects that are not bound, and
 * the jurisdiction in which the deployment's objects were created. Requests share this value. They never share a
 * promise, because the platform binds a call to the request that has made it.
 */
interface Known {
  /** Classes of Durable Objects that the environment does not bind. */
  readonly unbound: readonly ConfigIssue[];
  /**
   * Jurisdiction that the deployment has stored. Null until this isolate has asked the object that stores it and got an
   * answer.
   */
  stored: string | null;
  /** Time at which the isolate last asked the object that stores the jurisdiction, in Unix milliseconds. */
  askedAt: number;
  /** Ids of the tasks, at most `MAX_NAMED`, that objects in this isolate have stored before `stored` was known. */
  readonly tasks: Set<string>;
}

const knownEnvironments = new WeakMap<object, Known>();

/**
 * Returns the configuration of the relay and its keys. When variables are invalid or a class of Durable Objects is not
 * bound, it returns the name of each with the reason instead; the relay must then neither write nor send anything.
 * `JURISDICTION` is invalid too once this isolate has learned that the deployment's objects were created in another
 * jurisdiction. The isolate asks for the stored jurisdiction in the background, so that no request waits for the one
 * object that stores it. When that object does not answer, the relay works on, and asks again after a minute.
 */
export function placedRuntimeOf(env: ObjectNamespaces): Result<Runtime, readonly ConfigIssue[]> {
  warnOnce(env);
  const { runtime } = env.startup;
  const { unbound, stored, askedAt } = knownOf(env);
  if (unbound.length > 0) return failure(runtime.ok ? unbound : [...unbound, ...runtime.error]);
  if (!runtime.ok) return runtime;
  if (stored === null && Math.abs(Date.now() - askedAt) >= MINUTE_MS)
    env.startup.waitUntil(compare(env));
  const issue = jurisdictionIssue(stored, wantedBy(env));
  return issue === null ? runtime : failure([issue]);
}

/**
 * Returns the configuration of the relay and its keys, as `placedRuntimeOf` does.
 * @throws when a variable is invalid or a class of Durable Objects is not bound.
 */
export function requiredRuntime(env: ObjectNamespaces): Runtime {
  const result = placedRuntimeOf(env);
  if (result.ok) return result.value;
  throw new Error(`configuration: ${describeIssues(result.error)}`);
}

/**
 * Returns the configuration and keys of the relay, or the invalid variables, as `placedRuntimeOf` does. Before that, it
 * waits for the stored jurisdiction, but at most two seconds. It is for callers that examine the deployment.
 */
export async function comparedRuntimeOf(
  env: ObjectNamespaces,
): Promise<Result<Runtime, readonly ConfigIssue[]>> {
  const { unbound, stored } = knownOf(env);
  if (env.startup.runtime.ok && unbound.length === 0 && stored === null) await compare(env);
  return placedRuntimeOf(env);
}

/**
 * Makes this isolate skip the comparison of `JURISDICTION` with the stored jurisdiction. A rehearsal (a registration of
 * a task in memory when the Worker starts) needs this, because it must not call any Durable Object.
 */
export function skipComparison(env: ObjectNamespaces): void {
  knownOf(env).stored = wantedBy(env);
}

/**
 * Remembers that a task's object has stored the task. When the isolate learns that the deployment's objects are in
 * another jurisdiction, it writes a log line for each remembered task. The relay will not find these tasks again
 * once `JURISDICTION` is corrected.
 */
export function noteStoredTask(env: ObjectNamespaces, taskId: string): void {
  const { stored, tasks } = knownOf(env);
  if (stored === wantedBy(env) || tasks.has(taskId) || tasks.size >= MAX_NAMED) return;
  tasks.add(taskId);
  if (stored !== null) logMisplaced(taskId, stored);
}

/** Asks the Durable Object that stores the deployment's jurisdiction for it, and remembers the answer. */
async function compare(env: ObjectNamespaces): Promise<void> {
  const known = knownOf(env);
  known.askedAt = Date.now();
  const wanted = wantedBy(env);
  const ask = async (): Promise<string | null> => markerObject(env).claimJurisdiction(wanted);
  const stored = await withTimeout("jurisdiction", ask, null, MARKER_TIMEOUT_MS);
  // Another request may have asked as well, and its answer is the same.
  if (stored === null || known.stored !== null) return;
  known.stored = stored;
  if (stored !== wanted) for (const id of known.tasks) logMisplaced(id, stored);
  else known.tasks.clear();
}

function logMisplaced(taskId: string, jurisdiction: string): void {
  log({ event: "task.misplaced", task_id: taskId, stored_jurisdiction: jurisdiction }, "error");
}

/**
 * Returns the fault in the configuration when the deployment's objects are in another jurisdiction than the configured
 * one. Null when they are not, or when this is not known yet.
 */
function jurisdictionIssue(stored: string | null, wanted: string): ConfigIssue | null {
  if (stored === null || stored === wanted) return null;
  const right = stored === NONE ? "be empty" : `be ${stored}`;
  return { path: "JURISDICTION", message: `must ${right}, as when the first task was stored` };
}

function wantedBy(env: ObjectNamespaces): string {
  return configOf(env)?.jurisdiction ?? NONE;
}

function knownOf(env: ObjectNamespaces): Known {
  const earlier = knownEnvironments.get(env);
  if (earlier !== undefined) return earlier;
  const tasks = new Set<string>();
  const known = { unbound: unboundObjects(env), stored: null, askedAt: -Infinity, tasks };
  knownEnvironments.set(env, known);
  return known;
}
