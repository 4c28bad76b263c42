import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";

/** Lines of code, by the file of `src` that contains them. */
type Code = Readonly<Record<string, readonly string[]>>;

const IMPORTS = "no-restricted-imports";

/** Expressions that the core must not contain, because it is pure. */
const IMPURE = [
  "Date.now()",
  "new Date()",
  "fetch('https://example.com')",
  "crypto.randomUUID()",
  "globalThis.fetch",
  "Temporal.Now.instant()",
  "setTimeout(() => {}, 1)",
  "Promise.resolve()",
  "console",
  "performance.now()",
  "new Request('https://example.com')",
];

/** Ways to take an object out of a namespace. */
const NAMESPACE_CALLS = [
  "TASKS.getByName('x')",
  "TASKS.idFromName('x')",
  "TASKS.idFromString('x')",
  "TASKS.newUniqueId()",
];

/** Code that lint refuses, by the rule that says so. */
const REFUSED: Readonly<Record<string, Code>> = {
  "no-restricted-globals": {
    "core/probe.ts": IMPURE.map(exported),
    "outbound/probe.ts": [exported("fetch('https://example.com')")],
    "api/probe.ts": [exported("fetch('https://example.com')")],
    "console/probe.tsx": [exported("fetch('https://example.com')")],
    "probe.ts": [exported("fetch('https://example.com')")],
  },
  "no-restricted-properties": {
    "core/probe.ts": [exported("Math.random()"), exported("AbortSignal.timeout(1)")],
    "objects/task/probe.ts": [
      ...NAMESPACE_CALLS.map(exported),
      "export const { getByName } = env.TASKS;",
      exported("AbortSignal.timeout(1)"),
    ],
    "objects/placed-object.ts": [exported("AbortSignal.timeout(1)")],
  },
  "require-await": { "core/probe.ts": ["export async function later() { return 1; }"] },
  "alt-text": { "console/probe.tsx": [exported("<img src='/x' />")] },
  [IMPORTS]: {
    "core/probe.ts": [
      imported("cloudflare:workers"),
      imported("./events/x.ts"),
      imported("../lib/log.ts"),
    ],
    "core/record/probe.ts": [
      imported("../views/x.ts"),
      imported("../events/x.ts"),
      imported("../transition.ts"),
      imported("../../lib/log.ts"),
      imported("hono"),
    ],
    "core/events/probe.ts": [imported("../views/x.ts"), imported("../duties/x.ts")],
    "core/views/probe.ts": [imported("../events/x.ts"), imported("../duties/x.ts")],
    "core/duties/probe.ts": [imported("../step.ts"), imported("../../providers/x.ts")],
    "core/transition.ts": [imported("../security/x.ts")],
    "providers/probe.ts": [imported("./kling/kling.ts"), imported("./shared/x.ts")],
    "providers/registry.ts": [imported("./kling/kling.examples.ts")],
    "providers/shared/probe.ts": [imported("../kling/kling.ts")],
    "providers/kling/probe.ts": [
      imported("./kling.examples.ts"),
      imported("../shared/examples/x.ts"),
      imported("./corpus/x.json"),
    ],
    "providers/generic/probe.ts": [imported("./upstreams/runway/corpus/x.json")],
    "providers/kling/probe.examples.ts": [imported("../../outbound/x.ts")],
    "security/probe.ts": [imported("hono"), imported("hono/tiny")],
    "objects/task/probe.ts": [imported("hono"), imported("../../service-binding.ts")],
    "objects/account/probe.ts": [imported("../../api/x.ts"), imported("../task/x.ts")],
    "objects/probe.ts": [imported("./task/x.ts")],
    "api/http/probe.ts": [
      imported("../health.ts"),
      imported("../tasks/x.ts"),
      imported("../../app.ts"),
    ],
    "api/probe.ts": [
      exported("import('../console/x.tsx')"),
      imported("../../scripts/openapi/x.ts"),
      imported("./tasks/x.openapi.ts"),
      "export type { X } from './x.openapi.ts';",
      "export type { X } from '../console/x.ts';",
      imported("@modelcontextprotocol/server"),
      imported("./mcp/mcp-sdk.ts"),
    ],
    "api/probe.openapi.ts": [imported("../console/x.ts"), imported("../../scripts/openapi/x.ts")],
    "api/routes.ts": [imported("./routes.openapi.ts")],
    "console/probe.ts": [imported("../api/x.openapi.ts")],
    "console/host/probe.tsx": [
      imported("../../index-db/x.ts"),
      "export type { X } from '../../index-db/x.ts';",
    ],
    "index.ts": [imported("./api/mcp/mcp-sdk.ts"), exported('import("./api/mcp/mcp-sdk.ts")')],
    "service-binding.ts": [imported("./console/x.ts")],
    "app.ts": [imported("./service-binding.ts")],
    "probe.ts": [imported("./core/x.ts"), imported("./console/x.ts")],
  },
};

