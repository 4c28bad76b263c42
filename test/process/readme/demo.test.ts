import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { PROJECT } from "./checkout.ts";

it("tells the whole story in under 30 s and ends by itself without a terminal", () => {
  const demo = spawnSync("node", ["scripts/demo.ts"], {
    cwd: PROJECT,
    encoding: "utf8",
    timeout: 30_000,
  });
  expect(demo.stderr).toBe("");
  expect(demo.status).toBe(0);
  const story = [
    /POST http:\S+\/v1\/tasks/,
    /hook_url: http:\S+\/hooks\/ark\//,
    /"id": "cgt-\S+"/,
    /"status": "completed"/,
    /"outcome": "unreachable"/,
    /"x-attempt": "2"/,
    /body: \{"id":/,
    /signature: valid/,
    /"status": "delivered"/,
  ];
  const places = story.map((line) => demo.stdout.search(line));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
});
