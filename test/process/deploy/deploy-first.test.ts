import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, expect, it } from "vitest";
import { edit } from "../../../scripts/setup/edit.ts";
import { LOCAL_VARS, SECRETS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Workerd } from "../harness/workerd.ts";
import { Checkout } from "../readme/checkout.ts";
import {
  CRON,
  database,
  DEFERRED,
  domains,
  MIGRATIONS,
  OBSERVABILITY,
  schedules,
  script,
  secretBindings,
  subdomain,
  upload,
  version,
} from "./expected-changes.ts";
import { FakePlatform } from "./fake-platform.ts";
import { startDeployment } from "./start-deployment.ts";

const relay = await forThisFile(Workerd.start({ vars: LOCAL_VARS }));
const clone = new Checkout();
const home = join(clone.directory, ".home");
const shipped = readFileSync(join(clone.directory, "wrangler.toml"), "utf8");
let platform: FakePlatform;

afterAll(() => clone[Symbol.dispose]());

beforeEach(async () => {
  platform = await new FakePlatform().listen();
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home);
  write("wrangler.toml", shipped);
  for (const file of [".secrets", ".secrets.preview"]) write(file, secretsFile());
  return () => platform[Symbol.asyncDispose]();
});

/** Finds the temporary files in which secrets are passed to wrangler. */
const temporary = () => globSync("task-relay-deploy-*/secrets.json", { cwd: home });

const read = (file: string) => readFileSync(join(clone.directory, file), "utf8");

const write = (file: string, content: string) =>
  writeFileSync(join(clone.directory, file), content);

function secretsFile(secrets: Readonly<Record<string, string>> = SECRETS): string {
  return Object.entries(secrets)
    .map(([name, value]) => `${name}="${value}"\n`)
    .join("");
}

const start = (command: readonly string[], token = "token") =>
  startDeployment(command, { directory: clone.directory, home, api: platform.origin, token });

const run = (command: readonly string[], token?: string) => start(command, token).ended;

const deployFirst = (args: readonly string[] = [], token = "token") =>
  run(["scripts/deploy-first.ts", "--url", relay.url, ...args], token);

it("npm run deploy:first deploys the relay, delivers a verified callback, reuses the database of an earlier refused run, and never replaces a secret", async () => {
  platform.refused = {
    request: "PUT workers/scripts/task-relay",
    status: 403,
    code: 100328,
    message: "CPU limits are not supported for the Free plan",
  };
  const refused = await deployFirst();
  expect([refused.status, refused.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^Not deployed: .*CPU limits are not supported.*\[code: 100328\]\. Cure: npm run setup -- --plan free, .*\n$/,
    ),
  ]);
  expect(platform.takeChanges()).toEqual([database("task-relay-index")]);

  platform.refused = null;
  const first = await deployFirst();
  expect(first).toEqual({
    status: 0,
    stderr: "",
    stdout: linesOf("OPERATOR_KEYS, RELAY_SECRET sent from .secrets", STORED),
  });
  const created = { bindings: [publicUrl(""), ...secretBindings], migrations: MIGRATIONS };
  expect(platform.takeChanges()).toEqual([
    upload("task-relay", 7_311_001, created),
    script("task-relay"),
    subdomain("task-relay", true),
    CRON,
    ...DEPLOYED_AGAIN,
  ]);
  expect(read("wrangler.toml")).toBe(
    shipped.replace('PUBLIC_URL = ""', `PUBLIC_URL = "${WORKERS_DEV}"`),
  );

  write(".secrets", secretsFile({ ...SECRETS, RELAY_SECRET: "another".repeat(8) }));
  const again = await deployFirst();
  expect(again).toEqual({ status: 0, stderr: "", stdout: linesOf("kept as deployed") });
  expect(platform.takeChanges()).toEqual(DEPLOYED_AGAIN);
});

const WORKERS_DEV = "https://task-relay.example.workers.dev";
const STORED = `ok           address: ${WORKERS_DEV}, stored as PUBLIC_URL in wrangler.toml`;
const publicUrl = (text: string) => ({ name: "PUBLIC_URL", type: "plain_text", text });

/** Returns the first requests of a deployment of a Worker that exists. */
const replaced = (name: string, limitsFrom: number, bindings: readonly object[]) => [
  {
    request: `POST workers/scripts/${name}/versions`,
    body: version(limitsFrom, { bindings }),
  },
  {
    request: `POST workers/scripts/${name}/deployments`,
    body: {
      strategy: "percentage",
      versions: [{ version_id: expect.any(String), percentage: 100 }],
      annotations: {},
      code_update_strategy: DEFERRED,
    },
  },
];

/** Requests of a deployment of production that exists, with its address as `PUBLIC_URL`. */
const DEPLOYED_AGAIN = [
  ...replaced("task-relay", 7_311_001, [publicUrl(WORKERS_DEV)]),
  script("task-relay", { observability: OBSERVABILITY }),
  subdomain("task-relay", true),
  CRON,
];

