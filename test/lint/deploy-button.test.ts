import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseEnv } from "node:util";
import { expect, it } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import * as z from "zod";
import { OBJECT_CLASSES } from "../../src/config/object-bindings.ts";
import { ROOT } from "../process/harness/child.ts";

const Manifest = z.object({
  scripts: z.object({ deploy: z.string(), build: z.string() }),
  cloudflare: z.object({ bindings: z.record(z.string(), z.object({ description: z.string() })) }),
});
const WRANGLER_TOML = join(ROOT, "wrangler.toml");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const manifest = Manifest.parse(JSON.parse(read("package.json")));
const described = Object.keys(manifest.cloudflare.bindings);

/** Returns the bindings of an environment of wrangler.toml, by their names; by default production. */
function bindingsOf(env?: string): ReadonlyMap<string, unknown> {
  const config = readConfig({ config: WRANGLER_TOML, env });
  const { durable_objects, d1_databases, queues, ratelimits, analytics_engine_datasets } = config;
  const named = [...durable_objects.bindings, ...ratelimits];
  const bound = [...d1_databases, ...queues.producers, ...analytics_engine_datasets];
  const version = config.version_metadata;
  return new Map<string, unknown>([
    ...named.map((each) => [each.name, each] as const),
    ...bound.map((each) => [each.binding, each] as const),
    ...(version === undefined ? [] : [[version.binding, version] as const]),
  ]);
}

const production = bindingsOf();
const preview = bindingsOf("preview");

it(".dev.vars.example has a line without a value for each of the two required secrets, so that the deploy button asks for them", () => {
  expect(parseEnv(read(".dev.vars.example"))).toEqual({ RELAY_SECRET: "", OPERATOR_KEYS: "" });
});

it("wrangler.toml has PUBLIC_URL as its only variable, without a value, so that the deploy button asks for it", () => {
  expect(readConfig({ config: WRANGLER_TOML }).vars).toEqual({ PUBLIC_URL: "" });
});

it("package.json has for the deploy button a description of every secret, variable and binding, which says how to generate the secrets", () => {
  const secrets = Object.keys(parseEnv(read(".dev.vars.example")));
  const asked = [...secrets, "PUBLIC_URL", ...production.keys()];
  expect(described.toSorted()).toEqual(asked.toSorted());
  for (const secret of secrets) {
    const { description } = manifest.cloudflare.bindings[secret] ?? {};
    expect(description).toContain("`openssl rand -hex 32`");
  }
});

it("for production and for preview, wrangler.toml binds every class of Durable Objects of the relay and creates each class in exactly one migration", () => {
  for (const env of [undefined, "preview"]) {
    const { durable_objects, migrations } = readConfig({ config: WRANGLER_TOML, env });
    const expected = Object.entries(OBJECT_CLASSES);
    expect(durable_objects.bindings).toEqual(
      expected.map(([name, class_name]) => ({ name, class_name })),
    );
    const created = migrations.flatMap(({ new_sqlite_classes: classes = [] }) => classes);
    expect(created.toSorted()).toEqual(Object.values(OBJECT_CLASSES).toSorted());
  }
});

it("wrangler.toml names the index database without an id, so that the deploy button creates it in any account, and declares no queue", () => {
  const { d1_databases, queues } = readConfig({ config: WRANGLER_TOML });
  expect(d1_databases).toEqual([{ binding: "INDEX_DB", database_name: "task-relay-index" }]);
  expect(queues).toEqual({ producers: [], consumers: [] });
});

it("the deploy button's commands, the scripts build and deploy, need no file of secrets and name the environment production", () => {
  const { build, deploy } = manifest.scripts;
  expect(deploy).toBe("wrangler deploy --env=");
  expect(build).toBe("wrangler deploy -c wrangler.toml --env= --dry-run --outdir dist");
});

it("the part of README.md that Cloudflare's dashboard shows (between the marks dash-content) has neither shell commands nor relative links", () => {
  const [, shown = "", ...more] = read("README.md").split(/<!-- dash-content-(?:start|end) -->\n/);
  expect(more).toHaveLength(1);
  expect(shown).toMatch(/^\n*Video and image APIs/);
  expect(shown).not.toMatch(/```sh|\]\((?!https:)/);
});

it("the preview in wrangler.toml has the same bindings as production, with a database and limits of its own", () => {
  expect([...preview.keys()]).toEqual([...production.keys()]);
  const own = [...preview].filter(([name, binding]) => {
    return JSON.stringify(binding) !== JSON.stringify(production.get(name));
  });
  expect(own.map(([name]) => name)).toEqual([
    "LIMIT_TESTS",
    "LIMIT_BULK",
    "LIMIT_LISTS",
    "LIMIT_SUBMITS",
    "LIMIT_LINKS",
    "LIMIT_REFUSALS",
    "INDEX_DB",
  ]);
});
