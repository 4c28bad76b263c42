import * as fc from "fast-check";
import type { Route } from "../../src/api/http/route.ts";
import { changed, rarely, weighted } from "./fuzz.ts";
import { jsonBytes, jsonChange } from "./mutations.ts";
import { changedText, headerText } from "./text.ts";
import { ACCOUNT_KEY, OPERATOR_KEY, RECORDS, UNKNOWN_ID } from "./world.ts";

/**
 * Kind of the sender of a request: with a valid key, a wrong key, a signature that is added last, or no
 * credentials.
 */
export type Sender = "operator" | "account" | "wrong" | "signed" | "nobody";

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly sender: Sender;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
  readonly isIndexed: boolean;
  /** True when the route needs no authentication. */
  readonly isOpen: boolean;
}

/** Parts of a hook URL, named as in the path of the route. */
export interface HookToken {
  readonly provider: string;
  readonly id: string;
  readonly token: string;
}

const CALLBACK_URL = "https://client.example.net/callbacks";
const IDS = [...RECORDS.keys()];
const OUTPUT = { urls: ["https://cdn.example.net/video.mp4"], metadata: { seed: 5, other: [1] } };
const EVENT = { model: "m", callback_url: CALLBACK_URL, account: "acme" };
const id = fc.constantFrom(...IDS, UNKNOWN_ID);
const ENDPOINT = { url: CALLBACK_URL, headers: { "X-Token": "a" }, own_secret: true };
const BODIES: Readonly<Record<string, object>> = {
  "/v1/tasks": {
    id,
    model: "m",
    callback_url: CALLBACK_URL,
    provider: "ark",
    account: "acme",
    credits: 60,
    metadata: { order: "7" },
    deadline_at: 1_792_597_600,
  },
  "/v1/tasks/{id}/upstream": { provider: "ark", id: "cgt-1", endpoint: null },
  "/v1/tasks/{id}/redeliver": { attempts: 2, callback_url: CALLBACK_URL },
  "/v1/tasks/{id}/verify": { headers: `webhook-id: msg_${IDS[0]}`, body: "{}", received_at: 1 },
  "/v1/events": { id, status: "completed", output: OUTPUT, ...EVENT },
  "/v1/callbacks/test": { callback_url: CALLBACK_URL },
  "/v1/accounts": { id: "acme" },
  "/v1/accounts/{account}": { tags: ["resellers"], low_balance: 5, monthly_limit: 500 },
  "/v1/accounts/{account}/grants": { reference: "invoice-2", amount: 5 },
  "/v1/accounts/{account}/keys": { label: "production" },
  "/v1/accounts/{account}/signing-secrets": { generation: 1 },
  "/v1/accounts/{account}/endpoints/{endpoint}": ENDPOINT,
  "/v1/accounts/{account}/endpoints/{endpoint}/signing-secrets": { generation: 1 },
  "/v1/endpoints/{endpoint}": ENDPOINT,
  "/v1/endpoints/{endpoint}/signing-secrets": { generation: 1 },
  "/v1/reindex": { ids: [IDS[0]] },
  "/v1/wake": { ids: [IDS[0]] },
};
const HOOKS: readonly object[] = [
  { id: "cgt-1", status: "succeeded", content: { video_url: OUTPUT.urls[0] } },
  { id: "cgt-1", status: "failed", error: { code: "Sensitive", message: "Refused." } },
  { challenge: "abc" },
  { task_id: "cgt-1", status: "Success", video_url: OUTPUT.urls[0] },
];
const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "fuzz", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {
    extensions: { "io.modelcontextprotocol/tasks": {} },
  },
};
const MCP: readonly object[] = [
  ["initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "fuzz" } }],
  ["tools/list", {}],
  ["tools/call", { name: "read_task", arguments: { id: IDS[0], wait: 1 } }],
  ["tools/call", { name: "cancel_task", arguments: { id: IDS[0] } }],
  ["tools/call", { name: "list_tasks", arguments: { limit: 5 }, _meta: META }],
  ["tasks/get", { taskId: IDS[0], _meta: META }],
  ["subscriptions/listen", { notifications: { taskIds: IDS }, _meta: META }],
].map(([method, params]) => ({ jsonrpc: "2.0", id: 1, method, params }));
const QUERIES = [
  "",
  "",
  "?wait=0",
  "?wait=3",
  "?limit=5&cursor=2",
  "?status=failed&callback=failed&since=1792497600",
  "?dry_run=true",
  "?fresh=true",
  "?account=acme&provider=ark&host=client.example.net&until=1792597600",
];
const HEADERS: Readonly<Record<string, string>> = {
  "Idempotency-Key": "order-1",
  "If-None-Match": '"1-operator", W/"2-account"',
  Prefer: "respond-async, wait=2",
  "Content-Type": "application/json",
  "MCP-Protocol-Version": "2026-07-28",
  "Content-Length": "9",
  "X-Request-Id": "request-1",
};
const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];

