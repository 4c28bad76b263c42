import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { refusalOf } from "../../../scripts/deploy/failures.ts";
import { waitForHealth } from "../../../scripts/deploy/health.ts";
import { optionsOf } from "../../../scripts/deploy/options.ts";
import {
  addressOf,
  requireAccount,
  secretsOf,
  secretsToSend,
} from "../../../scripts/deploy/plan.ts";
import { hasPublicUrl, publicOrigin } from "../../../scripts/deploy/public-url.ts";
import { Refusal } from "../../../scripts/deploy/refusal.ts";
import { openTunnel } from "../../../scripts/deploy/tunnel.ts";
import { Relay } from "../../../scripts/doctor/relay.ts";
import { ENVIRONMENTS } from "../../../scripts/environments.ts";
import { LoopbackServer } from "../harness/loopback.ts";
import { closedPort } from "../harness/receiver.ts";

const { production } = ENVIRONMENTS;
const SECRET = "deploy-test-secret-0123456789abcdef-0123456789";
const FILE = `RELAY_SECRET="${SECRET}"\nOPERATOR_KEYS="deploy-test-operator-key"\n`;
const SETTINGS = { name: "task-relay", vars: {}, bindings: ["INDEX_DB"], accountId: null };

it.each([
  ["an unknown environment", "--env staging"],
  ["a callback receiver that is no URL", "--to hook"],
  ["a relay's address without http", "--url relay.example.com"],
  ["a time to wait that is no number", "--wait soon"],
  ["an unknown option", "--force"],
])("npm run deploy:first refuses %s: %s", (_, args) => {
  expect(optionsOf(args.split(" "))).toBeNull();
});

