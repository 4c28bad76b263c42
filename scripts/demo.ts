/**
 * Shows a task from the submission of its job to its callback on this machine, with a relay, an upstream and a client
 * that the script starts: the upstream finishes the task while the client is down, and the client gets the
 * callback once it is up. Further tasks, in every state, are then seen in the console; for some of them the
 * script starts the relay a second time. On a terminal the relay and its console then stay open, and with `--open`
 * the console is opened in a browser; otherwise the script ends by itself.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { createDemoClient } from "./demo-client.ts";
import { startDemoUpstream } from "./demo-upstream.ts";
import { openInBrowser } from "./demo/open-in-browser.ts";
import { startReceivers } from "./demo/receivers.ts";
import { relayClient } from "./demo/relay-client.ts";
import {
  finishAfterRestart,
  registerBeforeRestart,
  SETTINGS_AFTER_RESTART,
  SETTINGS_BEFORE_RESTART,
} from "./demo/restarted.ts";
import { ACCOUNT, COMPLETED, createAccount, finish, seed } from "./demo/seed.ts";
import { statesOf } from "./demo/states.ts";
import { fireCron, startClock } from "./dev/clock.ts";
import { startDemoRelay } from "./dev/demo-relay.ts";
import { readDemoOptions, requireFreePort } from "./dev/port.ts";
import { summaryOf } from "./dev/summary.ts";
import { operatorKeyIn } from "./operator-keys.ts";
import { writeSecrets } from "./secrets-files.ts";

const { port, opensConsole } = readDemoOptions(process.argv.slice(2));
const staysOpen = process.stdout.isTTY || opensConsole;
await requireFreePort(port, ["127.0.0.1"], "stop what listens there, or add -- --port N");
writeSecrets();
say(
  "Starting the relay (wrangler dev, storage on disk, attempts 2 s apart instead of 3 and 10 min) …",
);
const upstream = await startDemoUpstream();
const vars = {
  ARK_API_KEY: upstream.key,
  ARK_BASE_URL: upstream.baseUrl,
  CALLBACK_SCHEDULE_S: "0,2,2",
  CALLBACK_TIMEOUT_S: "2",
  ALLOW_LOCAL_CALLBACKS: "true",
  SANDBOX: "true",
  PUBLIC_URL: `http://127.0.0.1:${port}`,
};
const receivers = await startReceivers();
const relay = await startDemoRelay({ ...vars, ...SETTINGS_BEFORE_RESTART }, port);
const operatorKey = operatorKeyOf(readFileSync(join(import.meta.dirname, "../.dev.vars"), "utf8"));
const client = relayClient(relay.origin, operatorKey);
const accountKey = await createAccount(client);
const restarted = await registerBeforeRestart(client, receivers);
say("Starting it again in the middle of an attempt, on the same storage …");
await relay.restart({ ...vars, ...SETTINGS_AFTER_RESTART });
if (staysOpen) console.log(await summaryOf(relay.origin));

const seeding = Promise.all([seed(client, receivers), finishAfterRestart(client, restarted)]);
const shown = await runDemo();
await showStates([shown, ...(await seeding).flat()]);
if (staysOpen) {
  await showConsole();
  say("The relay keeps running until Ctrl-C, and a task ends every 20 s.");
  show("to repair the receiver that is down", `curl ${receivers.down.repairUrl}`);
  const order = { model: "seedance-1-pro", callback_url: receivers.healthy.url };
  setInterval(() => void finish(client, order, COMPLETED).catch(() => {}), 20_000);
  if (opensConsole) openInBrowser(`${relay.origin}/`);
} else {
  say("On a terminal, or with `npm run demo -- --open`, the console then stays open.");
  for (const receiver of Object.values(receivers)) receiver.close();
  await relay.stop();
  process.exit(0);
}

/** Shows the life of one task. @returns its id. */
async function runDemo(): Promise<string> {
  const receiver = await createDemoClient();
  const path = "/v1/submit/ark/contents/generations/tasks";
  const call = { model: "doubao-seedance-2.0", content: [{ type: "text", text: "a cat" }] };
  const named = { "Relay-Callback-Url": receiver.url, "Idempotency-Key": "order-4711" };
  say(
    "1. Your service makes the upstream's own call, but to the relay: it registers a task and submits.",
  );
  show(`POST ${relay.origin}${path}`, call);
  show("headers", named);
  const { id, answer } = await client.submit(path, call, named);
  show("answer of the upstream", answer);
  show("Relay-Task-Id", id);
  show("hook_url that the relay has added to the call", upstream.hookUrl() ?? "none");

  say("2. The upstream posts its unsigned hook, and the relay asks the upstream for the result.");
  say(
    "   The client is down: the first attempt fails, the next waits for 2 s instead of 3 minutes.",
  );
  show(`GET /v1/tasks/${id}`, await client.until(id, /"outcome":/));

  say("3. The client starts, and the second attempt arrives.");
  const { headers, body } = await receiver.start();
  show("headers", headers);
  show("body", body);

  say("4. The client verifies the signature with the standardwebhooks package.");
  const secrets: { callbacks: string[] } = JSON.parse(await client.text("/v1/signing-secrets"));
  new Webhook(secrets.callbacks[0] ?? "").verify(body, headers);
  show("signature", "valid");

  say("5. A client that missed the callback can read the status.");
  show(`GET /v1/tasks/${id}`, await client.until(id, /"status":"delivered"/));
  await receiver.close();
  upstream.close();
  return id;
}

/** Prints the states of the tasks. */
async function showStates(ids: readonly string[]): Promise<void> {
  say("6. The relay now has this task, and others in every state.");
  for (const [name, counts] of Object.entries(await statesOf(client, ids))) {
    const entries: [string, number][] = Object.entries(counts);
    show(name, entries.map(([state, count]) => `${count} ${state}`).join(", "));
  }
}

/**
 * Prints where the console is and the keys that log in. Fires the cron trigger first, which makes the counts that the
 * console shows, and from then on each minute.
 */
async function showConsole(): Promise<void> {
  await fireCron(relay.origin);
  startClock(relay.origin);
  say("7. The console shows them to you and to the account.");
  say("   Its lists get open tasks half a minute after their registration.");
  show("Console", `${relay.origin}/`);
  show("Operator key", operatorKey);
  show(`Key of the account ${ACCOUNT}`, accountKey);
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
