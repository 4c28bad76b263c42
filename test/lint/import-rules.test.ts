import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";

/** Code that lint must refuse, by the file that contains it. */
const REFUSED = {
  "src/core/probe.ts": [
    ["a call of Date.now", "export const now = Date.now();", "'Date'"],
    ["a call of new Date", "export const now = new Date();", "'Date'"],
    ["a call of Math.random", "export const dice = Math.random();", "'Math.random'"],
    ["a call of fetch", 'export const answer = fetch("https://example.com");', "'fetch'"],
    ["a use of crypto", "export const id = crypto.randomUUID();", "'crypto'"],
    [
      "fetch taken out of globalThis under another name",
      "export const { fetch: get } = globalThis;",
      "'globalThis'",
    ],
    ["a use of Temporal", "export const now = Temporal.Now.instant();", "'Temporal'"],
    ["an async function", "export async function later() { return 1; }", "require-await"],
    ["a call of setTimeout", "setTimeout(() => {}, 1);", "'setTimeout'"],
    ["a use of Promise", "export const later = Promise.resolve();", "'Promise'"],
    ["a call of console.log", 'console.log("here");', "'console'"],
    [
      "an import from src/config",
      'export { x } from "../config/config.ts";',
      "'../config/config.ts'",
    ],
    [
      "an import of cloudflare:workers",
      'export { env } from "cloudflare:workers";',
      "'cloudflare:workers'",
    ],
  ],
  "src/task-object/probe.ts": [
    ["an import from src/api", 'export { x } from "../api/routes.ts";', "'../api/routes.ts'"],
    [
      "a call of getByName of a Durable Object namespace",
      'export const stub = TASKS.getByName("x");',
      "'getByName'",
    ],
    [
      "getByName destructured from a Durable Object namespace",
      "export const { getByName } = env.TASKS;",
      "'getByName'",
    ],
    [
      "a call of idFromName of a Durable Object namespace",
      'export const id = TASKS.idFromName("x");',
      "'idFromName'",
    ],
    [
      "a call of idFromString of a Durable Object namespace",
      'export const id = TASKS.idFromString("x");',
      "'idFromString'",
    ],
    [
      "a call of newUniqueId of a Durable Object namespace",
      "export const id = TASKS.newUniqueId();",
      "'newUniqueId'",
    ],
    [
      "a call of AbortSignal.timeout",
      "export const signal = AbortSignal.timeout(1);",
      "AbortSignal.timeout",
    ],
  ],
  "src/core/record/probe.ts": [
    [
      "an import from src/core/views",
      'export { x } from "../views/view.ts";',
      "'../views/view.ts'",
    ],
    [
      "an import from src/core/events",
      'export { x } from "../events/event.ts";',
      "'../events/event.ts'",
    ],
    ["an import of src/log.ts", 'export { x } from "../../log.ts";', "'../../log.ts'"],
  ],
  "src/core/events/probe.ts": [
    [
      "an import from src/core/views",
      'export { x } from "../views/view.ts";',
      "'../views/view.ts'",
    ],
  ],
  "src/core/views/probe.ts": [
    [
      "an import from src/core/events",
      'export { x } from "../events/event.ts";',
      "'../events/event.ts'",
    ],
  ],
  "src/security/probe.ts": [
    [
      "an import from src/api",
      'export { x } from "../api/http/route.ts";',
      "'../api/http/route.ts'",
    ],
    [
      "an import from src/config",
      'export { x } from "../config/config.ts";',
      "'../config/config.ts'",
    ],
    ["an import of the package hono", 'export { Hono } from "hono";', "'hono'"],
  ],
  "src/providers/probe.ts": [
    [
      "an import of src/outbound",
      'export { x } from "../outbound/http.ts";',
      "'../outbound/http.ts'",
    ],
  ],
  "src/config/probe.ts": [
    [
      "an import of src/task-object",
      'export { x } from "../task-object/reply.ts";',
      "'../task-object/reply.ts'",
    ],
  ],
  "src/outbound/probe.ts": [
    ["a call of fetch", 'export const answer = fetch("https://example.com");', "'fetch'"],
    [
      "an import of src/account",
      'export { x } from "../account/names.ts";',
      "'../account/names.ts'",
    ],
  ],
  "src/account/probe.ts": [
    [
      "an import of src/task-object",
      'export { x } from "../task-object/reply.ts";',
      "'../task-object/reply.ts'",
    ],
  ],
  "src/index-db/probe.ts": [
    ["an import from src/api", 'export { x } from "../api/routes.ts";', "'../api/routes.ts'"],
  ],
  "src/api/http/probe.ts": [
    [
      "an import of the route src/api/health.ts",
      'export { x } from "../health.ts";',
      "'../health.ts'",
    ],
    ["an import of src/api/tasks", 'export { x } from "../tasks/wait.ts";', "'../tasks/wait.ts'"],
    ["an import of src/app.ts", 'export { x } from "../../app.ts";', "'../../app.ts'"],
  ],
  "src/api/probe.ts": [
    ["a call of fetch", 'export const answer = fetch("https://example.com");', "'fetch'"],
    ["an import of src/app.ts", 'export { x } from "../app.ts";', "'../app.ts'"],
    ["an import of src/console", 'export { x } from "../console/x.ts";', "'../console/x.ts'"],
    [
      "an import() of src/console",
      'export const x = import("../console/x.ts");',
      "'../console/x.ts'",
    ],
  ],
  "src/cron.ts": [
    ["an import of src/console", 'export { x } from "./console/x.ts";', "'./console/x.ts'"],
  ],
  "src/console/probe.tsx": [
    ["an import of src/app.ts", 'export { x } from "../app.ts";', "'../app.ts'"],
    ["a call of fetch", 'export const answer = fetch("https://example.com");', "'fetch'"],
    ["an image without a text", "export const image = <img src='/x' />;", "alt-text"],
  ],
} as const;