/**
 * Generates requests to the given routes, with damage at any place. @param tokens tokens of hook URLs, by
 * connection and task id.
 */
export function requestsTo(
  routes: readonly Route[],
  tokens: readonly HookToken[],
): fc.Arbitrary<SentRequest> {
  return fc.oneof(...routes.map((route) => requestTo(route, tokens)));
}

function requestTo(route: Route, tokens: readonly HookToken[]): fc.Arbitrary<SentRequest> {
  const { path, method, access } = route;
  return fc
    .record({
      path: pathOf(path, tokens),
      otherMethod: rarely(3, fc.constantFrom(...METHODS)),
      sender,
      header,
      wrongKey,
      body: bodyOf(path),
      isIndexed: fc.nat(9).map((number) => number < 3),
    })
    .map(({ otherMethod, header: given, wrongKey: wrong, body, ...rest }) => {
      const sent = otherMethod ?? method;
      const keys: Partial<Record<Sender, string>> = {
        operator: `Bearer ${OPERATOR_KEY}`,
        account: `Bearer ${ACCOUNT_KEY}`,
        wrong,
      };
      const key = keys[rest.sender];
      return {
        ...rest,
        method: sent,
        headers: { ...given, ...(key !== undefined && { Authorization: key }) },
        body: sent === "GET" || sent === "HEAD" ? null : body,
        isOpen: access === "anyone",
      };
    });
}

const sender = weighted(
  [7, fc.constant<Sender>("operator")],
  [3, fc.constantFrom<Sender>("account", "wrong", "nobody", "signed")],
);
const header = weighted(
  [6, fc.constant({})],
  ...Object.entries(HEADERS).map(
    ([name, value]) =>
      [1, changedText(value, 2).map((text) => ({ [name]: headerText(text) }))] as const,
  ),
);
/** Generator of damaged operator keys, none of which is valid. */
const wrongKey = changedText(`Bearer ${OPERATOR_KEY}`, 2).map((text) => {
  const key = headerText(text).trim();
  return key.toLowerCase().endsWith(OPERATOR_KEY) ? "Bearer test-only-operator-kex" : key;
});

function pathOf(pattern: string, tokens: readonly HookToken[]): fc.Arbitrary<string> {
  const query = fc.constantFrom(...QUERIES);
  const path = fc
    .record({
      id: weighted([19, id], [1, fc.constant("not%2Fan")]),
      account: fc.constantFrom("acme", "acme", "acme", "zen", "%00", "a%2Fb", "%E0%A4%A"),
      key: fc.constantFrom("key-1", "key-2", "%ff"),
      hook: fc.constantFrom(...tokens),
      query: weighted([4, query], [1, changedText(query, 2)]),
    })
    .map(({ hook, query: text, ...names }) => {
      const parts: object = { ...names, ...(pattern.startsWith("/hooks/") && hook) };
      const fill = (_: string, name: string) => String(Reflect.get(parts, name));
      return pattern.replaceAll(/\{(\w+)\}/g, fill) + text;
    });
  const damaged = changedText(
    path.map((text) => text.slice(1)),
    2,
  ).map((text) => `/${text}`);
  return weighted([9, path], [1, damaged]);
}

/** Generates the JSON text of a body, of which half lack some members and many are damaged. */
function bodyOf(path: string): fc.Arbitrary<Uint8Array<ArrayBuffer>> {
  const ofRoute = path === "/mcp" ? MCP : [BODIES[path] ?? {}];
  const valid = path.startsWith("/hooks/") ? HOOKS : ofRoute;
  const bodies = valid.flatMap((body) => {
    const members = Object.entries(body).map(([name, value]) => [
      name,
      value === id ? id : fc.constant<unknown>(value),
    ]);
    const model: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(members);
    const requiredKeys = "id" in body ? ["id"] : [];
    return [fc.record(model), fc.record(model, { requiredKeys })];
  });
  return jsonBytes(changed(fc.oneof(...bodies), jsonChange, 2));
}
