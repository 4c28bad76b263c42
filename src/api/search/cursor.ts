import { bytesOf, type Bytes, fromBase64, toBase64Url } from "../../security/encoding.ts";
import { signWithNewest, verifyAny } from "../../security/hmac.ts";
import type { Filters, Position } from "../../index-db/list.ts";
import { invalidRequest } from "../http/problem.ts";

/**
 * Pattern of the cursor of a list of tasks. A cursor contains a position in the list, and a signature of this position
 * and the filters of the list, so that it is valid only with the same filters.
 */
const CURSOR = /^(\d{1,16})_([0-9a-f-]{36})_([A-Za-z0-9_-]{43})$/;

/** Returns the signed cursor with which a client asks for the tasks after a position in a list. */
export async function cursorOf(
  { createdAt, id }: Position,
  filters: Filters,
  keys: readonly CryptoKey[],
): Promise<string> {
  const position = `${createdAt}_${id}`;
  const mac = await signWithNewest(keys, contentOf(position, filters));
  return `${position}_${toBase64Url(mac)}`;
}

/**
 * Checks a cursor and returns its position in the list of tasks.
 * @returns null, which means the start of the list, when there is no cursor.
 * @throws Problem `invalid_request` for a cursor that the relay has not made for these filters.
 */
export async function positionOf(
  cursor: string | undefined,
  filters: Filters,
  keys: readonly CryptoKey[],
): Promise<Position | null> {
  if (cursor === undefined) return null;
  const [, createdAt = "", id = "", mac = ""] = CURSOR.exec(cursor) ?? [];
  const content = contentOf(`${createdAt}_${id}`, filters);
  if (mac !== "" && (await verifyAny(keys, fromBase64(mac), content))) {
    return { createdAt: Number(createdAt), id };
  }
  const message = "is not a cursor of this list; use the same filters with it";
  throw invalidRequest([{ path: "/cursor", message }]);
}

function contentOf(position: string, filters: Filters): Bytes {
  // Only filters that are set are signed, so that a list goes on through an upgrade that brings another filter.
  const used = Object.entries(filters).filter(([, value]) => value !== null);
  return bytesOf(JSON.stringify([position, ...used.toSorted(([a], [b]) => (a < b ? -1 : 1))]));
}
