import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { optionsOf } from "../../../scripts/setup/options.ts";
import { askSelfHost } from "../../../scripts/setup/questions.ts";
import { ROOT } from "../harness/child.ts";

let copy: string;

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "task-relay-self-host-"));
  const sources = ["src/config/placement.ts", "src/cron/cron-expression.ts"];
  for (const path of ["scripts", "ops", "package.json", "wrangler.toml", ...sources]) {
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  for (const directory of ["dist", "public"]) mkdirSync(join(copy, directory));
  writeFileSync(join(copy, "dist/index.js"), "built");
  writeFileSync(join(copy, "public/_headers"), "");
});

afterEach(() => rmSync(copy, { recursive: true, force: true }));

const written = (path: string) => readFileSync(join(copy, "self-host", path), "utf8");
const environment = () => parseEnv(written("task-relay.env"));

/** Runs `npm run setup -- --self-host` in the copy, as a process without a terminal. */
function setup(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const { PATH = "" } = process.env;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["scripts/setup.ts", "--self-host", ...args],
    { cwd: copy, encoding: "utf8", env: { PATH, ...env } },
  );
  return { status, output: stdout + stderr };
}

const CLUSTER = ["--cluster", "s3://task-relay/cluster", "--address", "10.0.0.1:7000"];
const STORE = ["--store-url", "https://s3.example.com", "--store-region", "eu-1"];
const KEYS = { AWS_ACCESS_KEY_ID: "key-of-the-store", AWS_SECRET_ACCESS_KEY: "a/secret+of=it" };

it("npm run setup --self-host writes the files for one machine, and a second run keeps its secrets and what was added to the environment file", () => {
  expect(setup(["--domain", "relay.example.com"]).status).toBe(0);
  expect(readdirSync(join(copy, "self-host")).toSorted()).toEqual([
    "allow.capnp",
    "task-relay",
    "task-relay.env",
    "task-relay.service",
  ]);
  const first = environment();
  expect(first).toEqual({
    RELAY_SECRET: expect.stringMatching(/^[\w-]{43}$/),
    OPERATOR_KEYS: expect.stringMatching(/^[\w-]{43}$/),
    RATE_LIMITS: "default",
    PUBLIC_URL: "https://relay.example.com",
  });
  expect(statSync(join(copy, "self-host/task-relay.env")).mode & 0o777).toBe(0o600);
  expect(written("task-relay/index.js")).toBe("built");
  expect(statSync(join(copy, "self-host/task-relay/workerd")).mode & 0o111).toBe(0o111);
  appendFileSync(join(copy, "self-host/task-relay.env"), "# mine\nSANDBOX=true\n");
  writeFileSync(join(copy, "dist/index.js"), "built again");
  expect(setup(["--domain", "b.example.com"]).status).toBe(0);
  const changed = { PUBLIC_URL: "https://b.example.com", SANDBOX: "true" };
  expect(environment()).toEqual({ ...first, ...changed });
  expect(written("task-relay.env")).toContain("# mine\n");
  expect(written("task-relay/index.js")).toBe("built again");
});

it("npm run setup --self-host --cluster writes the bucket, a key that a second run keeps, and the access to the store, whose secrets it takes from the environment and prints nowhere", () => {
  const { status, output } = setup([...CLUSTER, ...STORE], KEYS);
  expect([status, output.match(/key-of-the-store|a\/secret/)]).toEqual([0, null]);
  expect(written("cluster-bucket")).toBe("s3://task-relay/cluster");
  const key = written("cluster-key");
  expect(key).toMatch(/^[\da-f]{64}$/);
  expect(statSync(join(copy, "self-host/cluster-key")).mode & 0o777).toBe(0o600);
  const access = {
    ...KEYS,
    AWS_ENDPOINT_URL: "https://s3.example.com",
    AWS_REGION: "eu-1",
    CLUSTER_ADDRESS: "10.0.0.1:7000",
  };
  expect(environment()).toMatchObject(access);
  expect(existsSync(join(copy, "self-host/cluster.conf"))).toBe(true);
  expect(setup(["--cluster", "s3://task-relay/cluster", "--address", "10.0.0.2:7000"]).status).toBe(
    0,
  );
  expect(environment()).toMatchObject({ ...access, CLUSTER_ADDRESS: "10.0.0.2:7000" });
  expect(written("cluster-key")).toBe(key);
});

it.each([
  ["a relay that is not built", [], {}, /^dist\/index\.js is missing\. Cure: npm run build\n$/],
  [
    "a cluster without the URL of its store",
    CLUSTER,
    KEYS,
    /^AWS_ENDPOINT_URL is missing: give --store-url /,
  ],
  [
    "a cluster without the key of its store",
    [...CLUSTER, ...STORE],
    {},
    /^AWS_ACCESS_KEY_ID is missing: set it in the environment/,
  ],
  [
    "a secret of the store that the environment file cannot hold",
    [...CLUSTER, ...STORE],
    { ...KEYS, AWS_SECRET_ACCESS_KEY: "a b" },
    /^AWS_SECRET_ACCESS_KEY must not contain blanks/,
  ],
])(
  "npm run setup --self-host says in one line what is missing for %s, and writes nothing",
  (what, args, env, line) => {
    if (what.includes("not built")) rmSync(join(copy, "dist"), { recursive: true });
    const { status, output } = setup(args, env);
    expect([status, output]).toEqual([1, expect.stringMatching(line)]);
    expect(existsSync(join(copy, "self-host/task-relay.env"))).toBe(false);
  },
);

it.each([
  [["--self-host", "--domain", "https://relay.example.com"], "--domain must be"],
  [["--self-host", "--cluster", "task-relay"], "--cluster must be s3://BUCKET/PREFIX"],
  [["--self-host", "--cluster", "s3://task-relay"], "--cluster must be s3://BUCKET/PREFIX"],
  [["--self-host", ...CLUSTER, "--store-url", "s3.example.com"], "--store-url must be"],
  [["--self-host", ...CLUSTER, "--store-region", "eu 1"], "--store-region must be"],
  [["--self-host", "--cluster", "s3://a-b/c", "--address", "10.0.0.1"], "--address must be"],
  [["--self-host", "--address", "10.0.0.1:7000"], "go with --cluster"],
  [["--self-host", "--index", "on"], "--self-host does not go with --index"],
  [["--cluster", "s3://task-relay/cluster"], "--cluster goes with --self-host"],
])("npm run setup refuses %j with a line that names the option", (args, named) => {
  expect(() => optionsOf(args)).toThrow(named);
});

it("npm run setup --self-host asks at a terminal for everything that it needs, and asks again after a wrong answer", async () => {
  const answers = [
    "relay",
    "relay.example.com",
    "s3://task-relay/cluster",
    "https://s3.example.com",
    "",
    "key-of-the-store",
    "",
    "10.0.0.1:7000",
  ];
  const asked: string[] = [];
  const options = await askSelfHost(async (question) => {
    asked.push(question);
    return answers[asked.length - 1] ?? "";
  });
  expect(options).toEqual({
    domain: "relay.example.com",
    cluster: {
      bucket: "s3://task-relay/cluster",
      storeUrl: "https://s3.example.com",
      region: undefined,
      accessKey: "key-of-the-store",
      address: "10.0.0.1:7000",
    },
  });
  expect(asked[1]).toMatch(/^--domain must be a host name .+\nHost name of the relay/);
  expect(await askSelfHost(async () => "")).toEqual({});
});
