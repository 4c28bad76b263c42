import { join } from "node:path";
import {
  completedEvent,
  LOCAL_VARS,
  OPERATOR_KEY,
  type Client,
} from "../../test/process/harness/client.ts";
import { Workerd, type WorkerdOptions } from "../../test/process/harness/workerd.ts";
import type { Ask, Served } from "./round.ts";

const ACCOUNT = "bench";
const CREDITS = 3;
const GRANTED = 1_000_000_000;

const JSON_HEADERS = { "Content-Type": "application/json" };
const OPERATOR_HEADERS = { ...JSON_HEADERS, Authorization: `Bearer ${OPERATOR_KEY}` };

/** Starts the bare Worker. @param parent directory of its storage. */
export async function startFloor(parent: string): Promise<Served> {
  const entry = join(import.meta.dirname, "floor-worker.ts");
  return served({ vars: {}, entry, parent }, (id, url) => [
    post("/", completedEvent(id, url), JSON_HEADERS),
  ]);
}

/** Starts a relay whose tasks are created by the events that end them. */
export async function startRelay(parent: string): Promise<Served> {
  return served({ vars: LOCAL_VARS, parent }, eventOnly);
}

/** Starts a relay whose tasks are registered before their event. */
export async function startRegisteringRelay(parent: string): Promise<Served> {
  return served({ vars: LOCAL_VARS, parent }, registered);
}

/** Starts a relay whose tasks are charged to an account. */
export async function startChargingRelay(parent: string): Promise<Served> {
  return served({ vars: LOCAL_VARS, parent }, charged, openAccount);
}

/** Returns the request of a task that only reports its end. */
function eventOnly(id: string, callbackUrl: string): readonly Ask[] {
  return [post("/v1/events", completedEvent(id, callbackUrl))];
}

/** Returns the requests of a task that is registered and then reports its end. */
function registered(id: string, callbackUrl: string): readonly Ask[] {
  const { model, callback_url, ...event } = completedEvent(id, callbackUrl);
  return [post("/v1/tasks", { id, model, callback_url }), post("/v1/events", event)];
}

/** Returns the requests of a task that is charged to the account and then reports its end. */
function charged(id: string, callbackUrl: string): readonly Ask[] {
  const { model, callback_url, ...event } = completedEvent(id, callbackUrl);
  const task = { id, model, callback_url, account: ACCOUNT, credits: CREDITS };
  return [post("/v1/tasks", task), post("/v1/events", event)];
}

/** Creates the account that `charged` charges, with more credits than a run needs. */
async function openAccount(client: Client): Promise<void> {
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

async function served(
  options: WorkerdOptions,
  tasks: Served["tasks"],
  prepare: (client: Client) => Promise<void> = async () => {},
): Promise<Served> {
  const server = await Workerd.start(options);
  await prepare(server.client);
  const pids = server.pid === undefined ? [] : [server.pid];
  return {
    url: server.url,
    pids,
    tasks,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function post(path: string, body: object, headers: Ask["headers"] = OPERATOR_HEADERS): Ask {
  return { method: "POST", path, headers, body: JSON.stringify(body) };
}
