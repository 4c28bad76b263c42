import { randomBytes, randomUUID } from "node:crypto";
import { Webhook } from "svix";
import * as z from "zod";
import { completedEvent } from "../harness/client.ts";
import type { Receiver } from "../harness/receiver.ts";
import { until } from "../harness/until.ts";

const POLLED_WITHIN_MS = 60_000;

/** An answer of the relay, with who asked for it. */
export interface Answer {
  /** `operator GET /v1/tasks/…`, without the query. */
  readonly route: string;
  readonly status: number;
  /** Headers and body, as they came. */
  readonly text: string;
  readonly json: unknown;
}

export interface Tourist {
  readonly url: string;
  readonly operatorKeys: readonly string[];
  readonly upstreamKey: string;
  readonly webhookSecret: string;
  readonly receiver: Receiver;
  /** What the receiver answers, and what a `callback_url` has in its query. */
  readonly receiverWord: string;
  readonly queryWord: string;
}

/** What came to light on the way and is secret too. */
export interface Tour {
  readonly answers: Answer[];
  readonly account: string;
  readonly accountKey: string;
  readonly importedHash: string;
  readonly taskId: string;
  readonly hookToken: string;
}

const Key = z.object({ key: z.string(), id: z.string() });
const Hooked = z.object({ hook_url: z.string() });
const Read = z.object({
  status: z.string(),
  callback: z.object({ status: z.string() }).nullable(),
});

/** Asks for everything, rightly and wrongly, and lets every party misbehave on the way. */
export async function tour(tourist: Tourist): Promise<Tour> {
  const answers: Answer[] = [];
  const { url, operatorKeys, receiver, upstreamKey, webhookSecret } = tourist;
  const [operatorKey = "", olderKey = ""] = operatorKeys;
  const body500 = { kind: "answer", status: 500, body: tourist.receiverWord } as const;
  const callbackUrl = (path: string) => receiver.at(`${path}?t=${tourist.queryWord}`, body500);

  async function ask(who: string, key: string, method: string, path: string, body?: unknown) {
    const headers = new Headers(key === "" ? {} : { Authorization: `Bearer ${key}` });
    const sent =
      body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
    return told(who, method, path, await fetch(`${url}${path}`, { method, headers, ...sent }));
  }

  async function told(who: string, method: string, path: string, response: Response) {
    const text = await response.text();
    const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`);
    const isJson = response.headers.get("Content-Type")?.includes("json") === true && text !== "";
    const answer: Answer = {
      route: `${who} ${method} ${path.split("?")[0]}`,
      status: response.status,
      text: [...lines, text].join("\n"),
      json: isJson ? JSON.parse(text) : null,
    };
    answers.push(answer);
    return answer;
  }

  const operator = (method: string, path: string, body?: unknown) =>
    ask("operator", operatorKey, method, path, body);

  async function settled(id: string): Promise<void> {
    await until(async () => {
      const { json } = await operator("GET", `/v1/tasks/${id}`);
      const { callback } = Read.parse(json);
      return callback?.status === "failed" || callback?.status === "delivered";
    }, POLLED_WITHIN_MS);
  }

  // An account, its keys and secrets.
  const account = `acct-${randomUUID()}`;
  const importedHash = randomBytes(32).toString("hex");
  await operator("POST", "/v1/accounts", { id: account });
  const made = Key.parse((await operator("POST", `/v1/accounts/${account}/keys`, {})).json);
  const imported = { sha256: importedHash };
  await operator("POST", `/v1/accounts/${account}/keys`, imported);
  await operator("POST", `/v1/accounts/${account}/grants`, { reference: "one", amount: 9 });
  await operator("POST", `/v1/accounts/${account}/signing-secrets`, {});
  const client = (method: string, path: string, body?: unknown) =>
    ask("account", made.key, method, path, body);

  // A task whose upstream, when asked, repeats the credentials that it was asked with.
  const said = `no access for ${upstreamKey} with ${webhookSecret} at HOOK_URL`;
  const taskId = randomUUID();
  const asked = { id: taskId, model: "m", provider: "rep", account, credits: 2 };
  const callback_url = callbackUrl("/first");
  const registered = await operator("POST", "/v1/tasks", { ...asked, callback_url });
  const { hook_url } = Hooked.parse(registered.json);
  const hookToken = hook_url.split("/").at(-1) ?? "";
  const hookPath = new URL(hook_url).pathname;
  await operator("POST", `/v1/tasks/${taskId}/upstream`, { provider: "rep", id: "job" });
  const failed = { id: "job", status: "failed", error: said.replace("HOOK_URL", hook_url) };
  const hook = async (path: string, body: string, secret: string) => {
    const id = "msg_1";
    const at = new Date();
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    };
    const response = await fetch(`${url}${path}`, { method: "POST", headers, body });
    return told("provider", "POST", path.replace(hookToken, "TOKEN"), response);
  };
  const wrongSecret = `whsec_${randomBytes(24).toString("base64")}`;
  await hook(hookPath, JSON.stringify(failed), wrongSecret);
  await hook(hookPath, `{"id": "${upstreamKey}`, webhookSecret);
  await hook(`${hookPath}x`, JSON.stringify(failed), webhookSecret);
  const empty = { id: "job", status: "succeeded", output: null };
  receiver.at(
    "/v1/predictions/job",
    { kind: "answer", status: 401, body: said },
    {
      kind: "answer",
      status: 200,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(failed),
    },
  );
  await hook(hookPath, JSON.stringify(empty), webhookSecret);
  await until(() => receiver.postsAt("/v1/predictions/job").length > 0, POLLED_WITHIN_MS);
  await hook(hookPath, JSON.stringify(failed), webhookSecret);
  await settled(taskId);

  // What anyone may see of it afterwards, and every way to be refused.
  const other = randomUUID();
  await operator("POST", "/v1/events", completedEvent(other, callbackUrl("/second")));
  await settled(other);
  const paths = [
    `/v1/tasks/${taskId}`,
    `/v1/tasks/${other}`,
    `/v1/tasks/${taskId}?wait=${upstreamKey}`,
    "/v1/tasks?cursor=1_00000000-0000-0000-0000-000000000000_x",
    "/v1/accounts",
    `/v1/accounts/${account}`,
    `/v1/accounts/${account}/keys`,
    `/v1/accounts/${account}/entries`,
    `/v1/accounts/${account}/signing-secrets`,
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
  for (const path of paths) {
    await operator("GET", path);
    await client("GET", path);
    await ask("older", olderKey, "GET", path);
    await ask("anyone", "", "GET", path);
    await ask("stranger", `${operatorKey}x`, "GET", path);
    await operator("PUT", path, "{");
  }
  await client("POST", `/v1/tasks/${taskId}/redeliver`, {});
  await settled(taskId);
  await client("POST", "/v1/callbacks/test", { callback_url: callbackUrl("/test") });
  for (const path of ["/v1/tasks", "/v1/events", "/v1/callbacks/test", "/v1/redeliveries"]) {
    for (const body of ["{", "[]", "null", { unknown: 1 }]) await operator("POST", path, body);
  }
  await operator("DELETE", `/v1/accounts/${account}/keys/${made.id}`);
  await operator("DELETE", `/v1/tasks/${taskId}`);
  return { answers, account, accountKey: made.key, importedHash, taskId, hookToken };
}