it.each([
  [
    "is missing",
    null,
    "There is no file .secrets. Cure: npm run setup, then run this command again",
  ],
  ["has no RELAY_SECRET", FILE.replace(/.*\n/, ""), ".secrets has no RELAY_SECRET. Cure: "],
  ["has no value of OPERATOR_KEYS", FILE.replace(/deploy-test-op.*"/, '"'), "no OPERATOR_KEYS"],
  [
    "has only an operator key with the role read",
    FILE.replace('S="', 'S="read:'),
    "with the role all",
  ],
])(
  "npm run deploy:first stops before any request when the file of secrets %s",
  (_, content, said) => {
    expect(() => secretsOf(content, production)).toThrow(said);
  },
);

const ACCOUNTS = [
  { id: "a1", name: "One" },
  { id: "b2", name: "Two" },
];

it("npm run deploy:first uses the login's only account; of several accounts it uses the one in CLOUDFLARE_ACCOUNT_ID, or else lists them and stops", () => {
  const login = { loggedIn: true, accounts: ACCOUNTS };
  expect(requireAccount({ ...login, accounts: ACCOUNTS.slice(0, 1) }, null)).toBe("One (a1)");
  expect(requireAccount(login, "b2")).toBe("b2");
  expect(() => requireAccount(login, null)).toThrow(
    "The login has several accounts. Cure: set CLOUDFLARE_ACCOUNT_ID to one of a1 (One), b2 (Two)",
  );
});

it("npm run deploy:first sends those secrets of the file of secrets that the Worker lacks, and never replaces one", () => {
  const secrets = secretsOf(`${FILE}ARK_API_KEY="ark"\n`, production);
  const deployed = new Set(["RELAY_SECRET", "OPERATOR_KEYS"]);
  expect(secretsToSend(secrets, deployed)).toEqual({ ARK_API_KEY: "ark" });
});

const PRINTED = ["schedule: */10 * * * *", "https://task-relay.me.workers.dev"];

it.each([
  ["--url", "https://given.example.com", "https://public.example.com", "https://given.example.com"],
  ["PUBLIC_URL", null, "https://public.example.com", "https://public.example.com"],
  ["wrangler's output", null, undefined, "https://task-relay.me.workers.dev"],
])(
  "npm run deploy:first takes the relay's address from --url, or else PUBLIC_URL, or else wrangler's output: here from %s",
  (_, given, PUBLIC_URL, expected) => {
    const url = given === null ? null : new URL(given);
    const settings = { ...SETTINGS, vars: { PUBLIC_URL } };
    expect(addressOf(url, settings, PRINTED)?.origin).toBe(expected);
  },
);

const SECRETS = secretsOf(FILE, production);

it.each([
  ["yes, as a variable", { PUBLIC_URL: "https://a.example.com" }, SECRETS, [], true],
  [
    "yes, as a secret of the file",
    {},
    secretsOf(`${FILE}PUBLIC_URL="https://b.c"\n`, production),
    [],
    true,
  ],
  ["yes, as a secret that the Worker has", {}, SECRETS, ["PUBLIC_URL"], true],
  ["no, if nothing sets it", {}, SECRETS, ["RELAY_SECRET"], false],
  ["no, if the variable is blank", { PUBLIC_URL: " " }, SECRETS, [], false],
])(
  "whether npm run deploy:first finds a PUBLIC_URL in the variables, the file of secrets or the Worker's secrets: %s",
  (_, vars, secrets, names, expected) => {
    const settings = { ...SETTINGS, vars };
    expect(hasPublicUrl({ settings, secrets, secretNames: new Set(names) })).toBe(expected);
  },
);

const DOMAIN = "relay.example.com (custom domain - zone id: 0)";

it.each([
  ["the address in --url", "https://given.example.com/x", PRINTED, "https://given.example.com"],
  [
    "the address under workers.dev instead of a local one in --url",
    "http://127.0.0.1:8787",
    PRINTED,
    "https://task-relay.me.workers.dev",
  ],
  ["the custom domain", null, [...PRINTED, DOMAIN], "https://relay.example.com"],
  ["the address under workers.dev", null, PRINTED, "https://task-relay.me.workers.dev"],
  ["nothing, because no address is known", null, PRINTED.slice(0, 1), null],
])(
  "npm run deploy:first stores as PUBLIC_URL a public --url, or else the custom domain, or else the workers.dev address: here %s",
  (_, given, targets, expected) => {
    expect(publicOrigin(given === null ? null : new URL(given), targets)).toBe(expected);
  },
);

const API = "A request to the Cloudflare API (/accounts/a/workers/scripts/task-relay) failed.";

it.each([
  [
    "permission for Workers",
    `${API}\n  Authentication error [code: 10000]`,
    "the template Edit Cloudflare Workers",
  ],
  ["permission for D1", 'INDEX_DB bindings must have a "database_id" field.', "D1: Edit"],
  [
    "workers.dev subdomain",
    "either routes, or register a workers.dev subdomain here:\n  https://dash.cloudflare.com/a",
    "open the page above",
  ],
  ["CPU limit on the Free plan", `${API}\n  CPU limits [code: 100328]`, "--plan free"],
  ["network", "fetch failed", "connection to the internet"],
])(
  "npm run deploy:first turns an error of wrangler about the %s into one line with its cure",
  (_, error, cure) => {
    const stderr = `▲ [WARNING] several\n\n✘ [ERROR] ${error}\n\n🪵  Logs were written to "/x"\n`;
    const run = { isSuccess: false, stdout: "", stderr, notes: [] };
    const { message } = refusalOf("Not deployed", run);
    expect(message).toMatch(/^Not deployed: \S.*\. Cure: .+$/);
    expect(message).toContain(cure);
    expect(message).not.toContain("WARNING");
  },
);

it("npm run deploy:first prints where wrangler's log is when it knows no cure for an error of wrangler", () => {
  const notes = [{ type: "wrangler-session", log_file_path: "/tmp/wrangler.log" }];
  const stderr = "✘ [ERROR] Something new [code: 1]\n";
  const run = { isSuccess: false, stdout: "", stderr, notes };
  expect(refusalOf("Not deployed", run).message).toBe(
    "Not deployed: Something new [code: 1]. Cure: read /tmp/wrangler.log",
  );
});

const WAIT = { waitMs: 0, secretsFile: ".secrets" };
const healthOf = (answer: object) => ({ status: 200, id: "r-1", body: JSON.stringify(answer) });
const CONFIGURATION = {
  ALLOW_LOCAL_CALLBACKS: false,
  PAUSED: true,
  PLAN: "paid",
  PUBLIC_URL: null,
  OUTPUTS: false,
  OUTPUTS_URL: null,
  OUTPUT_DAYS: 7,
  secrets: {},
};
const HEALTHY = {
  status: "ok",
  version: "v2",
  configuration: CONFIGURATION,
  connections: {},
  disabled: [],
  without_key: {},
};
const UNCONFIGURED = {
  status: 503,
  id: "r-1",
  body: '{"issues": [{"path": "RELAY_SECRET", "message": "is required"}]}',
};

/** Waits for the health of a relay that answers so to `/healthz`; null closes its port. */
async function health(answer: { status: number; id?: string; body: string } | null) {
  if (answer === null) return waitForHealth(new Relay(await closedPort(), "key"), null, WAIT);
  await using server = await new LoopbackServer((_, response) => {
    const headers = answer.id === undefined ? {} : { "X-Request-Id": answer.id };
    response.writeHead(answer.status, headers).end(answer.body);
  }).listen();
  return await waitForHealth(new Relay(server.origin, "key"), "v2", WAIT);
}

it("npm run deploy:first reports a relay as healthy when the deployed version shows the operator its configuration", async () => {
  const state = { kind: "healthy", allowsLocalCallbacks: false, isPaused: true };
  expect(await health(healthOf(HEALTHY))).toEqual(state);
});

it.each([
  ["nothing answers", null, "was not healthy within 0 s: ECONNREFUSED. Cure: "],
  ["another server answers", { status: 404, body: "nginx" }, "with 404 by another server"],
  ["an earlier version answers", healthOf({ ...HEALTHY, version: "v1" }), "another version"],
  ["the relay is not configured", UNCONFIGURED, "configuration: RELAY_SECRET is required"],
  ["the relay refuses the key", healthOf({ status: "ok", version: "v2" }), "has other secrets"],
])("npm run deploy:first says in one line what is wrong when %s", async (_, answer, said) => {
  const failed = health(answer);
  await expect(failed).rejects.toThrow(Refusal);
  await expect(failed).rejects.toThrow(said);
  await expect(failed).rejects.toThrow(/^http:\S+ .+\. Cure: .+$/);
});

/** Returns the id of the process that has written it at the beginning of a file. */
function pidIn(file: string): number {
  return Number.parseInt(readFileSync(file, "utf8"), 10);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it("npm run deploy:first opens a tunnel with cloudflared and closes it at the end, and goes on without one when cloudflared is missing or prints no address", async () => {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-tunnel-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const cloudflared = join(directory, "cloudflared");
  const address = "https://three-odd-words.trycloudflare.com";
  const told = `${cloudflared}.told`;
  const script = `#!/bin/sh\necho "$$ $@" > ${told}\necho "INF | ${address} |" >&2\nexec sleep 60\n`;
  writeFileSync(cloudflared, script);
  chmodSync(cloudflared, 0o755);
  {
    await using tunnel = await openTunnel(cloudflared, 3000);
    expect(tunnel?.url).toBe(address);
    expect(isAlive(pidIn(told))).toBe(true);
  }
  expect(readFileSync(told, "utf8")).toContain(" --url http://127.0.0.1:3000\n");
  expect(isAlive(pidIn(told))).toBe(false);
  writeFileSync(cloudflared, "#!/bin/sh\nexit 1\n");
  expect(await openTunnel(cloudflared, 3000)).toBeNull();
  expect(await openTunnel(join(directory, "absent"), 3000)).toBeNull();
});
