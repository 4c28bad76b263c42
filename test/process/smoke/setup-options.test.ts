import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { edit, warnings } from "../../../scripts/setup/edit.ts";
import { optionsOf } from "../../../scripts/setup/options.ts";
import { askOptions } from "../../../scripts/setup/questions.ts";
import { ROOT } from "../harness/child.ts";

let copy: string;

beforeEach(() => {
  copy = mkdtempSync(join(tmpdir(), "task-relay-setup-"));
  for (const path of ["scripts", "package.json", "wrangler.toml", "src/config/placement.ts"]) {
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  }
  mkdirSync(join(copy, "src"), { recursive: true });
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

/** Reads the copy as wrangler reads it. */
function configured() {
  const { workers_dev, routes, vars, d1_databases, queues, limits } = readConfig({
    config: tomlPath(),
  });
  return { workers_dev, routes, vars, d1_databases, queues, limits };
}

/** Reduces the text to what is said in comments, whether their lines are switched on or off. */
function words(text: string): string {
  return text.replaceAll(/^# ?/gm, "");
}

const DATABASE = { binding: "INDEX_DB", database_name: "task-relay-index" };

describe("npm run setup", () => {
  it("without options changes no line of wrangler.toml and warns that no domain is set", () => {
    const before = toml();
    const { status, output } = runSetup();
    expect(status).toBe(0);
    expect(output).toContain("No domain is set");
    expect(toml()).toBe(before);
  });

  it("starts from a configuration for workers.dev with the index and without a queue", () => {
    expect(configured()).toMatchObject({
      workers_dev: true,
      routes: undefined,
      vars: {},
      d1_databases: [DATABASE],
      queues: { producers: [], consumers: [] },
      limits: undefined,
    });
  });

  it("sets route, PUBLIC_URL and workers_dev for --domain, and replaces an earlier domain", () => {
    for (const domain of ["relay.example.com", "Hooks.Example.org"]) {
      setup("--domain", domain);
      expect(warnings(toml())).toEqual([]);
      const pattern = domain.toLowerCase();
      expect(configured()).toMatchObject({
        workers_dev: false,
        routes: [{ pattern, custom_domain: true }],
        vars: { PUBLIC_URL: `https://${pattern}` },
      });
    }
  });

  it("places the data by --jurisdiction and --location, and takes none back", () => {
    setup("--jurisdiction", "eu", "--location", "apac-ne");
    expect(configured().vars).toEqual({ JURISDICTION: "eu", LOCATION_HINT: "apac-ne" });
    setup("--jurisdiction", "none", "--location", "none");
    expect(configured().vars).toEqual({});
  });

  it("binds the queue for --queue and removes it with the index", () => {
    setup("--queue");
    expect(configured().queues).toMatchObject({
      producers: [{ binding: "INDEX_QUEUE", queue: "task-relay-index" }],
      consumers: [
        {
          queue: "task-relay-index",
          max_concurrency: 2,
          dead_letter_queue: "task-relay-index-dead",
        },
      ],
    });
    setup("--index", "off");
    expect(configured()).toMatchObject({
      d1_databases: [],
      queues: { producers: [], consumers: [] },
    });
    setup("--index", "on");
    expect(configured().d1_databases).toMatchObject([DATABASE]);
  });

  it("switches all shards of the index off with it", () => {
    const shard = '[[d1_databases]]\nbinding = "INDEX_DB_1"\ndatabase_name = "more"\n';
    writeFileSync(tomlPath(), `${toml()}\n${shard}`);
    setup("--index", "off");
    expect(configured().d1_databases).toEqual([]);
  });

  it("limits the CPU time on the paid plan only", () => {
    setup("--plan", "paid");
    expect(configured().limits).toEqual({ cpu_ms: 2000 });
    setup("--plan", "free");
    expect(configured().limits).toBeUndefined();
  });

  it("keeps every comment and changes nothing when it runs again", () => {
    const before = words(toml());
    const args = ["--index", "on", "--queue", "--plan", "paid", "--jurisdiction", "us"];
    setup(...args);
    const once = toml();
    expect(words(once).replace('JURISDICTION = "us"', 'JURISDICTION = "eu"')).toBe(before);
    expect(runSetup(...args).output).toContain("wrangler.toml kept as it is");
    expect(toml()).toBe(once);
  });

  it("keeps what an operator has added, a comment behind a value included", () => {
    const own = toml().replace(
      "[vars]",
      '[vars]\nPAUSED = true\nPUBLIC_URL = "https://a.b" # mine',
    );
    writeFileSync(tomlPath(), own);
    setup("--domain", "relay.example.com", "--location", "weur");
    expect(toml()).toContain('PUBLIC_URL = "https://relay.example.com" # mine');
    const PUBLIC_URL = "https://relay.example.com";
    expect(configured().vars).toEqual({ PAUSED: true, PUBLIC_URL, LOCATION_HINT: "weur" });
  });

  it("adds the table of variables where there is none", () => {
    writeFileSync(tomlPath(), toml().replace(/^\[vars\]$[^[]*(?=^\[)/m, ""));
    setup("--location", "weur");
    expect(configured().vars).toEqual({ LOCATION_HINT: "weur" });
  });

  it.each([
    ["a domain with a scheme", ["--domain", "https://relay.example.com"], "--domain"],
    ["a name of workers.dev", ["--domain", "relay.me.workers.dev"], "--domain"],
    ["a single label", ["--domain", "relay"], "--domain"],
    ["an unknown jurisdiction", ["--jurisdiction", "cn"], "--jurisdiction"],
    ["an unknown location", ["--location", "moon"], "--location"],
    ["an unknown state", ["--index", "maybe"], "--index"],
    ["an unknown plan", ["--plan", "gold"], "--plan"],
    ["a queue without an index", ["--index", "off", "--queue"], "--queue needs the index"],
    ["an unknown option", ["--region", "weur"], "--region"],
  ])("refuses %s", (_, args, named) => {
    expect(() => edit(toml(), optionsOf(args))).toThrow(named);
  });

  it("says in one line what is wrong with an option, and changes nothing", () => {
    const before = toml();
    const { status, output } = runSetup("--location", "moon");
    expect(status).toBe(1);
    expect(output).toMatch(/^--location must be one of .+\n$/);
    expect(toml()).toBe(before);
  });

  it("refuses a list of routes that spans several lines", () => {
    const own = toml().replace(/^# routes.*$/m, 'routes = [\n  "a.example.com/*",\n]');
    writeFileSync(tomlPath(), own);
    const { status, output } = runSetup("--domain", "relay.example.com");
    expect(status).toBe(1);
    expect(output).toContain("wrangler.toml has a value of routes that spans several lines");
    expect(toml()).toBe(own);
  });
});

describe("the questions of npm run setup", () => {
  it("cover every option, and an empty answer keeps what there is", async () => {
    const asked: string[] = [];
    const answers = ["relay.example.com", "eu", "weur", "y", "yes", "n"];
    const options = await askOptions(async (question) => {
      asked.push(question);
      return answers[asked.length - 1] ?? "";
    });
    expect(options).toEqual({
      domain: "relay.example.com",
      jurisdiction: "eu",
      location: "weur",
      isPaid: true,
      index: true,
      queue: false,
    });
    expect(await askOptions(async () => "")).toEqual({});
  });

  it("ask again for anything but yes or no, and not for a queue without an index", async () => {
    const answers = ["", "", "", "perhaps", "n", "no"];
    expect(await askOptions(async () => answers.shift() ?? "")).toEqual({
      isPaid: false,
      index: false,
    });
  });
});