/** Code that lint must refuse everywhere in src. */
const PLAIN_ZOD = ["an import of the package zod", 'export * as z from "zod";', "'zod'"] as const;

/** Code that these lint rules must accept, by the file that contains it. */
const ACCEPTED = [
  ["src/core/probe.ts", 'export { x } from "./record/task.ts";'],
  ["src/core/events/probe.ts", 'export { x } from "../record/task.ts";'],
  ["src/core/views/probe.ts", 'export { x } from "../json.ts";'],
  ["src/api/probe.ts", 'export { x } from "../task-object/reply.ts";'],
  ["src/app.ts", 'export const later = import("./console/index.tsx");'],
  ["src/console/probe.tsx", 'export { x } from "../api/http/problem.ts";'],
  ["src/api/http/probe.ts", 'export { x } from "../../task-object/reply.ts";'],
  ["src/probe.ts", "export const now = Date.now();"],
  ["src/objects.ts", 'export const stub = TASKS.getByName("x");'],
  ["src/outbound/http.ts", 'export const answer = fetch("https://example.com");'],
  ["src/task-object/probe.ts", 'import * as z from "zod/mini"; export const text = z.string();'],
] as const;

// Lint runs on a directory of its own, because concurrent checks would see a test file among the real sources.
let tree: string;

beforeAll(() => {
  tree = mkdtempSync(join(tmpdir(), "task-relay-lint-"));
  copyFileSync(join(ROOT, ".oxlintrc.json"), join(tree, ".oxlintrc.json"));
});

afterAll(() => rmSync(tree, { recursive: true, force: true }));

/** Lints one line of code as the content of `file`. */
function lint(file: string, code: string): { readonly ok: boolean; readonly report: string } {
  mkdirSync(join(tree, file, ".."), { recursive: true });
  writeFileSync(join(tree, file), `${code}\n`);
  const { status, stdout } = spawnSync(
    join(ROOT, "node_modules/.bin/oxlint"),
    ["-f", "unix", file],
    { cwd: tree, encoding: "utf8" },
  );
  return { ok: status === 0, report: stdout };
}

const rows = Object.entries(REFUSED).flatMap(([file, probes]) =>
  [...probes, PLAIN_ZOD].map(([what, code, named]) => [file, what, code, named] as const),
);

it.each(rows)("oxlint refuses a file %s that contains %s", (file, _what, code, named) => {
  const { ok, report } = lint(file, code);
  expect(report).toContain(named);
  expect(ok).toBe(false);
});

it.each(ACCEPTED)("oxlint accepts a file %s that contains only: %s", (file, code) => {
  expect(lint(file, code)).toMatchObject({ ok: true });
});
