import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { page as outagePage } from "../../../bench/outage/page.ts";
import { checksOf } from "../../../bench/throughput/checks.ts";
import { checkLines, page, tablesOf } from "../../../bench/throughput/page.ts";
import { QUICK } from "../../../bench/throughput/plan.ts";
import type { InRound, PlaceResult } from "../../../bench/throughput/results.ts";
import type { Round } from "../../../bench/throughput/round.ts";
import { ROOT } from "../harness/child.ts";

/** Builds a round in which every callback takes `ms` milliseconds. */
function round(deliveredPerS: number, cpuMs: number, ms: number, number = 0): InRound<Round> {
  const faults = { lost: 1, doubled: 0, refused: 2 };
  const driverCpuMs = 0.25;
  const latencies = { acceptMs: [1, 2], callbackMs: [ms, ms] };
  return {
    ...latencies,
    acceptedPerS: deliveredPerS,
    deliveredPerS,
    cpuMs,
    driverCpuMs,
    ...faults,
    number,
  };
}

const [place] = QUICK.places;
if (place === undefined) throw new Error("the short comparison has no place");
const busy = [round(700, 1.3, 40), round(100, 9, 400, 1), round(400, 2, 80, 2)];
const MEASURED: PlaceResult = {
  place,
  series: [
    { contender: "promises", connections: 1, rounds: [round(500, 1, 2)] },
    { contender: "event", connections: 1, rounds: [round(300, 2, 3)] },
    { contender: "twin", connections: 1, rounds: [round(300, 2, 3.3)] },
    { contender: "promises", connections: 32, rounds: busy },
    {
      contender: "event",
      connections: 32,
      rounds: [round(595, 1.6, 50), round(90, 9.9, 400, 1), round(348, 2.5, 80, 2)],
    },
    {
      contender: "twin",
      connections: 32,
      rounds: [round(595, 1.6, 50), round(81, 9.9, 400, 1), round(365.4, 2.5, 80, 2)],
    },
  ],
  reads: [
    { contender: "promises", rounds: [{ readsPerS: 1000, readMs: [10], cpuMs: 0.5, number: 0 }] },
    { contender: "event", rounds: [{ readsPerS: 900, readMs: [11], cpuMs: 0.6, number: 0 }] },
  ],
};
const MACHINE = { startedAt: new Date(0), hardware: "2 cores", versions: "workerd 1", load: [0.5] };

describe("the report of npm run bench", () => {
  it("npm run bench reports the figures of two runs of the relay divided by those of a minimal Worker with the same promises, with the spread of each ratio and its limit", () => {
    expect(checkLines(checksOf([MEASURED])).split("\n")).toEqual([
      "- pass: delivered/s, 32 connections (tmpfs): 0.85 × (0.85 to 0.90) that of the floor with promises, must be at least 0.85; goal 0.90: not reached; the same relay again: 1.00 × (0.90 to 1.05)",
      "- CPU time per task, 32 connections (tmpfs): 1.23 × (1.10 to 1.25) that of the floor with promises; the same relay again: 1.00 × (1.00 to 1.00)",
      "- **fail**: callback p50, 1 connection (tmpfs): 1.50 × (1.50 to 1.65) that of the floor with promises, must be at most 1.10; the same relay again: 1.10 × (1.10 to 1.10)",
      "- pass: reads/s, 32 connections (tmpfs): 0.90 × (0.90 to 0.90) that of the floor with promises, must be at least 0.85",
      "- CPU time per read, 32 connections (tmpfs): 1.20 × (1.20 to 1.20) that of the floor with promises",
    ]);
  });

  it("npm run bench reports its tables, the comparisons with the limits, the machine and a link to the chart", () => {
    const text = page([MEASURED], MACHINE, "results.svg");
    const parts = [tablesOf(MEASURED), checkLines(checksOf([MEASURED])), "(results.svg)"];
    for (const part of [...parts, "2 cores", "workerd 1", "1970-01-01", "used 0.25 ms of CPU"]) {
      expect(text).toContain(part);
    }
  });
});

describe("the README's line on a dead receiver", () => {
  it("the sentence about a dead receiver in README.md is the one in bench/OUTAGE.md", () => {
    const [readme = "", outage = ""] = ["README.md", "bench/OUTAGE.md"].map((file) =>
      readFileSync(join(ROOT, file), "utf8"),
    );
    const [sentence = "none"] = /^While half of .+\.$/m.exec(outage) ?? [];
    expect(readme).toContain(`**A dead receiver delays no other.** ${sentence} [All figures]`);
  });
});

it("npm run bench:outage reports no latency for a server from which no callback has arrived", () => {
  const plan = { tasks: 8, ratePerS: 60, waitMs: 20_000 };
  const relay = { accepted: 4, latenciesMs: [9, 10, 11, 50] };
  const bullmq = { accepted: 3, latenciesMs: [] };
  const lines = outagePage({ relay, bullmq }, plan, MACHINE).split("\n");
  expect(lines).toContain("| relay | 4 | 10 ms | 50 ms | 50 ms | 0 |");
  expect(lines).toContain("| BullMQ | 3 | – | – | – | 4 |");
});
