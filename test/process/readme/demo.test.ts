import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import * as z from "zod";
import { ROOT } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { Checkout } from "./checkout.ts";

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

it("npm run demo prints each step up to a callback with the members of the example in README.md, and ends by itself without a terminal", () => {
  const course = [
    /Relay: http:\S+/,
    /Console: http:\S+\/, where/,
    /Operator key: OPERATOR_KEYS in .dev.vars/,
    /Switched on: ALLOW_LOCAL_CALLBACKS, .*connection ark/,
    /POST http:\S+\/v1\/submit\/ark\/contents\/generations\/tasks/,
    /"id": "cgt-\S+"/,
    /Relay-Task-Id: [\da-f-]{36}/,
    /hook_url .*: http:\S+\/hooks\/ark\//,
    /"status": "completed"/,
    /"outcome": "unreachable"/,
    /"x-attempt": "2"/,
    /body: \{"id":/,
    /signature: valid/,
    /"status": "delivered"/,
    /Console: http:\S+\/\n/,
    /Operator key: [\w-]{43}\n/,
    /Key of the account acme: trk_acme_/,
  ];
  const positions = course.map((line) => output.search(line));
  expect(positions).not.toContain(-1);
  expect(positions).toEqual(positions.toSorted((a, b) => a - b));

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
  "npm run demo leaves tasks with every %s that the description of the API names",
  (_, name, filter) => {
    const line = new RegExp(`^ +${name}: (.*)$`, "m").exec(output)?.[1] ?? "";
    const shown = line.split(", ").map((entry) => entry.replace(/^\d+ /, ""));
    expect(shown.toSorted()).toEqual(describedValues(filter).toSorted());
  },
);

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
