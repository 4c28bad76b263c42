import { randomBytes, randomUUID } from "node:crypto";
import { Webhook } from "svix";
import { vi } from "vitest";
import * as z from "zod";
import { requireDescribed } from "../../description/document.ts";
import { completedEvent, isSettled, Task } from "../harness/client.ts";
import type { Receiver } from "../harness/receiver.ts";
import { whsec } from "./derived.ts";
import {
  CUSTOMER_KEY,
  ENDPOINT_VALUE,
  OPERATOR_KEYS,
  QUERY_TOKEN,
  RECEIVER_TEXT,
  UPSTREAM_KEY,
  WEBHOOK_SECRET,
} from "./values.ts";

const WITHIN_MS = 60_000;
const SUBMIT = "/v1/predictions";
const POLL = `${SUBMIT}/job`;
const JSON_TYPE = { "Content-Type": "application/json" };

export interface Answer {
  /** The caller, the method and the path without the query: `operator GET /v1/tasks/…`. */
  readonly route: string;
  readonly status: number;
  /** Headers and body of the answer, as text. */
  readonly text: string;
  readonly json: unknown;
}

/** The answers of a run over all routes, and the secrets that were created in it. */
export interface Exercise {
  readonly answers: readonly Answer[];
  readonly account: string;
  readonly accountKey: string;
  readonly importedHash: string;
  readonly taskId: string;
  readonly hookToken: string;
  readonly statusToken: string;
}

const PATHS = [
  "/v1/tasks?cursor=1_00000000-0000-0000-0000-000000000000_x",
  "/v1/accounts",
  "/v1/signing-secrets",
  "/v1/stats",
  "/metrics",
  "/healthz",
  "/.well-known/jwks.json",
  "/openapi.json",
  "/docs",
  "/",
  "/v1/nowhere",
  "/.dev.vars",
];
const Key = z.object({ key: z.string(), id: z.string() });
const Registered = z.object({ hook_url: z.string(), status_url: z.string() });

/** Sends requests as every kind of caller. */
class Callers {
  readonly answers: Answer[] = [];
  readonly #url: string;
  readonly #keys: Record<string, string> = {
    operator: OPERATOR_KEYS[0] ?? "",
    older: OPERATOR_KEYS[1] ?? "",
    stranger: `${OPERATOR_KEYS[0]}x`,
  };

  constructor(url: string) {
    this.#url = url;
  }

  addKey(who: string, key: string): void {
    this.#keys[who] = key;
  }

  async ask(who: string, method: string, path: string, body?: unknown): Promise<Answer> {
    const key = this.#keys[who];
    const headers = new Headers(key === undefined ? {} : { Authorization: `Bearer ${key}` });
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return this.send(`${who} ${method} ${path.split("?")[0]}`, path, {
      method,
      headers,
      ...(body !== undefined && { body: text }),
    });
  }

  operator(method: string, path: string, body?: unknown): Promise<Answer> {
    return this.ask("operator", method, path, body);
  }

  async send(route: string, path: string, init: RequestInit): Promise<Answer> {
    const response = await fetch(`${this.#url}${path}`, init);
    const { status, headers } = response;
    const body = await response.text();
    const { method = "GET" } = init;
    requireDescribed({ method, path: path.split("?")[0] ?? "", status, headers, text: body });
    const lines = [...headers].map(([name, value]) => `${name}: ${value}`);
    const isJson = headers.get("Content-Type")?.includes("json") === true && body !== "";
    const json: unknown = isJson ? JSON.parse(body) : null;
    const answer = { route, status, text: [...lines, body].join("\n"), json };
    this.answers.push(answer);
    return answer;
  }

  async settled(id: string): Promise<void> {
    await vi.waitUntil(async () => {
      return isSettled(Task.parse((await this.operator("GET", `/v1/tasks/${id}`)).json));
    }, WITHIN_MS);
  }
}

