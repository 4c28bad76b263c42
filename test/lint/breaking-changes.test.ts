import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { ROOT } from "../process/harness/child.ts";

const CLIENT = join(ROOT, "client");
const COMPARISON = join(CLIENT, "compatibility/breaking-changes.ts");
const TEXT = readFileSync(join(ROOT, "openapi.json"), "utf8");
const TEST_BODY = "paths#/v1/callbacks/test#post#requestBody#content#application/json#schema".split(
  "#",
);
const ACCOUNT = ["components", "schemas", "Account"];
const OPTIONAL = { type: "string" };

/** Edits of openapi.json: the members to set in the objects at these paths, and the error, null for none. */
const EDITS: readonly (readonly [string, string | null, ...(readonly [string[], object])[]])[] = [
  [
    "an optional field, an operation and a member of an answer are added",
    null,
    [[...TEST_BODY, "properties"], { note: OPTIONAL }],
    [["components", "schemas", "TestOutcome", "properties"], { note: OPTIONAL }],
    [["paths"], { "/v1/new": { get: { responses: { 200: { description: "new" } } } } }],
  ],
  [
    "a field becomes required",
    "post /v1/callbacks/test: a request is no longer accepted: status",
    [TEST_BODY, { required: ["callback_url", "status"] }],
  ],
  [
    "a field is gone",
    "post /v1/callbacks/test: a parameter or field is gone: status",
    [[...TEST_BODY, "properties"], { status: undefined }],
  ],
  [
    "an answer no longer always has a member",
    "get /v1/accounts/{account}: the answer 200 is not as before: balance",
    [ACCOUNT, { required: ["id", "created_at"] }],
  ],
  [
    "a member of an answer gets another value",
    "post /v1/tasks/{id}/verify: the answer 200 is not as before: verdict",
    [["components", "schemas", "Verdict", "properties", "verdict"], { enum: ["valid", "other"] }],
  ],
  [
    "a value in a task, which problems may have, is another",
    "problems are not as before: task",
    [["components", "schemas", "Outcome"], { enum: ["delivered", "lost"] }],
  ],
  [
    "an answer no longer always has a header",
    "get /metrics: the answer 200 is not as before",
    ["paths#/metrics#get#responses#200#headers#Vary".split("#"), { required: false }],
  ],
  [
    "an answer is gone",
    "post /v1/tasks/{id}/cancel: the answer 202 is gone",
    ["paths#/v1/tasks/{id}/cancel#post#responses".split("#"), { 202: undefined }],
  ],
  ["an operation is gone", "post /v1/wake: is gone", [["paths", "/v1/wake"], { post: undefined }]],
  [
    "a callback no longer always has a member",
    "task.failed: its body is not as before: error",
    [
      ["components", "schemas", "FailedCallback"],
      { required: ["id", "status", "model", "created_at"] },
    ],
  ],
];

const home = mkdtempSync(join(tmpdir(), "task-relay-changes-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const errors = errorsOfEdits();

it.each(
  EDITS.map(
    ([title, error], n) =>
      [
        error === null ? "no error" : `the error "${error.replace(/^: /, "")}"`,
        title,
        n,
        error,
      ] as const,
  ),
)(
  "npm run types, which compares openapi.json with that of the previous release, reports %s when %s",
  (_found, _, n, error) => {
    const own = errors.filter((line) => line.startsWith(`${n}/`)).join("\n");
    if (error === null) expect(own).toBe("");
    else expect(own).toContain(error);
  },
);

/**
 * Generates the types of every edited document, and returns the lines that the type checker prints about them.
 */
function errorsOfEdits(): readonly string[] {
  const apis = EDITS.map(([, , ...sets], n) => {
    const document: unknown = JSON.parse(TEXT);
    for (const [path, members] of sets) Object.assign(at(document, path), members);
    mkdirSync(join(home, `${n}/compatibility`), { recursive: true });
    writeFileSync(join(home, `${n}.json`), JSON.stringify(document));
    const kept = join(home, `${n}/compatibility/kept-schema.d.ts`);
    cpSync(join(CLIENT, "src/schema.d.ts"), kept);
    cpSync(COMPARISON, join(home, `${n}/compatibility/breaking-changes.ts`));
    const output = `${n}/src/schema.d.ts`;
    return [`edit-${n}`, { root: `${n}.json`, "x-openapi-ts": { output } }] as const;
  });
  writeFileSync(
    join(home, "redocly.yaml"),
    JSON.stringify({ apis: Object.fromEntries(apis), extends: [] }),
  );
  execFileSync(join(CLIENT, "node_modules/.bin/openapi-typescript"), { cwd: home });
  const config = { extends: join(ROOT, "tsconfig.base.json"), include: ["*/compatibility/*.ts"] };
  const compilerOptions = { types: [], incremental: false };
  writeFileSync(join(home, "tsconfig.json"), JSON.stringify({ ...config, compilerOptions }));
  const { stdout } = spawnSync(join(ROOT, "node_modules/.bin/tsc"), { cwd: home });
  return stdout.toString().split("\n");
}

function at(document: unknown, path: readonly string[]): object {
  const found = path.reduce<unknown>((value, name) => Reflect.get(Object(value), name), document);
  if (typeof found === "object" && found !== null) return found;
  throw new Error(`openapi.json has no ${path.join("/")}`);
}
