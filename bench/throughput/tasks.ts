import { type Client, completedEvent, OPERATOR_KEY } from "../../test/process/harness/client.ts";
import type { Ask } from "./server.ts";

const ACCOUNT = "bench";
const CREDITS = 3;
const GRANTED = 1_000_000_000;

const JSON_HEADERS = { "Content-Type": "application/json" };
const OPERATOR_HEADERS = { ...JSON_HEADERS, Authorization: `Bearer ${OPERATOR_KEY}` };

/** Returns the request of a task for the servers that are not the relay. */
export function plainEvent(id: string, callbackUrl: string): readonly Ask[] {
  return [post("/", completedEvent(id, callbackUrl), JSON_HEADERS)];
}

/** Returns the request of a task that only reports its end to the relay. */
export function eventOnly(id: string, callbackUrl: string): readonly Ask[] {
  return [post("/v1/events", completedEvent(id, callbackUrl))];
}

/** Returns the requests of a task that is registered with the relay and then reports its end. */
export function registered(id: string, callbackUrl: string): readonly Ask[] {
  return registeredWith(id, callbackUrl, {});
}

/** Returns the requests of a task whose job the relay submits, and that then reports its end. */
export function submitted(id: string, callbackUrl: string): readonly Ask[] {
  const { model, callback_url: _, ...event } = completedEvent(id, callbackUrl);
  const content = [{ type: "text", text: "a fox" }];
  const headers = { ...OPERATOR_HEADERS, "Relay-Task-Id": id, "Relay-Callback-Url": callbackUrl };
  return [
    post("/v1/submit/ark/contents/generations/tasks", { model, content }, headers),
    post("/v1/events", event),
  ];
}

/** Returns the requests of a task that is charged to the account and then reports its end. */
export function charged(id: string, callbackUrl: string): readonly Ask[] {
  return registeredWith(id, callbackUrl, { account: ACCOUNT, credits: CREDITS });
}

/** Creates the account that `charged` charges, with more credits than a run needs. */
export async function openAccount(client: Client): Promise<void> {
  await client.ask("POST", "/v1/accounts", { id: ACCOUNT });
  const grant = { reference: "opening", amount: GRANTED };
  await client.ask("POST", `/v1/accounts/${ACCOUNT}/grants`, grant);
}

/** Returns the request that reads a task of the bare Worker. */
export function bareRead(id: string): Ask {
  return { method: "GET", path: `/${id}`, headers: {}, body: null };
}

/** Returns the request that reads a task of the relay. */
export function relayRead(id: string): Ask {
  return { method: "GET", path: `/v1/tasks/${id}`, headers: OPERATOR_HEADERS, body: null };
}

function registeredWith(id: string, callbackUrl: string, fields: object): readonly Ask[] {
  const { model, callback_url, ...event } = completedEvent(id, callbackUrl);
  return [post("/v1/tasks", { id, model, callback_url, ...fields }), post("/v1/events", event)];
}

function post(path: string, body: object, headers: Ask["headers"] = OPERATOR_HEADERS): Ask {
  return { method: "POST", path, headers, body: JSON.stringify(body) };
}