function linesOf(secrets: string, ...stored: readonly string[]): string {
  return [
    "ok           login: account Test (acc)",
    `ok           deployed: task-relay, ${WORKERS_DEV}, schedule: */10 * * * *`,
    `ok           secrets: ${secrets}`,
    ...stored,
    `ok           health: ${relay.url} answers`,
    "ok           callback: delivered to this machine, signature valid",
    `ok           console: ${relay.url}/, log in with the key in OPERATOR_KEYS of .secrets`,
    "",
  ].join("\n");
}

const bucketOf = (request: string, body: unknown) => ({ request, body });
const RULES = "PUT r2/buckets/task-relay-outputs/lifecycle";
const withRule = {
  rules: [
    expect.objectContaining({ id: "Default Multipart Abort Rule" }),
    {
      id: "task-relay-uploads",
      enabled: true,
      conditions: { prefix: "outputs/" },
      abortMultipartUploadsTransition: { condition: { type: "Age", maxAge: 86_400 } },
    },
  ],
};

it("npm run setup -- --outputs creates a bucket once, near the relay's Durable Objects, with a rule that aborts unfinished uploads after a day", async () => {
  const setup = ["scripts/setup.ts", "--domain", "relay.example.com", "--location", "apac-ne"];
  const first = await run([...setup, "--outputs"]);
  expect([first.status, first.stderr]).toEqual([0, ""]);
  expect(first.stdout).toContain(
    "ok           outputs: bucket task-relay-outputs created; it aborts unfinished uploads after a day\n",
  );
  expect(platform.takeChanges()).toEqual([
    bucketOf("POST r2/buckets", { name: "task-relay-outputs", locationHint: "apac" }),
    bucketOf(RULES, withRule),
  ]);
  const again = await run([...setup, "--outputs"]);
  expect([again.status, again.stderr]).toEqual([0, ""]);
  expect(again.stdout).toContain("outputs: bucket task-relay-outputs aborts unfinished uploads");
  expect(platform.takeChanges()).toEqual([]);
});

it("without a login, npm run setup -- --outputs changes only wrangler.toml, and leaves creating the bucket to npm run deploy:first", async () => {
  const setup = ["scripts/setup.ts", "--domain", "relay.example.com", "--outputs"];
  const { status, stdout, stderr } = await run(setup, "");
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toContain("You are not logged in to Cloudflare, so the bucket task-relay-outputs");
  expect(read("wrangler.toml")).toContain('\n[[r2_buckets]]\nbinding = "OUTPUTS"\n');

  const deployed = await deployFirst();
  expect([deployed.status, deployed.stderr]).toEqual([0, ""]);
  expect(deployed.stdout).toContain("ok           outputs: bucket task-relay-outputs created;");
  expect(platform.takeChanges().slice(0, 2)).toEqual([
    bucketOf("POST r2/buckets", { name: "task-relay-outputs" }),
    bucketOf(RULES, withRule),
  ]);
});

it("npm run setup -- --outputs says in one line how to enable R2 when the account does not have it", async () => {
  const message = "Please enable R2 through the Cloudflare Dashboard.";
  platform.refused = { request: "GET r2/buckets", status: 403, code: 10042, message };
  const { status, stderr } = await run([
    "scripts/setup.ts",
    "--domain",
    "a.example.com",
    "--outputs",
  ]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^The rules of the bucket .*\[code: 10042\]\. Cure: enable R2 .*\n$/);
});

it("npm run deploy:first --env preview creates a paused relay with its own name, address, database, limits and secrets, but without cron or domain", async () => {
  write("wrangler.toml", edit(shipped, { domain: "relay.example.com" }));
  write(".secrets", secretsFile({ ...SECRETS, RELAY_SECRET: "production".repeat(8) }));
  const { status, stdout, stderr } = await deployFirst(["--env", "preview"]);
  expect([stderr, status]).toEqual(["", 0]);
  const address = "https://task-relay-preview.example.workers.dev";
  const tags = ["cf:service=task-relay", "cf:environment=preview"];
  expect(stdout).toContain(`task-relay-preview, ${address}\n`);
  const paused = { name: "PAUSED", type: "plain_text", text: "true" };
  const created = { bindings: [paused, ...secretBindings], migrations: MIGRATIONS };
  expect(platform.takeChanges()).toEqual([
    database("task-relay-preview-index"),
    upload("task-relay-preview", 7_312_001, created),
    script("task-relay-preview", { tags }),
    subdomain("task-relay-preview", true),
    schedules("task-relay-preview"),
    ...replaced("task-relay-preview", 7_312_001, [paused, publicUrl(address)]),
    script("task-relay-preview", { tags, observability: OBSERVABILITY }),
    subdomain("task-relay-preview", true),
    schedules("task-relay-preview"),
  ]);
  expect(read("wrangler.toml")).toContain(
    `[env.preview.vars]\nPAUSED = "true"\nPUBLIC_URL = "${address}"\n`,
  );
});

