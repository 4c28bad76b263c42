import { parseJson } from "../../core/json.ts";
import { withoutSlash } from "../../core/url.ts";
import { idAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import type { HookAdapter } from "../provider.ts";
import type { Declaration, DeclaredHook } from "./declaration.ts";
import { readReport, type ReportPlaces } from "./declared-reports.ts";
import { verifyRecipe } from "./hook-recipe.ts";
import { findFirst } from "./json-pointer.ts";

/**
 * Result for a hook that names its job or task, but contains nothing where the declaration expects the report on the
 * job.
 */
const NOTHING = { state: null, urls: [], metadata: {}, completedAt: null, error: null } as const;

/**
 * Returns the reader of the hooks that a declaration describes. Null when the upstream of the declaration sends no
 * hooks.
 */
export function hooksOf(declaration: Declaration): HookAdapter | null {
  const { hook } = declaration;
  if (hook == null) return null;
  const { signature } = hook;
  return {
    assurance: signature == null ? "capability-url" : "body-signed",
    parameter: hook.field,
    idParameter: hook.id_field ?? null,
    ...(hook.secret_field != null && { secretParameter: hook.secret_field }),
    authenticate: async (given, { webhookSecret }, { now }) =>
      signature == null ? "unsigned" : verifyRecipe(given, signature, webhookSecret, now),
    read: (body) => readHook(body, hook, declaration),
  };
}

function readHook(body: unknown, hook: DeclaredHook, declaration: Declaration): Observation | null {
  if (typeof body !== "object" || body === null) return null;
  const baseUrl = withoutSlash(declaration.base_url);
  const report = { body: reportIn(body, hook), status: null, jobId: null, baseUrl };
  const read = readReport(report, placesOf(hook, declaration), declaration);
  const jobId = idAtFirst(body, hook.id) ?? read?.jobId ?? null;
  const taskId = idAtFirst(body, hook.task_id);
  if (read === null && jobId === null && taskId === null) return null;
  return { ...(read ?? NOTHING), jobId, taskId };
}

/**
 * Returns the pointers to state, outputs and error in the report of a hook. They are the same as in an answer to a
 * poll, unless the declaration names others for hooks.
 */
function placesOf(hook: DeclaredHook, { poll }: Declaration): ReportPlaces {
  return {
    ...poll,
    otherwise: null,
    state: hook.state ?? poll.state,
    outputs: hook.outputs ?? poll.outputs,
    error: hook.error ?? poll.error,
  };
}

function idAtFirst(body: unknown, pointers: readonly string[] | null | undefined): string | null {
  return idAt(findFirst(body, pointers ?? [], null)[0]);
}

/**
 * Returns the report on the job in a hook: the hook itself or a member of it. The member may be a string that contains
 * JSON.
 */
function reportIn(body: unknown, { report }: DeclaredHook): unknown {
  if (report == null) return body;
  const [found] = findFirst(body, [report], null);
  return typeof found === "string" ? parseJson(found) : found;
}
