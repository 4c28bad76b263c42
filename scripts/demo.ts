/**
 * Shows the whole way of a task on this machine, with a relay, an upstream and a client that the script
 * starts: the upstream finishes the task while the client is down, and the client gets the callback once it
 * is up.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { createDemoClient } from "./demo-client.ts";
import { startDemoUpstream, submit } from "./demo-upstream.ts";
import { startDemoRelay } from "./dev/demo-relay.ts";
import { readPort, requireFreePort } from "./dev/port.ts";
import { summaryOf } from "./dev/summary.ts";
import { operatorKeyIn } from "./operator-keys.ts";
import { writeSecrets } from "./secrets-files.ts";

const port = readPort(process.argv.slice(2));
await requireFreePort(port, ["127.0.0.1"], "stop what listens there, or add -- --port N");
writeSecrets();
say("Starting the relay (wrangler dev, storage on disk, schedule 0, 2, 4 s) …");
const upstream = await startDemoUpstream();
const vars = {
  ARK_API_KEY: upstream.key,
  ARK_BASE_URL: upstream.baseUrl,
  CALLBACK_SCHEDULE_S: "0,2,4",
  CALLBACK_TIMEOUT_S: "5",
  ALLOW_LOCAL_CALLBACKS: "true",
};
const relay = await startDemoRelay(vars, port);
const operatorKey = operatorKeyOf(readFileSync(join(import.meta.dirname, "../.dev.vars"), "utf8"));
console.log(await summaryOf(relay.origin));

await runDemo();
if (process.stdout.isTTY) {
  say("The relay keeps running until Ctrl-C:");
  show("for example", `curl ${relay.origin}/healthz -H "Authorization: Bearer ${operatorKey}"`);
} else {
  await relay.stop();
  process.exit(0);
}

async function runDemo(): Promise<void> {
  const client = await createDemoClient();
  const order = { model: "doubao-seedance-2.0", provider: "ark", callback_url: client.url };
  say("1. Your service registers a task and submits it with the hook URL to a local upstream.");
  show(`POST ${relay.origin}/v1/tasks`, order);
  const { id, hook_url }: { id: string; hook_url: string } = await post("/v1/tasks", order);
  show("hook_url", hook_url);
  const job = { provider: "ark", id: await submit(upstream, hook_url) };
  show(`POST ${relay.origin}/v1/tasks/${id}/upstream`, job);
  await post(`/v1/tasks/${id}/upstream`, job);

  say("2. The upstream posts its unsigned hook, and the relay polls it with the API key.");
  say("   The client is down: the immediate first attempt fails, and the next is scheduled.");
  show(`GET /v1/tasks/${id}`, await readUntil(id, /"outcome":/));

  say("3. The client starts, and the second attempt arrives.");
  const { headers, body } = await client.start();
  show("headers", headers);
  show("body", body);

  say("4. The client verifies the signature with the standardwebhooks package.");
  const secrets: { callbacks: string[] } = JSON.parse(await text("/v1/signing-secrets"));
  new Webhook(secrets.callbacks[0] ?? "").verify(body, headers);
  show("signature", "valid");

  say("5. A client that missed the callback can read the status.");
  show(`GET /v1/tasks/${id}`, await readUntil(id, /"status":"delivered"/));
  await client.close();
  upstream.close();
}

async function readUntil(id: string, wanted: RegExp): Promise<unknown> {
  for (let tries = 0; tries < 100; tries++) {
    const task = await text(`/v1/tasks/${id}`);
    if (wanted.test(task)) return JSON.parse(task);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`task ${id} did not reach ${wanted.source} within 10 s`);
}

async function post<T>(path: string, body: object): Promise<T> {
  const response = await call(path, { method: "POST", body: JSON.stringify(body) });
  return JSON.parse(await response.text());
}

async function text(path: string): Promise<string> {
  return (await call(path, {})).text();
}

async function call(path: string, init: RequestInit): Promise<Response> {
  const headers = { Authorization: `Bearer ${operatorKey}` };
  const response = await fetch(relay.origin + path, { ...init, headers });
  if (response.ok) return response;
  throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
}

function operatorKeyOf(devVars: string): string {
  const key = operatorKeyIn(devVars, "administer");
  if (key === null) throw new Error(".dev.vars has no key with the role all in OPERATOR_KEYS");
  return key;
}

function say(line: string): void {
  console.log(`\n${line}`);
}

function show(name: string, value: unknown): void {
  const lines = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  console.log(`   ${name}: ${lines.replaceAll("\n", "\n   ")}`);
}
