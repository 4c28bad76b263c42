import { jsonEqual, type JsonValue, parseJson } from "../../core/json.ts";
import { type Bytes, bytesOf } from "../encoding.ts";

/** Difference between the body that a server has received and the one that was sent. */
export interface BodyDifference {
  readonly kind: BodyFault;
  /** Position of the first byte that differs, from 0. */
  readonly byte: number;
  /**
   * At most 24 bytes of the sent body from position `byte` on, as text; `received` has the same part of the received
   * body.
   */
  readonly sent: string;
  readonly received: string;
}

export const BODY_FAULTS = [
  "body_empty",
  "body_trimmed",
  "body_quoted",
  "body_charset",
  "body_form_decoded",
  "body_reserialised",
  "body_cut",
  "body_extended",
  "body_of_other_task",
  "body_not_json",
  "body_changed",
] as const;

type BodyFault = (typeof BODY_FAULTS)[number];

const SHOWN_BYTES = 24;

/**
 * Returns the difference between the body that a server has received and the body that was sent. Null when they are
 * equal.
 */
export function bodyDifference(sent: string, received: string): BodyDifference | null {
  if (sent === received) return null;
  const [a, b] = [bytesOf(sent), bytesOf(received)];
  const byte = firstDifference(a, b);
  return { kind: kindOf(sent, received), byte, sent: shown(a, byte), received: shown(b, byte) };
}

function kindOf(sent: string, received: string): BodyFault {
  const trimmed = received.trim();
  if (trimmed === "") return "body_empty";
  if (trimmed === sent.trim()) return "body_trimmed";
  const [given, meant] = [parseJson(trimmed), parseJson(sent)];
  if (given === sent) return "body_quoted";
  if (isFormDecoded(sent, trimmed)) return "body_form_decoded";
  if (isSameJson(given, meant)) return "body_reserialised";
  if (plainAscii(sent) === plainAscii(trimmed)) return "body_charset";
  if (sent.startsWith(trimmed)) return "body_cut";
  if (received.startsWith(sent)) return "body_extended";
  if (given === undefined) return "body_not_json";
  return idOf(given) === idOf(meant) ? "body_changed" : "body_of_other_task";
}

function firstDifference(a: Bytes, b: Bytes): number {
  const at = a.findIndex((byte, index) => byte !== b[index]);
  return at === -1 ? a.length : at;
}

function shown(bytes: Bytes, from: number): string {
  return new TextDecoder().decode(bytes.subarray(from, from + SHOWN_BYTES));
}

function isFormDecoded(sent: string, received: string): boolean {
  if (received === sent.replaceAll("+", " ")) return true;
  const encoded = received.replace(/=$/, "").replaceAll("+", " ");
  try {
    return encoded.includes("%22") && decodeURIComponent(encoded) === sent;
  } catch {
    return false;
  }
}

/**
 * Returns a text without the characters that a change of the charset can alter: those outside ASCII, and `?`, which
 * replaces some of them.
 */
function plainAscii(text: string): string {
  return text.replaceAll(/[^ -~]|\?/g, "");
}

function isSameJson(a: unknown, b: unknown): boolean {
  return isJson(a) && isJson(b) && jsonEqual(a, b);
}

function isJson(value: unknown): value is JsonValue {
  return value !== undefined;
}

/** Returns the member `id` of a body. */
export function idOf(value: unknown): unknown {
  return typeof value === "object" && value !== null && "id" in value ? value.id : undefined;
}
