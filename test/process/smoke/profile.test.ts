import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { RULES } from "../../../bench/profile/activities.ts";
import { type Profile, sharesOf, timesOf } from "../../../bench/profile/profile.ts";
import { ROOT } from "../harness/child.ts";

const SCRIPT = [
  "// an outer frame",
  "// src/core/record/record-schema.ts",
  "function parseRecord() {}",
  "// node_modules/zod/v4/mini/parse.js",
  "function parse() {}",
  "// src/api/http/body.ts",
  "function validate() {}",
  "// src/env.ts",
  "function bindings() {}",
].join("\n");
const ROOT_FRAME = node(1, "(root)", -1, [2, 4, 6, 7, 8, 9]);
const PROFILE: Profile = {
  nodes: [
    ROOT_FRAME,
    node(2, "parseRecord", 2, [3, 11]),
    node(3, "parse", 4),
    node(4, "validate2", 6, [5, 10]),
    node(5, "parse", 4),
    node(6, "bindings", 8),
    node(7, "(idle)", -1),
    node(8, "(garbage collector)", -1),
    node(9, "(program)", -1),
    node(10, "setTimeout", 2, [], "node-internal:internal_timers"),
    node(11, "", 6, [], ""),
  ],
  samples: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
  timeDeltas: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
};

function node(
  id: number,
  functionName: string,
  lineNumber: number,
  children: number[] = [],
  url = "index.js",
) {
  return { id, callFrame: { functionName, url, lineNumber }, children };
}

it("npm run bench:profile counts a package's CPU time for the innermost function of the relay that called it and that one of its rules names", () => {
  const times = [...timesOf(sharesOf(PROFILE, SCRIPT))].filter(([, us]) => us > 0);
  expect(times).toEqual([
    ["validate: read and check the body and the URLs", 4 + 8 + 256],
    ["validate the record before it is stored", 1 + 2 + 512],
    ["other", 16],
    ["the platform, outside of any function", 128],
    ["collect garbage", 64],
  ]);
});

it.each(RULES.map(({ path, functions }) => ({ path, functions: functions ?? [] })))(
  "every function named by a rule of npm run bench:profile exists in the file that the rule names: $path",
  ({ path, functions }) => {
    expect(existsSync(join(ROOT, path))).toBe(true);
    if (functions.length === 0) return;
    const source = readFileSync(join(ROOT, path), "utf8");
    for (const name of functions) {
      expect(source).toMatch(
        new RegExp(`(?:function |^ +(?:override )?(?:async )?)${name}\\(`, "m"),
      );
    }
  },
);
