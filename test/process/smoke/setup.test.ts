import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
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
import { unstable_readConfig as readConfig } from "wrangler";
import { edit, presentOptions, warnings } from "../../../scripts/setup/edit.ts";
import { optionsOf } from "../../../scripts/setup/options.ts";
import { ROOT } from "../harness/child.ts";
import { askOptions } from "../../../scripts/setup/questions.ts";

const SECRET_LINES = /^RELAY_SECRET="([\w-]{43})"\nOPERATOR_KEYS="([\w-]{43})"\n$/;

let copy: string;

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "task-relay-setup-"));
  const sources = ["src/config/placement.ts", "src/cron/cron-expression.ts"];
  for (const path of ["scripts", "package.json", "wrangler.toml", ...sources]) {
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  }
  mkdirSync(join(copy, "src"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  writeFileSync(join(copy, "src/index.ts"), "");
});

afterEach(() => rmSync(copy, { recursive: true, force: true }));

const tomlPath = () => join(copy, "wrangler.toml");
const toml = () => readFileSync(tomlPath(), "utf8");

/** Runs `npm run setup` in the copy, as a process without a terminal. */
function runSetup(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/setup.ts", ...args], {
    cwd: copy,
    encoding: "utf8",
    timeout: 20_000,
  });
  return { status, output: stdout + stderr };
}

/** Edits the copy as `npm run setup` does with these options. */
function setup(...args: readonly string[]): void {
  writeFileSync(tomlPath(), edit(toml(), optionsOf(args)));
}

/** Reads an environment of the copy as wrangler reads it; by default production. */
function configured(env?: string) {
  const read = readConfig({ config: tomlPath(), env });
  const { workers_dev, routes, vars, d1_databases, queues, r2_buckets, limits, triggers } = read;
  return { workers_dev, routes, vars, d1_databases, queues, r2_buckets, limits, triggers };
}

/** Reads the files of generated secrets. */
function secretFiles(files: readonly string[] = [".dev.vars", ".secrets"]) {
  return files.map((file) => {
    const path = join(copy, file);
    return { content: readFileSync(path, "utf8"), mode: statSync(path).mode };
  });
}

