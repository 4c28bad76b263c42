import { parseJson } from "../../core/json.ts";
import { withoutSlash } from "../../core/url.ts";
import { idAt } from "../json-fields.ts";
import type { Observation } from "../observation.ts";
import type { HookAdapter } from "../provider.ts";
import type { Declaration, DeclaredHook } from "./declaration.ts";
import { readReport, type ReportPlaces } from "./declared-reports.ts";
import { verifyRecipe } from "./hook-recipe.ts";
import { findFirst } from "./json-pointer.ts";

/** Report of an unsigned hook that states no state: it can only mean that the job has ended, which a poll finds out. */
const CLAIM = {
  state: null,
  phase: "completed",
  urls: [],
  metadata: {},
  completedAt: null,
  error: null,
} as const;

/** Returns the reader of the hooks that a declaration describes. Null when its upstream sends none. */
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
  const named = {
    jobId: idAtFirst(body, hook.id) ?? read?.jobId ?? null,
    taskId: idAtFirst(body, hook.task_id),
  };
  if (read !== null && read.state !== null) return { ...read, ...named, inlineOutputs: [] };
  const isClaim = hook.signature == null && !Array.isArray(body) && isPolled(declaration);
  return isClaim ? { ...CLAIM, ...named } : null;
}

/** Tells whether a poll can find out what a claim is worth. Without a key a claim would itself end the task. */
function isPolled({ auth, key }: Declaration): boolean {
  return auth == null || key != null;
}

/** Returns where the report of a hook states what: as an answer to a poll does, unless the declaration says otherwise. */
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

/** Returns the report within a hook: the hook itself, or a member of it, which may be JSON in a text. */
function reportIn(body: unknown, { report }: DeclaredHook): unknown {
  if (report == null) return body;
  const [found] = findFirst(body, [report], null);
  return typeof found === "string" ? parseJson(found) : found;
}