/** Calls every route with valid and with invalid requests, while receiver and upstream misbehave. */
export async function exercise(url: string, receiver: Receiver): Promise<Exercise> {
  const callers = new Callers(url);
  const callbackUrl = (path: string) => {
    const answer = { kind: "answer", status: 500, body: RECEIVER_TEXT } as const;
    return receiver.at(`${path}?t=${QUERY_TOKEN}`, answer);
  };
  const account = `acct-${randomUUID()}`;
  const importedHash = randomBytes(32).toString("hex");
  await callers.operator("POST", "/v1/accounts", { id: account });
  const path = `/v1/accounts/${account}`;
  const made = Key.parse((await callers.operator("POST", `${path}/keys`, {})).json);
  callers.addKey("account", made.key);
  await callers.operator("POST", `${path}/keys`, { sha256: importedHash });
  await callers.operator("POST", `${path}/grants`, { reference: "one", amount: 9 });
  await callers.operator("POST", `${path}/signing-secrets`, {});

  const taskId = randomUUID();
  const task = { id: taskId, model: "m", provider: "rep", account, credits: 2 };
  const order = { ...task, callback_url: callbackUrl("/first") };
  const registered = await callers.operator("POST", "/v1/tasks", order);
  const { hook_url, status_url } = Registered.parse(registered.json);
  await callers.operator("POST", `/v1/tasks/${taskId}/upstream`, { provider: "rep", id: "job" });
  await failUpstream(callers, receiver, hook_url);
  await callers.settled(taskId);

  const own = await submitWithOwnKey(callers, receiver, callbackUrl("/own"));
  const atEndpoint = await callBackEndpoint(callers, receiver, account);
  const other = randomUUID();
  await callers.operator("POST", "/v1/events", completedEvent(other, callbackUrl("/second")));
  await callers.settled(other);
  const tasks = [taskId, other, own, atEndpoint, `${taskId}?wait=${UPSTREAM_KEY}`].map(
    (id) => `/v1/tasks/${id}`,
  );
  const endpoints = ["/endpoints", "/endpoints/orders"];
  const accounts = ["", "/keys", "/entries", "/signing-secrets", ...endpoints].map(
    (part) => path + part,
  );
  for (const each of [...tasks, ...accounts, ...PATHS]) {
    for (const who of ["operator", "account", "older", "anyone", "stranger"]) {
      await callers.ask(who, "GET", each);
    }
    await callers.operator("PUT", each, "{");
  }
  await callers.ask("account", "POST", `/v1/tasks/${taskId}/redeliver`, {});
  await callers.settled(taskId);
  const test = { callback_url: callbackUrl("/test") };
  await callers.ask("account", "POST", "/v1/callbacks/test", test);
  for (const each of ["/v1/tasks", "/v1/events", "/v1/callbacks/test", "/v1/redeliveries"]) {
    for (const body of ["{", "[]", "null", { unknown: 1 }]) {
      await callers.operator("POST", each, body);
    }
  }
  const statusToken = await followLink(callers, status_url);
  await callers.operator("DELETE", `${path}/keys/${made.id}`);
  await callers.operator("DELETE", `/v1/tasks/${taskId}`);
  const hookToken = hook_url.split("/").at(-1) ?? "";
  return {
    answers: callers.answers,
    account,
    accountKey: made.key,
    importedHash,
    taskId,
    hookToken,
    statusToken,
  };
}

/**
 * Lets a task end whose callback goes to an endpoint with a secret header, which the receiver repeats in its answer, and
 * shows the requests that were sent. @returns the id of the task.
 */
async function callBackEndpoint(
  callers: Callers,
  receiver: Receiver,
  account: string,
): Promise<string> {
  const body = `not with ${ENDPOINT_VALUE}`;
  const url = receiver.at("/endpoint", { kind: "answer", status: 500, body });
  const headers = { Authorization: `Bearer ${ENDPOINT_VALUE}`, "X-Key": ENDPOINT_VALUE };
  await callers.operator("PUT", `/v1/accounts/${account}/endpoints/orders`, { url, headers });
  const id = randomUUID();
  const task = { id, model: "m", account, callback_url: "endpoint:orders" };
  await callers.operator("POST", "/v1/tasks", task);
  await callers.operator("POST", "/v1/events", completedEvent(id, "endpoint:orders"));
  await callers.settled(id);
  const test = { endpoint: "orders" };
  await callers.ask("account", "POST", "/v1/callbacks/test", test);
  for (const who of ["operator", "account"]) {
    await callers.ask(who, "GET", `/v1/tasks/${id}/attempts/1/request`);
  }
  const said = receiver.postsAt("/endpoint").map((post) => post.headers["x-key"]);
  if (!said.includes(ENDPOINT_VALUE)) throw new Error("the endpoint has not got its header");
  return id;
}

