import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { ROOT } from "../harness/child.ts";
import { freePort } from "../harness/loopback.ts";
import { Checkout } from "./checkout.ts";

const clone = new Checkout();

afterAll(() => clone[Symbol.dispose]());

it("npm run demo prints each step from registration to callback, whose body has the members of the example in README.md, and ends by itself when it has no terminal", async () => {
  const output = clone.run(`npm run demo -- --port ${await freePort()}`);
  const course = [
    /Relay: http:\S+/,
    /Console: http:\S+\/, where/,
    /Operator key: OPERATOR_KEYS in .dev.vars/,
    /Switched on: ALLOW_LOCAL_CALLBACKS, .*connection ark/,
    /POST http:\S+\/v1\/tasks/,
    /hook_url: http:\S+\/hooks\/ark\//,
    /"id": "cgt-\S+"/,
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

/** Replaces what differs between two runs of the demo: the id, the times and the seed. */
function shapeOf(body: string): string {
  return body.replaceAll(/"[\da-f-]{36}"|\b\d{5,}\b/g, "…");
}