/** Returns the text without comment signs, so that it is the same whether its lines are switched on or off. */
function words(text: string): string {
  return text.replaceAll(/^# ?/gm, "");
}

const DATABASE = { binding: "INDEX_DB", database_name: "task-relay-index" };

const QUEUE = {
  producers: [{ binding: "INDEX_QUEUE", queue: "task-relay-index" }],
  consumers: [
    {
      queue: "task-relay-index",
      max_concurrency: 2,
      dead_letter_queue: "task-relay-index-dead",
    },
  ],
};
const NO_QUEUE = { producers: [], consumers: [] };
const BUCKET = { binding: "OUTPUTS", bucket_name: "task-relay-outputs" };
const AT_FIRST = {
  workers_dev: true,
  routes: undefined,
  limits: undefined,
  queues: NO_QUEUE,
  r2_buckets: [],
};
/** The address of a relay without a domain. */
const UNKNOWN = ["PUBLIC_URL", ""];
const atDomain = (pattern: string) => ({
  workers_dev: false,
  routes: [{ pattern, custom_domain: true }],
  vars: [["PUBLIC_URL", `https://${pattern}`]],
});

/** Options that are given one after the other, and the configuration that wrangler reads after each. */
const CONFIGURED: Readonly<Record<string, readonly (readonly [string, object])[]>> = {
  "no options": [["", { ...AT_FIRST, vars: [UNKNOWN], d1_databases: [DATABASE] }]],
  "--domain, and then again with another --domain": [
    ["--domain relay.example.com", atDomain("relay.example.com")],
    ["--domain Hooks.Example.org", atDomain("hooks.example.org")],
  ],
  "--jurisdiction and --location, and then again with both set to none": [
    [
      "--jurisdiction eu --location apac-ne",
      {
        vars: [UNKNOWN, ["JURISDICTION", "eu"], ["LOCATION_HINT", "apac-ne"]],
      },
    ],
    ["--jurisdiction none --location none", { vars: [UNKNOWN] }],
  ],
  "--queue, then with --index off, then with --index on": [
    ["--queue", { queues: QUEUE }],
    ["--index off", { d1_databases: [], queues: NO_QUEUE }],
    ["--index on", { d1_databases: [DATABASE] }],
  ],
  "--outputs --outputs-domain, then with --domain, then with --jurisdiction, then with --no-outputs":
    [
      [
        "--outputs --outputs-domain Outputs.Example.net",
        {
          workers_dev: true,
          routes: [{ pattern: "outputs.example.net", custom_domain: true }],
          vars: [UNKNOWN, ["OUTPUTS_URL", "https://outputs.example.net"]],
          r2_buckets: [BUCKET],
        },
      ],
      [
        "--domain relay.example.com",
        {
          workers_dev: false,
          routes: [
            { pattern: "relay.example.com", custom_domain: true },
            { pattern: "outputs.example.net", custom_domain: true },
          ],
          vars: [
            ["PUBLIC_URL", "https://relay.example.com"],
            ["OUTPUTS_URL", "https://outputs.example.net"],
          ],
        },
      ],
      ["--jurisdiction eu", { r2_buckets: [{ ...BUCKET, jurisdiction: "eu" }] }],
      ["--jurisdiction us", { r2_buckets: [{ ...BUCKET, jurisdiction: "us" }] }],
      ["--jurisdiction none", { r2_buckets: [BUCKET] }],
      ["--no-outputs", { r2_buckets: [] }],
    ],
  "--domain and --outputs, then with --outputs-domain": [
    [
      "--domain relay.example.com --outputs",
      { r2_buckets: [BUCKET], routes: [{ pattern: "relay.example.com" }] },
    ],
    [
      "--outputs-domain outputs.example.net",
      { routes: [{ pattern: "relay.example.com" }, { pattern: "outputs.example.net" }] },
    ],
  ],
  "--plan paid, and then again with --plan free": [
    [
      "--plan paid",
      {
        limits: { cpu_ms: 30_000 },
        vars: [["PUBLIC_URL", ""]],
        triggers: { crons: ["*/10 * * * *"] },
      },
    ],
    [
      "--plan free",
      {
        limits: undefined,
        vars: [
          ["PUBLIC_URL", ""],
          ["PLAN", "free"],
        ],
        triggers: { crons: ["*/2 * * * *"] },
      },
    ],
  ],
};

it.each(Object.entries(CONFIGURED))(
  "run with %s, npm run setup writes the options into wrangler.toml in such a way that wrangler reads the chosen settings",
  (_, steps) => {
    for (const [args, expected] of steps) {
      setup(...args.split(" ").filter((arg) => arg !== ""));
      const { vars, ...others } = configured();
      expect({ vars: Object.entries(vars), ...others }).toMatchObject(expected);
    }
  },
);

it("npm run setup --env preview creates the preview's secrets once, in a file that only its owner can read, writes no .secrets, and leaves wrangler.toml as it is", () => {
  const before = toml();
  const { status, output } = runSetup("--env", "preview");
  expect([status, output]).toEqual([0, ".secrets.preview written\n"]);
  const [file] = secretFiles([".secrets.preview"]);
  expect(file?.content).toMatch(SECRET_LINES);
  expect((file?.mode ?? 0) & 0o777).toBe(0o600);
  expect(existsSync(join(copy, ".secrets"))).toBe(false);
  expect(runSetup("--env", "preview").output).toBe(".secrets.preview kept as it is\n");
  expect([toml(), secretFiles([".secrets.preview"])]).toEqual([before, [file]]);
});

it("npm run setup without --env preview changes only production: the preview keeps its database, its pause and its workers.dev address", () => {
  const options = ["--domain", "relay.example.com", "--jurisdiction", "eu", "--location", "weur"];
  setup(...options, "--queue", "--outputs");
  setup("--index", "off");
  expect(configured("preview")).toEqual({
    workers_dev: true,
    routes: [],
    vars: { PAUSED: "true" },
    d1_databases: [{ binding: "INDEX_DB", database_name: "task-relay-preview-index" }],
    queues: { producers: [], consumers: [] },
    r2_buckets: [],
    limits: undefined,
    triggers: { crons: [] },
  });
});

it("npm run setup --help lists the options and changes nothing", () => {
  const before = toml();
  const { status, output } = runSetup("--help");
  expect(status).toBe(0);
  const names = "domain jurisdiction location index queue outputs outputs-domain plan env";
  for (const name of names.split(" ")) {
    expect(output).toContain(`--${name}`);
  }
  expect(toml()).toBe(before);
});

it("npm run setup without options leaves every line of wrangler.toml as it is, and creates the secrets once, in files that only their owner can read", () => {
  const before = toml();
  const first = runSetup();
  expect(first.status).toBe(0);
  expect(first.output).toContain("No domain is set");
  const written = secretFiles();
  expect(written.map(({ mode }) => mode & 0o777)).toEqual([0o600, 0o600]);
  const secrets = written.flatMap(({ content }) => SECRET_LINES.exec(content)?.slice(1) ?? []);
  expect(new Set(secrets).size).toBe(4);
  for (const secret of secrets) expect(first.output).not.toContain(secret);
  runSetup();
  expect(secretFiles()).toEqual(written);
  expect(toml()).toBe(before);
});

it("npm run setup --index off switches off every index database in wrangler.toml, including one that an operator has added", () => {
  const shard = '[[d1_databases]]\nbinding = "INDEX_DB_1"\ndatabase_name = "more"\n';
  writeFileSync(tomlPath(), `${toml()}\n${shard}`);
  setup("--index", "off");
  expect(configured().d1_databases).toEqual([]);
});

it("npm run setup adds the secrets that .dev.vars lacks, without changing its other lines, and adds none to .secrets", () => {
  const file = join(copy, ".dev.vars");
  const before = "CONNECTIONS='{}'\nRELAY_SECRET=\nOPERATOR_KEYS=tok_of_the_owner";
  writeFileSync(file, before);
  writeFileSync(join(copy, ".secrets"), "ARK_API_KEY=a\n");
  expect(runSetup().output).toContain(".dev.vars completed\n.secrets kept as it is\n");
  const [dev, deployment] = secretFiles();
  expect(dev?.content.startsWith(`${before}\n`)).toBe(true);
  expect(parseEnv(dev?.content ?? "")).toEqual({
    CONNECTIONS: "{}",
    RELAY_SECRET: expect.stringMatching(/^[\w-]{43}$/),
    OPERATOR_KEYS: "tok_of_the_owner",
  });
  expect(deployment?.content).toBe("ARK_API_KEY=a\n");
});

it("npm run setup keeps every comment of wrangler.toml, and changes nothing when it runs again with the same options", () => {
  const before = words(toml());
  const args = ["--index", "on", "--queue", "--plan", "paid", "--jurisdiction", "us"];
  setup(...args);
  const once = toml();
  expect(words(once).replace('JURISDICTION = "us"', 'JURISDICTION = "eu"')).toBe(before);
  expect(runSetup(...args).output).toContain("wrangler.toml kept as it is");
  expect(toml()).toBe(once);
});

it("npm run setup keeps what an operator has added to wrangler.toml, including a comment after a value that it changes", () => {
  const own = toml().replace('PUBLIC_URL = ""', 'PAUSED = true\nPUBLIC_URL = "https://a.b" # mine');
  writeFileSync(tomlPath(), own);
  setup("--domain", "relay.example.com", "--location", "weur");
  expect(toml()).toContain('PUBLIC_URL = "https://relay.example.com" # mine');
  const PUBLIC_URL = "https://relay.example.com";
  expect(configured().vars).toEqual({ PAUSED: true, PUBLIC_URL, LOCATION_HINT: "weur" });
});

it("npm run setup adds the table [vars] to a wrangler.toml without one", () => {
  writeFileSync(tomlPath(), toml().replace(/^\[vars\]\n[^]*?(?=^\[)/m, ""));
  setup("--location", "weur");
  expect(configured().vars).toEqual({ LOCATION_HINT: "weur" });
});

it.each([
  ["a --domain with a scheme", ["--domain", "https://relay.example.com"], "--domain"],
  ["a --domain under workers.dev", ["--domain", "relay.me.workers.dev"], "--domain"],
  ["a --domain of a single label", ["--domain", "relay"], "--domain"],
  ["an unknown --jurisdiction", ["--jurisdiction", "cn"], "--jurisdiction"],
  ["an unknown --location", ["--location", "moon"], "--location"],
  ["an --outputs-domain with a path", ["--outputs-domain", "a.example.net/b"], "--outputs-domain"],
  ["an unknown value of --index", ["--index", "maybe"], "--index"],
  ["an unknown --plan", ["--plan", "gold"], "--plan"],
  ["--queue without an index", ["--index", "off", "--queue"], "--queue needs the index"],
  ["an unknown --env", ["--env", "staging"], "--env must be production or preview"],
  ["--env preview with another option", ["--env", "preview", "--queue"], "no other option"],
  ["an unknown option", ["--region", "weur"], "--region"],
])("npm run setup refuses %s", (_, args, named) => {
  expect(() => edit(toml(), optionsOf(args))).toThrow(named);
});

it("before any deployment, npm run setup --outputs makes the relay on this machine copy outputs, and says that a deployed relay needs an address for their links", () => {
  const changed = edit(toml(), optionsOf(["--outputs"]));
  expect(changed).toMatch(/^\[\[r2_buckets\]\]\nbinding = "OUTPUTS"\n/m);
  const needed = expect.stringMatching(/^Outputs are kept, on this machine at once.+ an address/);
  expect(warnings(changed)).toContainEqual(needed);
  const addressed = edit(changed, optionsOf(["--outputs-domain", "outputs.example.net"]));
  for (const text of [toml(), addressed]) expect(warnings(text)).not.toContainEqual(needed);
});

it("npm run setup with a wrong option says in one line what is wrong with it, and changes nothing", () => {
  const before = toml();
  const { status, output } = runSetup("--location", "moon");
  expect(status).toBe(1);
  expect(output).toMatch(/^--location must be one of .+\n$/);
  expect(toml()).toBe(before);
});

it("npm run setup --domain refuses a wrangler.toml whose list of routes spans several lines, and leaves it unchanged", () => {
  const own = toml().replace(/^# routes.*$/m, 'routes = [\n  "a.example.com/*",\n]');
  writeFileSync(tomlPath(), own);
  const { status, output } = runSetup("--domain", "relay.example.com");
  expect(status).toBe(1);
  expect(output).toContain("wrangler.toml has a value of routes that spans several lines");
  expect(toml()).toBe(own);
});

const SHIPPED = readFileSync(join(ROOT, "wrangler.toml"), "utf8");

/** Returns the shipped `wrangler.toml` as `npm run setup` edits it with these options. */
const shippedWith = (...args: readonly string[]) => edit(SHIPPED, optionsOf(args));

it("npm run setup warns that the relay has no domain of its own, until --domain sets one", () => {
  expect(warnings(SHIPPED).join()).toContain("No domain is set");
  const atWorkersDev = SHIPPED.replace('PUBLIC_URL = ""', 'PUBLIC_URL = "https://a.b.workers.dev"');
  expect(warnings(atWorkersDev).join()).toContain("No domain is set");
  expect(warnings(shippedWith("--domain", "relay.example.com"))).toEqual([]);
});

it("npm run setup --plan free keeps a cron expression that is neither of its own", () => {
  const own = SHIPPED.replace("*/10 * * * *", "*/30 * * * *");
  expect(edit(own, optionsOf(["--plan", "free"]))).toContain('crons = ["*/30 * * * *"]');
});

it("npm run setup warns of outputs on the Free plan, and not on the paid one", () => {
  const cpu = expect.stringContaining("10 ms of CPU time");
  expect(warnings(shippedWith("--outputs", "--plan", "free"))).toContainEqual(cpu);
  expect(warnings(shippedWith("--outputs", "--plan", "paid"))).not.toContainEqual(cpu);
  expect(warnings(shippedWith("--plan", "free"))).not.toContainEqual(cpu);
});

it("npm run setup warns that the relay has no domain even if the preview has a PUBLIC_URL", () => {
  const edited = SHIPPED.replace("[env.preview.vars]", '$&\nPUBLIC_URL = "https://p.example.com"');
  expect(warnings(edited).join()).toContain("No domain is set");
});

it.each([
  ["--jurisdiction eu", "JURISDICTION places only objects", "--jurisdiction eu,"],
  ["--location weur", "LOCATION_HINT places only objects", "--location weur,"],
])(
  "npm run setup %s warns that this option does not apply to the index database, unless wrangler.toml has its id or the index is off",
  (args, said, option) => {
    const given = ["--domain", "relay.example.com", ...args.split(" ")];
    const edited = shippedWith(...given);
    expect(warnings(edited).join()).toContain(said);
    expect(warnings(edited).join()).toContain(`d1 create task-relay-index ${option}`);
    const named = '$&\ndatabase_id = "8e1b"';
    expect(warnings(edited.replace(/^binding = "INDEX_DB"$/m, named))).toEqual([]);
    expect(warnings(shippedWith(...given, "--index", "off"))).toEqual([]);
  },
);

it("npm run setup asks at a terminal for every option except --env, and an empty reply leaves the setting as it is", async () => {
  const asked: string[] = [];
  const answers = ["relay.example.com", "eu", "weur", "y", "yes", "n", "y", "outputs.example.net"];
  const options = await askOptions(async (question) => {
    asked.push(question);
    return answers[asked.length - 1] ?? "";
  }, {});
  expect(options).toEqual({
    domain: "relay.example.com",
    jurisdiction: "eu",
    location: "weur",
    isPaid: true,
    index: true,
    queue: false,
    outputs: true,
    outputsDomain: "outputs.example.net",
  });
  expect(await askOptions(async () => "", {})).toEqual({});
});

/** Returns what an empty answer keeps, as each question of `npm run setup` says it. */
async function keptAnswers(text: string): Promise<readonly string[]> {
  const kept: string[] = [];
  await askOptions(async (question) => {
    kept.push(/Enter keeps (.+): $/.exec(question)?.[1] ?? "");
    return "";
  }, presentOptions(text));
  return kept;
}

it("each question of npm run setup says which value an empty reply keeps", async () => {
  expect(await keptAnswers(SHIPPED)).toEqual([
    "none",
    "none",
    "none",
    "no limit",
    "yes",
    "no",
    "no",
  ]);
  const own = "--domain relay.example.com --jurisdiction eu --location weur --plan paid --queue";
  const outputs = "--outputs --outputs-domain outputs.example.net";
  const full = shippedWith(...`${own} ${outputs}`.split(" "));
  const [domain, jurisdiction, location, ...others] = await keptAnswers(full);
  expect([domain, jurisdiction, location]).toEqual(["relay.example.com", "eu", "weur"]);
  expect(others).toEqual(["yes", "yes", "yes", "yes", "outputs.example.net"]);
  const small = shippedWith("--plan", "free", "--index", "off");
  expect(await keptAnswers(small)).toEqual(["none", "none", "none", "no", "no", "no"]);
});

it("npm run setup asks again after an invalid reply, and does not ask about the queue when the index is off, or about the outputs' domain when outputs are not copied", async () => {
  const places = ["relay", "relay.example.com", "mars", "eu", "moon", ""];
  const answers = [...places, "perhaps", "n", "no", "n", "outputs.example.net"];
  expect(await askOptions(async () => answers.shift() ?? "", {})).toEqual({
    domain: "relay.example.com",
    jurisdiction: "eu",
    isPaid: false,
    index: false,
    outputs: false,
  });
});
