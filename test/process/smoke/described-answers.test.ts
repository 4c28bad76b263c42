import { createHash, randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import * as z from "zod";
import { requireDescribed } from "../../description/document.ts";
import { completedEvent, LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";

const Key = z.object({ id: z.string(), key: z.string() });
const Registered = z.object({ hook_url: z.string() });
const SHA256 = createHash("sha256").update(randomUUID()).digest("hex");

it("at least forty answers of different operations and statuses are as openapi.json describes them for a JSON-schema engine that is not ours", async () => {
  await using receiver = await Receiver.start();
  const vars = { ...LOCAL_VARS, SANDBOX: "true", MAX_BODY_KB: "8", FAL_USER_ID: "user-1" };
  await using relay = await Workerd.start({ vars });
  const pairs = new Set<string | null>();
  const ask = async (method: string, path: string, body?: object, headers = {}) => {
    const response = await relay.client.send(method, path, body, { headers });
    const text = await response.text();
    const [plain = ""] = path.split("?");
    const { status, headers: received } = response;
    pairs.add(requireDescribed({ method, path: plain, status, headers: received, text }));
    const isJson = received.get("Content-Type") === "application/json";
    return { headers: received, json: isJson ? (JSON.parse(text) as unknown) : null };
  };
  const stranger = { Authorization: "Bearer nobody" };
  const callback_url = receiver.at("/done", { kind: "answer", status: 204 });
  const [open, done, none] = [randomUUID(), randomUUID(), randomUUID()];

  for (const path of ["/healthz", "/.well-known/jwks.json", "/openapi.json", "/docs/errors"]) {
    await ask("GET", path);
  }
  for (const path of ["tasks", "accounts", "stats", "problems", "hosts", "signing-secrets"]) {
    await ask("GET", `/v1/${path}`);
    await ask("GET", `/v1/${path}`, undefined, stranger);
  }

  await ask("POST", "/v1/accounts", { id: "acme" });
  await ask("POST", "/v1/accounts", { id: "acme" });
  await ask("POST", "/v1/accounts", {});
  const created = await ask("POST", "/v1/accounts/acme/keys", {});
  const { id: keyId, key } = Key.parse(created.json);
  const asAccount = { Authorization: `Bearer ${key}` };
  await ask("POST", "/v1/accounts/acme/keys", { sha256: SHA256 });
  await ask("POST", "/v1/accounts/acme/keys", { sha256: SHA256, role: "read" });
  const grant = { reference: "one", amount: 9 };
  for (const amount of [9, 9, 8]) {
    await ask("POST", "/v1/accounts/acme/grants", { ...grant, amount });
    await ask("POST", "/v1/accounts/acme/adjustments", { reference: "two", amount, reason: "r" });
  }
  for (const part of ["", "/grants", "/entries", "/entries?format=csv", "/entries?format=jsonl"]) {
    await ask("GET", `/v1/accounts/acme${part}`);
    await ask("GET", `/v1/accounts/nobody${part}`);
  }
  for (const part of ["/keys", "/signing-secrets"]) await ask("GET", `/v1/accounts/acme${part}`);
  await ask("POST", "/v1/accounts/acme/signing-secrets", {});
  await ask("POST", "/v1/accounts/acme/grants", grant, asAccount);

  const task = { id: open, model: "m", account: "acme", credits: 1, callback_url, provider: "fal" };
  const registered = await ask("POST", "/v1/tasks", task);
  const hookPath = new URL(Registered.parse(registered.json).hook_url).pathname;
  await ask("POST", "/v1/tasks", task);
  await ask("POST", "/v1/tasks", { ...task, model: "other" });
  await ask("POST", "/v1/tasks", { ...task, id: randomUUID(), credits: 1000 });
  await ask("POST", "/v1/tasks", { ...task, id: randomUUID(), account: "nobody" });
  await ask("POST", "/v1/tasks", task, asAccount);
  await ask("POST", "/v1/tasks", { model: "x".repeat(9000) });
  for (const model of ["m", "n"]) {
    await ask("POST", "/v1/tasks", { model }, { "Idempotency-Key": "k" });
  }
  const read = await ask("GET", `/v1/tasks/${open}`, undefined, asAccount);
  const unchanged = { ...asAccount, "If-None-Match": read.headers.get("ETag") ?? "" };
  await ask("GET", `/v1/tasks/${open}`, undefined, unchanged);
  await ask("GET", `/v1/tasks/${open}?wait=x`);
  await ask("GET", `/v1/tasks/${none}`);
  const job = { provider: "fal", id: "job-1", endpoint: "fal-ai/veo3" };
  for (const id of [open, none]) await ask("POST", `/v1/tasks/${id}/upstream`, job);
  await ask("POST", `/v1/tasks/${open}/upstream`, {});
  await ask("POST", hookPath, { request_id: "job-1", status: "IN_QUEUE" });
  await ask("POST", `${hookPath.slice(0, -1)}_`, {});
  for (const id of [open, open, none]) await ask("POST", `/v1/tasks/${id}/cancel`);
  await ask("POST", `/v1/tasks/${open}/upstream`, job);

  const event = completedEvent(done, callback_url);
  await ask("POST", "/v1/events", event);
  await ask("POST", "/v1/events", event);
  await ask("POST", "/v1/events", { ...event, output: { urls: ["https://example.com/other"] } });
  await ask("POST", "/v1/events", { id: none, status: "processing" });
  await ask("POST", "/v1/events", { id: none });
  await relay.client.settled(done);
  await ask("GET", `/v1/tasks/${done}`);
  for (const id of [done, none]) await ask("POST", `/v1/tasks/${id}/redeliver`);
  await relay.client.settled(done);
  await ask("POST", "/v1/callbacks/test", { callback_url });
  await ask("POST", "/v1/callbacks/test", { callback_url: "no URL" });
  for (const id of [done, none]) await ask("DELETE", `/v1/tasks/${id}`);
  for (const id of [keyId, none]) await ask("DELETE", `/v1/accounts/acme/keys/${id}`);
  await ask("DELETE", "/v1/accounts/acme?force=true");
  await relay.restart({ ...vars, RELAY_SECRET: "" });
  for (const path of ["/healthz", "/v1/tasks", "/.well-known/jwks.json"]) await ask("GET", path);

  expect(pairs).not.toContain(null);
  expect(pairs.size).toBeGreaterThanOrEqual(40);
});