it.each([
  ["preview", "ok           configuration: valid"],
  ["production", "PROBLEM      operator key: the relay refuses it."],
])(
  "npm run doctor --env %s takes the operator key from the file of secrets of that environment",
  async (env, expected) => {
    write(".secrets", secretsFile({ ...SECRETS, OPERATOR_KEYS: "an-operator-key-of-production" }));
    const { stdout } = await run(["scripts/doctor.ts", "--url", relay.url, "--env", env]);
    expect(stdout).toContain(expected);
  },
);

it("npm run deploy, as the deploy button runs it, needs no file of secrets; if a domain is set, it serves the relay there and not under workers.dev", async () => {
  write("wrangler.toml", edit(shipped, { domain: "relay.example.com" }));
  for (const file of [".secrets", ".secrets.preview"]) rmSync(join(clone.directory, file));
  const { status, stderr } = await run([
    "node_modules/wrangler/bin/wrangler.js",
    "deploy",
    "--env=",
  ]);
  expect([stderr, status]).toEqual(["", 0]);
  const domain = publicUrl("https://relay.example.com");
  expect(platform.takeChanges()).toEqual([
    database("task-relay-index"),
    upload("task-relay", 7_311_001, { bindings: [domain], migrations: MIGRATIONS }),
    script("task-relay"),
    subdomain("task-relay", false),
    domains("POST", "changeset", [{ hostname: "relay.example.com" }]),
    CRON,
    domains("PUT", "records", {
      override_scope: true,
      override_existing_origin: true,
      override_existing_dns_record: true,
      origins: [{ hostname: "relay.example.com" }],
    }),
  ]);
});

it("when D1 refuses to create the database, npm run deploy:first says so in one line with the cure, and creates nothing", async () => {
  platform.refused = {
    request: "POST d1/database",
    status: 403,
    code: 10000,
    message: "Authentication error",
  };
  const { status, stderr } = await deployFirst();
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^Not deployed: .*d1\/database.* Cure: give the API token the permission D1: Edit.*\n$/,
  );
  expect(platform.takeChanges()).toEqual([]);
});

it("when a signal ends npm run deploy:first during the upload, it deletes the temporary file with the secrets", async () => {
  const { child, ended } = start(["scripts/deploy-first.ts", "--url", relay.url]);
  let during: readonly string[] = [];
  platform.onRequest = (line) => {
    if (!line.startsWith("PUT workers/scripts/")) return;
    during = temporary();
    child.kill("SIGTERM");
  };
  const { status, stderr } = await ended;
  expect([status, stderr]).toEqual([1, "Interrupted. Cure: run this command again\n"]);
  expect(during).toHaveLength(1);
  expect(temporary()).toEqual([]);
});

it.each([
  ["a token that Cloudflare refuses", "wrong", "The login was refused: .*npx wrangler login"],
  [
    "no login",
    "",
    "You are not logged in to Cloudflare. Cure: npx wrangler login, then run this command again",
  ],
])(
  "given %s, npm run deploy:first says in one line what is wrong with the login, and creates nothing",
  async (_, token, expected) => {
    const { status, stdout, stderr } = await deployFirst([], token);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(new RegExp(`^${expected}.*\\n$`));
    expect(platform.takeChanges()).toEqual([]);
  },
);

it.each([
  [
    "there is no file of secrets",
    () => rmSync(join(clone.directory, ".secrets")),
    "There is no file .secrets. Cure: npm run setup, then run this command again",
  ],
  [
    "a variable has a wrong value",
    () => write("wrangler.toml", shipped.replace("[vars]", '$&\nCALLBACK_SCHEDULE_S = "soon"')),
    "The configuration is wrong: CALLBACK_SCHEDULE_S .*Cure: correct it in .secrets or wrangler.toml",
  ],
  [
    "outputs would be kept in two places",
    () => {
      const withUrl = shipped.replace("[vars]", '$&\nOUTPUTS_S3_URL = "https://s3.example.net"');
      const block = '[[r2_buckets]]\nbinding = "OUTPUTS"\nbucket_name = "films"\n';
      write("wrangler.toml", `${withUrl}\n${block}`);
    },
    "The configuration is wrong: OUTPUTS_S3_URL must not be set while the bucket OUTPUTS is bound.*",
  ],
  [
    "wrangler.toml is malformed",
    () => write("wrangler.toml", shipped.replace("[vars]", "[vars")),
    "wrangler.toml cannot be read: .*Cure: correct it",
  ],
])(
  "when %s, npm run deploy:first sends no request to Cloudflare and says in one line what to do",
  async (_, prepare, expected) => {
    prepare();
    const { status, stdout, stderr } = await deployFirst();
    expect([status, stdout, platform.requests]).toEqual([1, "", 0]);
    expect(stderr).toMatch(new RegExp(`^${expected}.*\\n$`));
  },
);
