import type { Role } from "../../core/views/task-view.ts";
import { invalidRequest } from "../http/problem.ts";

/** `Idempotency-Key`, or null. @throws Problem `invalid_request` when it is not 1–255 printable ASCII. */
export function idempotencyKeyOf(headers: Headers): string | null {
  const key = headers.get("Idempotency-Key");
  if (key === null || /^[\x20-\x7E]{1,255}$/.test(key)) return key;
  const message = "must be 1 to 255 printable ASCII characters";
  throw invalidRequest([{ path: "/Idempotency-Key", message }]);
}

/** The task id that a caller's key stands for: UUIDv8 (RFC 9562 §5.8) of a SHA-256. */
export async function idOfKey(caller: Role, key: string): Promise<string> {
  const name = new TextEncoder().encode(`${caller}\n${key}`);
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", name)).slice(0, 16);
  const hex = Array.from(bytes, (byte, i) => versioned(byte, i).toString(16).padStart(2, "0"));
  return hex.join("").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function versioned(byte: number, index: number): number {
  if (index === 6) return (byte & 0x0f) | 0x80;
  return index === 8 ? (byte & 0x3f) | 0x80 : byte;
}