/**
 * Submits jobs with a customer's own key, with faults and without; the upstream repeats the key in its answers to the
 * submission and to polls. @returns the id of the task.
 */
async function submitWithOwnKey(
  callers: Callers,
  receiver: Receiver,
  callbackUrl: string,
): Promise<string> {
  const said = `no access for ${CUSTOMER_KEY}`;
  const job = { id: "own", status: "starting", input: {} };
  receiver.at(SUBMIT, {
    kind: "answer",
    status: 201,
    headers: JSON_TYPE,
    body: JSON.stringify({ ...job, said }),
  });
  const failed = JSON.stringify({ ...job, status: "failed", error: said });
  receiver.at(
    `${SUBMIT}/own`,
    { kind: "answer", status: 401, body: said },
    { kind: "answer", status: 200, headers: JSON_TYPE, body: failed },
  );
  const id = randomUUID();
  const submit = (more: Readonly<Record<string, string>>) =>
    callers.send("customer POST /v1/submit", `/v1/submit/rep${SUBMIT}`, {
      method: "POST",
      headers: { "Relay-Key": OPERATOR_KEYS[0] ?? "", "Relay-Task-Id": id, ...more },
      body: JSON.stringify({ version: "v", input: {} }),
    });
  const bearer = { Authorization: `Bearer ${CUSTOMER_KEY}` };
  await submit({ Authorization: `Other ${CUSTOMER_KEY}` });
  await submit({ ...bearer, "x-api-key": CUSTOMER_KEY });
  await submit({ ...bearer, "Relay-Key": CUSTOMER_KEY });
  const named = { ...bearer, "Relay-Callback-Url": callbackUrl };
  await submit(named);
  await submit(named);
  await submit({ ...named, Authorization: `Bearer ${CUSTOMER_KEY}x` });
  const Sent = z.object({ webhook: z.string() });
  const { webhook } = Sent.parse(JSON.parse(receiver.postsAt(SUBMIT).at(-1)?.body ?? ""));
  await callers.send("provider POST /hooks", new URL(webhook).pathname, {
    method: "POST",
    headers: JSON_TYPE,
    body: failed,
  });
  await callers.settled(id);
  return id;
}

/** Reads a settled task with its status token, and with altered ones. @returns its token. */
async function followLink(callers: Callers, statusUrl: string): Promise<string> {
  const { pathname, searchParams } = new URL(statusUrl);
  const token = searchParams.get("token") ?? "";
  callers.addKey("link", token);
  for (const path of [pathname, `${pathname}/events`]) {
    await callers.ask("link", "GET", path);
    for (const given of [token, `${token}x`, token.toUpperCase()]) {
      await callers.ask("anyone", "GET", `${path}?token=${given}`);
      await callers.ask("operator", "GET", `${path}?token=${given}`);
    }
  }
  return token;
}

/** Sends invalid hooks and a valid one; the upstream's answer repeats the credentials of the poll. */
async function failUpstream(callers: Callers, receiver: Receiver, hookUrl: string): Promise<void> {
  const said = `no access for ${UPSTREAM_KEY} with ${WEBHOOK_SECRET} at ${hookUrl}`;
  const failed = JSON.stringify({ id: "job", status: "failed", error: said });
  const empty = JSON.stringify({ id: "job", status: "succeeded", output: null });
  const { pathname } = new URL(hookUrl);
  const hook = async (body: string, { secret = WEBHOOK_SECRET, path = pathname } = {}) => {
    const [id, at] = ["msg_1", new Date()];
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    };
    await callers.send("provider POST /hooks", path, { method: "POST", headers, body });
  };
  receiver.at(
    POLL,
    { kind: "answer", status: 401, body: said },
    { kind: "answer", status: 200, headers: JSON_TYPE, body: failed },
  );
  await hook(failed, { secret: whsec(randomBytes(24)) });
  // The relay polls after a hook that it does not understand.
  await hook(`{"id": "${UPSTREAM_KEY}`);
  await vi.waitUntil(() => receiver.postsAt(POLL).length > 0, WITHIN_MS);
  await hook(failed, { path: `${pathname}x` });
  await hook(empty);
  await hook(failed);
}
