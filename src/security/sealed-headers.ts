/**
 * Encryption of the headers that are sent to an endpoint. Encrypted headers can be decrypted only for the endpoint of
 * the account for which they were encrypted, so that a copy of them in a task of another account is of no use. They are
 * encrypted when the endpoint is stored (api/endpoints/endpoint-work.ts), and decrypted for each attempt of a callback
 * (outbound/endpoint-headers.ts).
 */
import type { SealedHeaders } from "../core/record/endpoint-copy.ts";
import { isObject, parseJson } from "../core/json.ts";
import { openText, type SealingKeys, sealText } from "./sealing.ts";

/** The endpoint whose headers are encrypted. */
export interface EndpointPlace {
  /** Id of the account that has the endpoint; null for an endpoint of the relay. */
  readonly account: string | null;
  readonly name: string;
}

/** Headers by name. */
export type HeaderValues = Readonly<Record<string, string>>;

/** Encrypts the headers of an endpoint with the newest of `keys`. */
export async function sealHeaders(
  headers: HeaderValues,
  place: EndpointPlace,
  keys: SealingKeys,
): Promise<SealedHeaders> {
  const sealed = await sealText(JSON.stringify(headers), textOf(place), keys);
  return { ...sealed, names: Object.keys(headers) };
}

/**
 * Decrypts the headers of an endpoint. Null when the relay secret with which they were encrypted is gone, when they were
 * encrypted for another endpoint, and when they were changed.
 */
export async function openHeaders(
  sealed: SealedHeaders,
  place: EndpointPlace,
  keys: SealingKeys,
): Promise<HeaderValues | null> {
  const text = await openText(sealed, textOf(place), keys);
  return text === null ? null : headersIn(text);
}

function headersIn(text: string): HeaderValues {
  const value = parseJson(text);
  const entries = isObject(value) ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([name, each]) => (typeof each === "string" ? [[name, each]] : [])),
  );
}

function textOf({ account, name }: EndpointPlace): string {
  return `${account ?? ""}\n${name}`;
}
