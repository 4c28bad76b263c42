import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { Child, ROOT } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { Checkout, newcomersEnvironment } from "./checkout.ts";

const Description = z.object({
  paths: z.object({
    "/v1/tasks": z.object({
      get: z.object({
        parameters: z.array(
          z.object({
            name: z.string(),
            schema: z.object({ enum: z.array(z.string()).optional() }),
          }),
        ),
      }),
    }),
  }),
});

const clone = new Checkout();
let output = "";

beforeAll(async () => {
  output = clone.run(`npm run demo -- --port ${await freePort()}`);
}, 180_000);
afterAll(() => clone[Symbol.dispose]());

it("npm run demo prints each step up to a callback as in README.md; when it runs without a terminal, it ends by itself and prints no key", () => {
  const course = [
    /POST http:\S+\/v1\/submit\/ark\/contents\/generations\/tasks/,
    /"id": "cgt-\S+"/,
    /Relay-Task-Id: [\da-f-]{36}/,
    /hook_url .*: http:\S+\/hooks\/ark\//,
    /waits for 2 s instead of 3 minutes/,
    /"status": "completed"/,
    /"outcome": "unreachable"/,
    /"x-attempt": "2"/,
    /body: \{"id":/,
    /signature: valid/,
    /"status": "delivered"/,
    /npm run demo -- --open/,
  ];
  const positions = course.map((line) => output.search(line));
  expect(positions).not.toContain(-1);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  expect(output).not.toMatch(/Console: |Operator key: |trk_acme_/);

  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const shown = /^```json\n(.*)\n```$/m.exec(readme)?.[1] ?? "";
  const sent = /^.*body: (\{"id":.*\})$/m.exec(output)?.[1] ?? "";
  expect(shapeOf(sent)).toEqual(shapeOf(shown));
});

it.each([
  ["status of a task", "tasks", "status"],
  ["status of a callback", "callbacks", "callback"],
  ["outcome of an attempt", "attempts", "outcome"],
])(
  "the tasks that npm run demo creates show every %s that the API description names, but for paused, which an operator orders, and open, which stands for two others",
  (_, name, filter) => {
    const line = new RegExp(`^ +${name}: (.*)$`, "m").exec(output)?.[1] ?? "";
    const shown = line.split(", ").map((entry) => entry.replace(/^\d+ /, ""));
    const described = describedValues(filter).filter(
      (value) => value !== "paused" && value !== "open",
    );
    expect(shown.toSorted()).toEqual(described.toSorted());
  },
);

it("npm run demo -- --open prints the console's address and the keys for the login, opens the console in a browser, and keeps running", async () => {
  const browsers = mkdtempSync(join(tmpdir(), "task-relay-browsers-"));
  for (const name of ["open", "xdg-open"]) {
    writeFileSync(join(browsers, name), '#!/bin/sh\necho "$1" > "$0.url"\n', { mode: 0o755 });
  }
  const env = newcomersEnvironment();
  env["PATH"] = `${browsers}:${env["PATH"] ?? ""}`;
  const port = String(await freePort());
  const args = ["--prefix", clone.directory, "run", "demo", "--", "--port", port, "--open"];
  const demo = new Child("npm", args, env);
  try {
    await expect.poll(() => demo.output, { timeout: 90_000 }).toContain("until Ctrl-C");
    expect(demo.output).toContain("Operator key: OPERATOR_KEYS in .dev.vars");
    expect(demo.output).toMatch(/^Switched on: .*ALLOW_LOCAL_CALLBACKS, .*connection ark/m);
    const [, origin = ""] = /^ +Console: (\S+)\/$/m.exec(demo.output) ?? [];
    expect(demo.output).toContain(`PUBLIC_URL=${origin}, `);
    const opened = () =>
      globSync(join(browsers, "*.url")).map((file) => readFileSync(file, "utf8"));
    await expect.poll(opened).toEqual([`${origin}/\n`]);
    for (const name of ["Operator key", "Key of the account acme"]) {
      const [, key = ""] = new RegExp(`^ +${name}: (\\S+)$`, "m").exec(demo.output) ?? [];
      const headers = { Authorization: `Bearer ${key}` };
      expect((await fetch(`${origin}/v1/tasks`, { headers })).status).toBe(200);
    }
  } finally {
    demo.signal("SIGTERM");
    await demo.ended();
    rmSync(browsers, { recursive: true });
  }
});

/** Returns the values that a filter of `GET /v1/tasks` can have, as `openapi.json` describes them. */
function describedValues(filter: string): readonly string[] {
  const description = JSON.parse(readFileSync(join(ROOT, "openapi.json"), "utf8"));
  const { parameters } = Description.parse(description).paths["/v1/tasks"].get;
  return parameters.find(({ name }) => name === filter)?.schema.enum ?? [];
}

/** Replaces what differs between two runs of the demo: the id, the times and the seed. */
function shapeOf(body: string): string {
  return body.replaceAll(/"[\da-f-]{36}"|\b\d{5,}\b/g, "…");
}
