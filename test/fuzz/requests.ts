import { ROUTES } from "../../src/api/routes.ts";
import type { Choices } from "./choices.ts";
import { HOSTILE_KEYS } from "./hostile.ts";
import { jsonBytes, mutated } from "./mutations.ts";
import { headerText, mutatedOften } from "./text.ts";
import { ACCOUNT_KEY, OPERATOR_KEY, RECORDS, UNKNOWN_ID } from "./world.ts";

/** Who sends it: by a right key, by a wrong one, by a signature that is put on last, or nobody. */
export type Sender = "operator" | "account" | "wrong" | "signed" | "nobody";

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly sender: Sender;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer> | null;
  readonly isIndexed: boolean;
  /** Whether anybody may ask. */
  readonly isOpen: boolean;
}

const CALLBACK_URL = "https://client.example.net/callbacks";
const IDS = [...RECORDS.keys()];
const OUTPUT = { urls: ["https://cdn.example.net/video.mp4"], metadata: { seed: 5, other: [1] } };
const EVENT = { model: "m", callback_url: CALLBACK_URL, account: "acme" };
const BODIES: Readonly<Record<string, (id: string) => object>> = {
  "/v1/tasks": (id) => ({
    id,
    model: "m",
    callback_url: CALLBACK_URL,
    provider: "ark",
    account: "acme",
    credits: 60,
    metadata: { order: "7" },
    deadline_at: 1_792_597_600,
  }),
  "/v1/tasks/{id}/upstream": () => ({ provider: "ark", id: "cgt-1", endpoint: null }),
  "/v1/tasks/{id}/redeliver": () => ({ attempts: 2, callback_url: CALLBACK_URL }),
  "/v1/events": (id) => ({ id, status: "completed", output: OUTPUT, ...EVENT }),
  "/v1/callbacks/test": () => ({ callback_url: CALLBACK_URL }),
  "/v1/accounts": () => ({ id: "acme" }),
  "/v1/accounts/{account}/grants": () => ({ reference: "invoice-2", amount: 5 }),
  "/v1/accounts/{account}/keys": () => ({ label: "production" }),
  "/v1/accounts/{account}/signing-secrets": () => ({ generation: 1 }),
  "/v1/reindex": (id) => ({ ids: [id] }),
};
const HOOKS: readonly object[] = [
  { id: "cgt-1", status: "succeeded", content: { video_url: OUTPUT.urls[0] } },
  { id: "cgt-1", status: "failed", error: { code: "Sensitive", message: "Refused." } },
  { challenge: "abc" },
  { task_id: "cgt-1", status: "Success", video_url: OUTPUT.urls[0] },
];
const QUERIES = [
  "",
  "",
  "?wait=0",
  "?wait=3",
  "?limit=5&cursor=2",
  "?status=failed&callback=failed&since=1792497600",
  "?dry_run=true",
  "?account=acme&provider=ark&host=client.example.net&until=1792597600",
];
const HEADERS: Readonly<Record<string, string>> = {
  "Idempotency-Key": "order-1",
  "If-None-Match": '"1-operator", W/"2-account"',
  Prefer: "respond-async, wait=2",
  "Content-Type": "application/json",
  "Content-Length": "9",
  "X-Request-Id": "request-1",
};
const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];

/** A request to one of the routes whose path `isWanted`, damaged anywhere. */
export function aRequest(
  choices: Choices,
  isWanted: (path: string) => boolean,
  tokens: ReadonlyMap<string, string>,
): SentRequest {
  const route = choices.pick(ROUTES.filter(({ path }) => isWanted(path)));
  const id = choices.pick([...IDS, UNKNOWN_ID]);
  const path = filled(route.path, id, tokens, choices);
  const method = choices.chance(0.03) ? choices.pick(METHODS) : route.method;
  const sender = senderOf(choices);
  return {
    method,
    sender,
    headers: headersOf(sender, choices),
    path: choices.chance(0.1) ? `/${mutatedOften(path.slice(1), choices, 2)}` : path,
    body: method === "GET" || method === "HEAD" ? null : bodyOf(route.path, id, choices),
    isIndexed: choices.chance(0.3),
    isOpen: route.access === "anyone",
  };
}

function senderOf(choices: Choices): Sender {
  if (choices.chance(0.3)) return choices.pick(["account", "wrong", "nobody", "signed"]);
  return "operator";
}

function filled(
  pattern: string,
  id: string,
  tokens: ReadonlyMap<string, string>,
  choices: Choices,
): string {
  const [connection, token] = choices.pick([...tokens]);
  const parts: Readonly<Record<string, string>> = {
    id: choices.chance(0.05) ? encodeURIComponent("not/an id%") : id,
    account: choices.pick(["acme", "acme", "acme", "zen", "%00", "a%2Fb", "%E0%A4%A"]),
    key: choices.pick(["key-1", "key-2", "%ff"]),
    provider: connection.split(" ")[0] ?? "",
    token,
  };
  const isHook = pattern.startsWith("/hooks/");
  const taskId = isHook ? (connection.split(" ")[1] ?? "") : parts["id"];
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === "id" ? (taskId ?? "") : (parts[name] ?? ""),
  );
  const query = choices.pick(QUERIES);
  return path + (choices.chance(0.2) ? mutatedOften(query, choices, 2) : query);
}

function headersOf(sender: Sender, choices: Choices): Headers {
  const headers = new Headers();
  if (choices.chance(0.4)) {
    const [name, value] = choices.pick(Object.entries(HEADERS));
    headers.set(name, headerText(mutatedOften(value, choices, 2)));
  }
  if (sender === "operator") headers.set("Authorization", `Bearer ${OPERATOR_KEY}`);
  if (sender === "account") headers.set("Authorization", `Bearer ${ACCOUNT_KEY}`);
  if (sender === "wrong") headers.set("Authorization", wrongKey(choices));
  return headers;
}

/** Never one of the right ones, whatever was changed. */
function wrongKey(choices: Choices): string {
  const given = headerText(mutatedOften(`Bearer ${OPERATOR_KEY}`, choices, 2)).trim();
  const isRight = given.toLowerCase().endsWith(OPERATOR_KEY);
  return isRight ? "Bearer test-only-operator-kex" : given;
}

function bodyOf(path: string, id: string, choices: Choices): Uint8Array<ArrayBuffer> {
  const valid = path.startsWith("/hooks/") ? choices.pick(HOOKS) : (BODIES[path]?.(id) ?? {});
  const shorter = choices.chance(0.5) ? without(valid, choices) : valid;
  return jsonBytes(mutated(shorter, choices, 2), choices);
}

/** Most fields may be missing. */
function without(valid: object, choices: Choices): object {
  const entries = Object.entries(valid);
  const kept = entries.filter(([name]) => name === "id" || choices.chance(0.6));
  const more = choices.chance(0.05) ? [[choices.pick(HOSTILE_KEYS), 1] as const] : [];
  return Object.fromEntries([...kept, ...more]);
}
