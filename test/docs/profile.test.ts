import { expect, it } from "vitest";
import { grouped, partOf, timeByFile } from "../../bench/profile/parts.ts";

const SCRIPT = [
  "// node_modules/hono/dist/compose.js",
  "function compose() {}",
  "// src/objects/task/record-store.ts",
  "function store() {}",
].join("\n");
const frame = (functionName: string, lineNumber = -1) => ({ functionName, lineNumber });
const PROFILE = {
  nodes: [
    { id: 1, callFrame: frame("(root)"), children: [2, 3, 6, 7] },
    { id: 2, callFrame: frame("(idle)") },
    { id: 3, callFrame: frame("compose", 1), children: [4] },
    { id: 4, callFrame: frame("store", 3), children: [5] },
    { id: 5, callFrame: frame("put") },
    { id: 6, callFrame: frame("(garbage collector)") },
    { id: 7, callFrame: frame("put") },
  ],
  samples: [2, 3, 4, 5, 5, 6, 7],
  timeDeltas: [1, 2, 4, 8, 16, 32, 64],
};

it("the summary of a CPU profile adds up times by source file, and counts a call of a platform function for the file that made the call", () => {
  expect(timeByFile(PROFILE, SCRIPT)).toEqual(
    new Map([
      ["node_modules/hono/dist/compose.js", 2],
      ["src/objects/task/record-store.ts", 28],
      ["(garbage collector)", 32],
      ["(platform)", 64],
    ]),
  );
});

it("the CPU times of source files are added up by npm package and by folder of src, and listed with the longest first", () => {
  const times = new Map([
    ["src/core/step.ts", 1],
    ["node_modules/@scope/name/a.js", 4],
    ["src/core/events/hooks.ts", 2],
    ["src/log.ts", 8],
  ]);
  expect(grouped(times, partOf)).toEqual([
    ["src/log.ts", 8],
    ["@scope/name", 4],
    ["src/core", 3],
  ]);
});
