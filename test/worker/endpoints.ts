import { call, type Message } from "./client.ts";

export const ENDPOINT_URL = "https://client.example.net/orders";
/** Value of a header of an endpoint, which no answer and no log line may contain. */
export const HEADER_SECRET = "planted-header-value-3q2w7";

interface Place extends Message {
  /** Account that has the endpoint. Absent for an endpoint of the relay. */
  readonly account?: string;
}

/** Returns the path of an endpoint; with an empty name that of the list. */
export function endpointPath(name: string, account?: string): string {
  const base = account === undefined ? "/v1/endpoints" : `/v1/accounts/${account}/endpoints`;
  return name === "" ? base : `${base}/${name}`;
}

/** Creates or replaces an endpoint. */
export function putEndpoint(
  name: string,
  settings: object = {},
  { account, ...message }: Place = {},
): Promise<Response> {
  const body = { url: ENDPOINT_URL, ...settings };
  return call(endpointPath(name, account), { method: "PUT", body, ...message });
}

/** Creates or replaces an endpoint with the header `Authorization`, whose value is `HEADER_SECRET`. */
export function putSecretEndpoint(
  name: string,
  settings: object = {},
  place: Place = {},
): Promise<Response> {
  const headers = { Authorization: `Bearer ${HEADER_SECRET}` };
  return putEndpoint(name, { headers, ...settings }, place);
}

export function deleteEndpoint(name: string, { account, ...message }: Place = {}) {
  return call(endpointPath(name, account), { method: "DELETE", ...message });
}
