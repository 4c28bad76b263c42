import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { minutesOf, partsOf } from "../../../scripts/proof/parts.ts";
import { isProved, reportOf } from "../../../scripts/proof/report.ts";
import { ROOT } from "../harness/child.ts";

const seeds = (first: number) => () => first++;

it.each([
  [10, 600_000, 10_000, 1, 1],
  [1, 60_000, 1_000, 0.1, 1],
  [60, 3_600_000, 60_000, 6, 6],
])(
  "npm run proof for %i minutes runs the tests of stored real answers, and simulation of tasks, simulation of queues, planted bugs, fuzz tests and chaos test, these five with a seed each",
  (minutes, lives, queues, scale, chaos) => {
    expect(partsOf(minutes, seeds(7)).map(({ command }) => command)).toEqual([
      "npx vitest run --project core test/providers/corpus",
      `npm run sim -- --seed 7 --lives ${lives}`,
      `npm run sim -- --queues --seed 8 --lives ${queues}`,
      "npm run sim:planted -- --seed 9",
      `FUZZ_SEED=10 FUZZ_SCALE=${scale} npm run fuzz`,
      `npm run chaos -- --minutes ${chaos} --seed 11`,
    ]);
  },
);

it("npm run proof uses new seeds at every run, and every npm script that it starts exists in package.json", () => {
  const [first, second] = [partsOf(10).slice(1), partsOf(10).slice(1)];
  expect(first.filter((part, i) => part.command === second[i]?.command)).toEqual([]);
  const { scripts }: { scripts: object } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  );
  const names = first.map(({ command }) => /npm run ([\w:]+)/.exec(command)?.[1]);
  expect(names.filter((name = "") => !Object.hasOwn(scripts, name))).toEqual([]);
});

it.each([
  ["without options runs for 10 minutes", [], 10],
  ["with --minutes 2.5 runs for 2.5 minutes", ["--minutes", "2.5"], 2.5],
  ["refuses --minutes 0", ["--minutes", "0"], null],
  ["refuses --minutes x", ["--minutes", "x"], null],
  ["refuses an unknown option", ["--seed", "1"], null],
])(
  "npm run proof takes no option but --minutes, which is at least 1 and by default 10: npm run proof %s",
  (_, args, minutes) => {
    expect(minutesOf(args)).toBe(minutes);
  },
);

const SIMULATION = { name: "simulation", command: "npm run sim -- --seed 7 --lives 300000" };
const HELD = { ...SIMULATION, isHeld: true, output: "", seconds: 61.2, log: "a.log" };

it.each([
  ["that has passed", HELD, "held    simulation, in 61 s: npm run sim -- --seed 7 --lives 300000"],
  [
    "that has failed",
    { ...HELD, isHeld: false },
    "BROKEN  simulation: npm run sim -- --seed 7 --lives 300000 (output: a.log)",
  ],
  [
    "that has failed and has printed the command for the one simulated task that fails",
    { ...HELD, isHeld: false, output: "seed 7\n\nBROKEN: npm run sim -- --seed 99 --lives 1\nx" },
    "BROKEN  simulation: npm run sim -- --seed 99 --lives 1 (output: a.log)",
  ],
])(
  "for a part of its checks %s, npm run proof prints one line with the command that runs the part again",
  (_, outcome, line) => {
    expect(reportOf(outcome)).toBe(line);
  },
);

it("npm run proof succeeds only if every part of it has passed", () => {
  expect(isProved([HELD, HELD])).toBe(true);
  expect(isProved([HELD, { ...HELD, isHeld: false }])).toBe(false);
  expect(isProved([])).toBe(false);
});
