import { createHash, randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import * as z from "zod";
import OPENAPI from "../../../openapi.json" with { type: "json" };
import { requireDescribed } from "../../description/document.ts";
import { type Client, completedEvent, LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { startRelay } from "../harness/relay.ts";
import { Workerd } from "../harness/workerd.ts";

type Step = readonly [
  method: string,
  path: string,
  body?: object | undefined,
  headers?: Record<string, string>,
];

const Key = z.object({ id: z.string(), key: z.string() });
const Registered = z.object({ hook_url: z.string() });
const SHA256 = createHash("sha256").update(randomUUID()).digest("hex");
const STRANGER = { Authorization: "Bearer nobody" };
const [OPEN, DONE, NONE] = [randomUUID(), randomUUID(), randomUUID()] as const;
const ACCOUNT = "/v1/accounts/acme";
const VARS = { ...LOCAL_VARS, SANDBOX: "true", MAX_BODY_KB: "8", FAL_USER_ID: "user-1" };

const READS = ["tasks", "accounts", "stats", "problems", "hosts", "signing-secrets"].flatMap(
  (path): Step[] => [
    ["GET", `/v1/${path}`],
    ["GET", `/v1/${path}`, undefined, STRANGER],
  ],
);
const PAGES = ["/openapi.json", "/healthz", "/.well-known/jwks.json"].map((path): Step => [
  "GET",
  path,
]);
const BOOKINGS = [9, 9, 8].flatMap((amount): Step[] => [
  ["POST", `${ACCOUNT}/grants`, { reference: "one", amount }],
  ["POST", `${ACCOUNT}/adjustments`, { reference: "two", amount, reason: "r" }],
]);
const LEDGERS = ["", "/grants", "/entries", "/entries?format=csv", "/entries?format=jsonl"].flatMap(
  (part): Step[] => [
    ["GET", `${ACCOUNT}${part}`],
    ["GET", `/v1/accounts/nobody${part}`],
  ],
);
const JOB = { provider: "fal", id: "job-1", endpoint: "fal-ai/veo3" };

it("an independent JSON Schema validator finds that the relay's responses, of at least forty pairs of operation and status, match openapi.json", async () => {
  await using receiver = await Receiver.start();
  await using relay = await startRelay({ vars: VARS });
  const pairs = new Set<string | null>();
  const askAt = async (client: Client, ...[method, path, body, sent = {}]: Step) => {
    const response = await client.send(method, path, body, { headers: sent });
    const { status, headers } = response;
    const text = await response.text();
    const [plain = ""] = path.split("?");
    pairs.add(requireDescribed({ method, path: plain, status, headers, text }));
    const isJson = headers.get("Content-Type") === "application/json";
    return { headers, json: isJson ? (JSON.parse(text) as unknown) : null };
  };
  const ask = (...step: Step) => askAt(relay.client, ...step);
  const askAll = async (...steps: readonly Step[]) => {
    for (const step of steps) await ask(...step);
  };
  const callback_url = receiver.at("/done", { kind: "answer", status: 204 });

  await askAll(...PAGES, ...READS);
  expect((await ask("GET", "/openapi.json")).json).toEqual(OPENAPI);
  await askAll(
    ["POST", "/v1/accounts", { id: "acme" }],
    ["POST", "/v1/accounts", { id: "acme" }],
    ["POST", "/v1/accounts", {}],
    ["POST", `${ACCOUNT}/keys`, { sha256: SHA256 }],
    ["POST", `${ACCOUNT}/keys`, { sha256: SHA256, role: "read" }],
    ...BOOKINGS,
    ...LEDGERS,
    ["GET", `${ACCOUNT}/keys`],
    ["GET", `${ACCOUNT}/signing-secrets`],
    ["POST", `${ACCOUNT}/signing-secrets`, {}],
  );
  const { id: keyId, key } = Key.parse((await ask("POST", `${ACCOUNT}/keys`, {})).json);
  const asAccount = { Authorization: `Bearer ${key}` };

  const task = { id: OPEN, model: "m", account: "acme", credits: 1, callback_url, provider: "fal" };
  const registered = await ask("POST", "/v1/tasks", task);
  const hook = new URL(Registered.parse(registered.json).hook_url).pathname;
  await askAll(
    ["POST", "/v1/tasks", task],
    ["POST", "/v1/tasks", { ...task, model: "other" }],
    ["POST", "/v1/tasks", { ...task, id: NONE, credits: 1000 }],
    ["POST", "/v1/tasks", { ...task, id: NONE, account: "nobody" }],
    ["POST", "/v1/tasks", task, asAccount],
    ["POST", "/v1/tasks", { model: "x".repeat(9000) }],
    ["POST", "/v1/tasks", { model: "m" }, { "Idempotency-Key": "k" }],
    ["POST", "/v1/tasks", { model: "n" }, { "Idempotency-Key": "k" }],
  );
  const read = await ask("GET", `/v1/tasks/${OPEN}`, undefined, asAccount);
  const unchanged = { ...asAccount, "If-None-Match": read.headers.get("ETag") ?? "" };
  await askAll(
    ["GET", `/v1/tasks/${OPEN}`, undefined, unchanged],
    ["GET", `/v1/tasks/${OPEN}?wait=x`],
    ["GET", `/v1/tasks/${NONE}`],
    ["POST", `/v1/tasks/${OPEN}/upstream`, JOB],
    ["POST", `/v1/tasks/${NONE}/upstream`, JOB],
    ["POST", `/v1/tasks/${OPEN}/upstream`, {}],
    ["POST", hook, { request_id: "job-1", status: "IN_QUEUE" }],
    ["POST", `${hook.slice(0, -1)}_`, {}],
    ["POST", `/v1/tasks/${OPEN}/cancel`],
    ["POST", `/v1/tasks/${OPEN}/cancel`],
    ["POST", `/v1/tasks/${NONE}/cancel`],
    ["POST", `/v1/tasks/${OPEN}/upstream`, JOB],
  );

  const event = completedEvent(DONE, callback_url);
  await askAll(
    ["POST", "/v1/events", event],
    ["POST", "/v1/events", event],
    ["POST", "/v1/events", { ...event, output: { urls: ["https://example.com/other"] } }],
    ["POST", "/v1/events", { id: NONE, status: "processing" }],
    ["POST", "/v1/events", { id: NONE }],
  );
  await relay.client.settled(DONE);
  await askAll(
    ["GET", `/v1/tasks/${DONE}`],
    ["POST", `/v1/tasks/${DONE}/redeliver`],
    ["POST", `/v1/tasks/${NONE}/redeliver`],
  );
  await relay.client.settled(DONE);
  await askAll(
    ["POST", "/v1/callbacks/test", { callback_url }],
    ["POST", "/v1/callbacks/test", { callback_url: "no URL" }],
    ["DELETE", `/v1/tasks/${DONE}`],
    ["DELETE", `/v1/tasks/${NONE}`],
    ["DELETE", `${ACCOUNT}/keys/${keyId}`],
    ["DELETE", `${ACCOUNT}/keys/${NONE}`],
    ["DELETE", `${ACCOUNT}?force=true`],
  );
  await using unset = await Workerd.start({ vars: { ...VARS, RELAY_SECRET: "" } });
  for (const path of [...PAGES.map(([, page]) => page), "/v1/tasks"]) {
    await askAt(unset.client, "GET", path);
  }

  expect(pairs).not.toContain(null);
  expect(pairs.size).toBeGreaterThanOrEqual(40);
});
