import { fromBase64, toBase64Url } from "../../security/encoding.ts";
import type { Filters, Position } from "../../index-db/list.ts";
import { invalidRequest } from "../http/problem.ts";

/** Place in the list and its signature, which holds for the same filters only. */
const CURSOR = /^(\d{1,16})_([0-9a-f-]{36})_([A-Za-z0-9_-]{43})$/;

export async function cursorOf(
  { createdAt, id }: Position,
  filters: Filters,
  keys: readonly CryptoKey[],
): Promise<string> {
  const [newest] = keys;
  if (newest === undefined) throw new Error("there is no key for cursors");
  const place = `${createdAt}_${id}`;
  const mac = await crypto.subtle.sign("HMAC", newest, contentOf(place, filters));
  return `${place}_${toBase64Url(mac)}`;
}

/** @throws Problem `invalid_request` for a cursor that this relay has not made for these filters. */
export async function positionOf(
  cursor: string | null,
  filters: Filters,
  keys: readonly CryptoKey[],
): Promise<Position | null> {
  if (cursor === null) return null;
  const [, createdAt = "", id = "", mac = ""] = CURSOR.exec(cursor) ?? [];
  const content = contentOf(`${createdAt}_${id}`, filters);
  const checks = keys.map((key) => crypto.subtle.verify("HMAC", key, fromBase64(mac), content));
  if (mac !== "" && (await Promise.all(checks)).includes(true)) {
    return { createdAt: Number(createdAt), id };
  }
  const message = "is not a cursor of this list; use the same filters with it";
  throw invalidRequest([{ path: "/cursor", message }]);
}

function contentOf(place: string, filters: Filters): Uint8Array {
  const { status, callback, model, provider, account, host, since, until } = filters;
  const narrowed = [status, callback, model, provider, account, host, since, until];
  return new TextEncoder().encode(JSON.stringify([place, ...narrowed]));
}
