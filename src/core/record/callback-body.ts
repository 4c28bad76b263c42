import { appendMembers, isObject, type JsonObject, jsonEqual } from "../json.ts";
import { DAY_MS, SECOND_MS, toSeconds } from "../time.ts";
import { type Outputs, sourceUrls } from "./outputs.ts";
import type { UpstreamResult } from "./upstream.ts";

/** The fields of a task that its callback body contains in addition to the result. */
export interface Identity {
  readonly id: string;
  readonly model: string;
  readonly createdAt: number;
}

/**
 * Metadata fields that the documented format of the callback body names, in the order of that format. Other
 * metadata fields come after these, in the order in which they were received.
 */
const METADATA_FIELDS = [
  "seed",
  "ratio",
  "duration",
  "resolution",
  "generate_audio",
  "framespersecond",
] as const;

/**
 * Longest time in milliseconds by which the end of a job, as the upstream states it, may be in the future. Clocks
 * differ, and some have the wrong time zone.
 */
const MAX_AHEAD_MS = DAY_MS;

/** Returns the callback body as JSON text, with exactly the fields of the documented format and in their order. */
export function callbackBody(task: Identity, result: UpstreamResult, now: number): string {
  const head = {
    id: task.id,
    status: result.status,
    model: task.model,
    created_at: toSeconds(task.createdAt),
  };
  if (result.status === "failed") {
    const { code, message } = result.error;
    return JSON.stringify({ ...head, error: { code, message } });
  }
  const dated = { ...head, completed_at: toSeconds(endOf(result.completedAt, now)) };
  const output = `{"urls":${JSON.stringify(result.urls)},"metadata":${metadataText(result.metadata)}}`;
  return appendMembers(JSON.stringify(dated), `{"output":${output}}`);
}

/**
 * Returns the body of a progress callback as JSON text.
 * @param percent progress of the job, from 0 to 100; null when it is not known.
 */
export function progressBody({ id, model, createdAt }: Identity, percent: number | null): string {
  const created_at = toSeconds(createdAt);
  return JSON.stringify({ id, status: "processing", model, created_at, progress: percent });
}

/**
 * Returns the time at which a job ended, in Unix milliseconds. It is the stated time, or `now` if none is stated or if
 * the stated time is more than a day in the future.
 */
function endOf(stated: number | null, now: number): number {
  return stated === null || stated > now + MAX_AHEAD_MS ? now : stated;
}

/** A task with its stored result. */
interface Ended extends Identity {
  readonly body: string;
  readonly outputs: Outputs | null;
}

/**
 * Tells whether `result` equals the stored result of a task. Links to outputs are compared as the upstream has reported
 * them. The times `created_at` and `completed_at` are not compared.
 */
export function sameResult(task: Ended, result: UpstreamResult): boolean {
  const reported = withoutTime(callbackBody(task, result, 0));
  return jsonEqual(withSources(task), reported);
}

/**
 * Returns the upstream's own links to the outputs of a task, in the order of `output.urls`; the relay's link for a file
 * that was in the upstream's answer. Empty for a task that has failed.
 */
export function sourcesOf({ body, outputs }: Omit<Ended, keyof Identity>): readonly string[] {
  return sourceUrls(urlsOf(body), outputs);
}

/** Returns the links in a callback body, in their order. Empty for a task that has failed. */
export function urlsOf(body: string): readonly string[] {
  const { output }: { output?: { urls: readonly string[] } } = JSON.parse(body);
  return output?.urls ?? [];
}

/**
 * Returns those members of a callback body by which results are compared, with the upstream's own links in place of the
 * relay's.
 */
function withSources(task: Ended): JsonObject {
  const members = withoutTime(task.body);
  const { output } = members;
  if (task.outputs === null || !isObject(output)) return members;
  return { ...members, output: { ...output, urls: sourcesOf(task) } };
}

/** Returns `error.code` from the callback body of a failed task. */
export function errorCodeOf(body: string): string {
  return errorOf(body).code;
}

/** Returns the member `error` of the callback body of a failed task. */
export function errorOf(body: string): { readonly code: string; readonly message: string } {
  const { error }: { error?: { code: string; message: string } } = JSON.parse(body);
  return error ?? { code: "unknown", message: "" };
}

/**
 * Returns `completed_at` of a callback body in Unix milliseconds. Null for a failed task, whose body has no such
 * field.
 */
export function completedAtOf(body: string): number | null {
  const { completed_at }: { completed_at?: number } = JSON.parse(body);
  return completed_at === undefined ? null : completed_at * SECOND_MS;
}

/**
 * Returns output metadata as JSON text: first the fields of the documented format, then all others. The text is built
 * member by member, because JSON.stringify would put keys that look like integers first.
 */
function metadataText(metadata: JsonObject): string {
  const known: readonly string[] = METADATA_FIELDS;
  const rest = Object.keys(metadata).filter((key) => !known.includes(key));
  const members = [...known, ...rest].flatMap((key) => {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
    return value === undefined ? [] : [`${JSON.stringify(key)}:${JSON.stringify(value)}`];
  });
  return `{${members.join(",")}}`;
}

function withoutTime(body: string): JsonObject {
  const { completed_at: _, created_at: __, ...rest }: JsonObject = JSON.parse(body);
  return rest;
}