/** Code that looks like the refused, and that lint accepts. */
const ACCEPTED: Code = {
  "core/probe.ts": [exported("Math.min(1, 2)"), imported("./time.ts")],
  "core/events/probe.ts": [imported("../record/x.ts"), imported("../time.ts")],
  "core/views/probe.ts": [imported("../record/x.ts")],
  "core/duties/probe.ts": [imported("../events/x.ts"), imported("../views/x.ts")],
  "core/transition.ts": [imported("./duties/x.ts")],
  "providers/kling/probe.examples.ts": [
    imported("../shared/examples/x.ts"),
    imported("../../core/x.ts"),
  ],
  "providers/registry.ts": [imported("./kling/kling.ts")],
  "providers/shared/probe.ts": [imported("../provider.ts"), imported("../../core/x.ts")],
  "security/probe.ts": [imported("../lib/log.ts"), exported("Date.now()")],
  "objects/task/probe.ts": [
    'import * as z from "zod/mini"; export const text = z.string();',
    imported("../object-names.ts"),
  ],
  "api/probe.ts": [imported("hono"), imported("./http/x.ts"), imported("../env.ts")],
  "api/probe.openapi.ts": [imported("./x.ts"), imported("./tasks/x.openapi.ts")],
  "api/http/probe.openapi.ts": [imported("../outputs/x.ts"), imported("./x.openapi.ts")],
  "api/http/probe.ts": [imported("./x.ts"), imported("../../objects/task/x.ts")],
  "api/mcp/probe.ts": ["export type { Tool } from '@modelcontextprotocol/server';"],
  "api/mcp/mcp-sdk.ts": [imported("@modelcontextprotocol/server")],
  "api/mcp/load-mcp-sdk.ts": [exported('import("./mcp-sdk.ts")')],
  "service-binding.ts": [imported("./app.ts")],
  "objects/placed-object.ts": NAMESPACE_CALLS.map(exported),
  "outbound/http.ts": [exported("fetch('https://example.com')")],
  "console/client/probe.js": [exported("fetch('/x')")],
  "index.ts": [imported("./service-binding.ts"), imported("./cron/cron.ts")],
};

function exported(expression: string): string {
  return `export const value = ${expression};`;
}

function imported(path: string): string {
  return `export * from "${path}";`;
}

