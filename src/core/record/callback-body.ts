import { toSeconds } from "../time.ts";
import { type JsonObject, type JsonValue, jsonEqual } from "../json.ts";
import type { TerminalTask } from "./task.ts";

/** How the upstream's work ended. */
export type UpstreamResult =
  | {
      readonly status: "completed";
      readonly completedAt: number | null;
      readonly urls: readonly string[];
      readonly metadata: JsonObject;
    }
  | {
      readonly status: "failed";
      readonly error: { readonly code: string; readonly message: string };
    };

/** The metadata fields of the wire contract, in their order; fields beyond them follow as received. */
const METADATA_FIELDS = [
  "seed",
  "ratio",
  "duration",
  "resolution",
  "generate_audio",
  "framespersecond",
] as const;

export interface Identity {
  readonly id: string;
  readonly model: string;
  readonly createdAt: number;
}

/** The callback body: exactly the fields of the task object, in the order of the wire contract. */
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
  const dated = { ...head, completed_at: toSeconds(result.completedAt ?? now) };
  const output = `{"urls":${JSON.stringify(result.urls)},"metadata":${metadataText(result.metadata)}}`;
  return `${JSON.stringify(dated).slice(0, -1)},"output":${output}}`;
}

/** Whether `result` says what the stored body says; times do not count. */
export function sameResult(task: TerminalTask, result: UpstreamResult): boolean {
  const stored = withoutTime(task.body);
  const reported = withoutTime(callbackBody(task, result, 0));
  return jsonEqual(stored, reported);
}

/** `error.code` of a failed task's stored body. */
export function errorCodeOf(body: string): string {
  const { error }: { error?: { code: string } } = JSON.parse(body);
  return error?.code ?? "unknown";
}

/** Unix milliseconds; null: a failed task's body. */
export function completedAtOf(body: string): number | null {
  const { completed_at }: { completed_at?: number } = JSON.parse(body);
  return completed_at === undefined ? null : completed_at * 1000;
}

// Written by hand because an object puts integer-like keys first, whatever the order of insertion.
function metadataText(metadata: JsonObject): string {
  const known: readonly string[] = METADATA_FIELDS;
  const rest = Object.keys(metadata).filter((key) => !known.includes(key));
  const members = [...known, ...rest].flatMap((key) => {
    const value = Object.hasOwn(metadata, key) ? metadata[key] : undefined;
    return value === undefined ? [] : [`${JSON.stringify(key)}:${JSON.stringify(value)}`];
  });
  return `{${members.join(",")}}`;
}

function withoutTime(body: string): JsonValue {
  const { completed_at: _, created_at: __, ...rest }: JsonObject = JSON.parse(body);
  return rest;
}