/** Rows of layers, as CONTRIBUTING.md states their order. */
const ROWS = orderIn(readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8"));

function orderIn(page: string): readonly (readonly string[])[] {
  const [, order = ""] = /Imports go one way: `(.*?)`/.exec(page) ?? [];
  return order.split(" ← ").map((row) => row.split(", "));
}

const isFile = (name: string) => ["app", "index"].includes(name);

/** The imports of every layer by every other, and of zod by each, into those refused and those accepted. */
function importsOfLayers(): { readonly refused: Code; readonly accepted: Code } {
  const layers = ROWS.flatMap((names, row) => names.map((name) => ({ name, row })));
  const codeOf = (isRefused: boolean) =>
    Object.fromEntries(
      layers.map((reader) => {
        const others = layers.filter(({ name }) => name !== reader.name);
        const chosen = others.filter(({ name, row }) => {
          const isKept = name === "console" && reader.name !== "app";
          const isPast = name === "index-db" && reader.name === "console";
          const isAllowed = row < reader.row && !isKept && !isPast;
          return isAllowed !== isRefused;
        });
        const up = isFile(reader.name) ? "." : "..";
        const lines = chosen.map(({ name }) => `${up}/${name}${isFile(name) ? "" : "/x"}.ts`);
        return [
          `${reader.name}${isFile(reader.name) ? "" : "/layer"}.ts`,
          [...lines, ...(isRefused ? ["zod"] : [])].map(imported),
        ];
      }),
    );
  return { refused: codeOf(true), accepted: codeOf(false) };
}

/** Joins the lines that several parts have for a file. */
function joined(parts: readonly Code[]): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, string[]>();
  for (const [file, lines] of parts.flatMap((part) => Object.entries(part))) {
    const all = files.get(file) ?? [];
    // Each line has names of its own: a file that is no valid module would not be linted at all.
    for (const line of lines) all.push(line.replace("const value", `const value${all.length}`));
    files.set(file, all);
  }
  return files;
}

/**
 * Lints all these lines in one run, in a directory of their own, because concurrent checks would see a file of a
 * test among the real sources. @returns the refused lines, each with the rule that says so.
 */
function lint(parts: readonly Code[]): ReadonlySet<string> {
  const tree = mkdtempSync(join(tmpdir(), "task-relay-lint-"));
  try {
    // Layers that import each other are no mistake here: both directions are tried.
    const config = `import config from ${JSON.stringify(join(ROOT, "oxlint.config.ts"))};
      export default { ...config, rules: { ...config.rules, "import/no-cycle": "off" } };`;
    writeFileSync(join(tree, "oxlint.config.ts"), config);
    const files = joined(parts);
    for (const [file, lines] of files) {
      const path = join(tree, "src", file);
      mkdirSync(join(path, ".."), { recursive: true });
      writeFileSync(path, `${lines.join("\n")}\n`);
    }
    const args = [join(ROOT, "node_modules/oxlint/bin/oxlint"), "-f", "unix", "src"];
    const { stdout } = spawnSync(process.execPath, args, { cwd: tree, encoding: "utf8" });
    const reports = stdout.matchAll(/^src\/(.*?):(\d+):.*\[\w+\/(?:[\w-]+\()?([\w-]+)\)?\]$/gm);
    const refused = [...reports].map(([, file = "", line, rule]) => {
      const text = files.get(file)?.[Number(line) - 1] ?? "";
      return `${file}: ${text.replace(/const value\d+/, "const value")} (${rule})`;
    });
    return new Set(refused);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

/** Returns the reports that lint has to write about these lines. */
function reportsOf(code: Code, rule: string): readonly string[] {
  return Object.entries(code).flatMap(([file, lines]) =>
    lines.map((line) => `${file}: ${line} (${rule})`),
  );
}

it("lint refuses imports against the direction that CONTRIBUTING.md states, and imports of zod instead of zod/mini, and accepts all other imports", () => {
  const { refused, accepted } = importsOfLayers();
  expect(ROWS.length).toBeGreaterThan(10);
  expect(lint([refused, accepted])).toEqual(new Set(reportsOf(refused, IMPORTS)));
});

it("lint refuses clocks, randomness and I/O in src/core, fetch outside http.ts and getting Durable Objects outside placed-object.ts, and accepts similar code", () => {
  const expected = Object.entries(REFUSED).flatMap(([rule, code]) => reportsOf(code, rule));
  expect(lint([...Object.values(REFUSED), ACCEPTED])).toEqual(new Set(expected));
});
