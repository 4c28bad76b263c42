import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { metricsOf } from "../../../src/api/search/metrics.ts";
import { metricsText } from "../../../src/api/search/metrics-text.ts";
import { BOUNDS_MS } from "../../../src/index-db/buckets.ts";
import type { Statistics } from "../../../src/index-db/statistics-shape.ts";
import { TOTALS } from "../../../src/index-db/count-kinds.ts";

const counts = Array.from({ length: BOUNDS_MS.length + 1 }, (_, n) => n);
const HISTOGRAM = { counts, totalMs: 1234 };
const KEY = { model: 'a"\\\n{},' } as const;
const HOST = { host: "client.example.net" } as const;
const FOUND: Statistics = {
  counts: [
    { ...KEY, status: "completed", callback: "delivered", tasks: 3, attempts: 4 },
    { ...KEY, status: "failed", callback: "failed", tasks: 1, attempts: 3 },
  ],
  sums: {
    refunded: 0,
    kept_outputs: 2,
    kept_bytes: 9,
    lost_outputs: 1,
    credits_held: 0,
    credits_earned: 0,
    credits_released: 0,
    credits_refunded: 0,
  },
  hosts: [
    { ...HOST, callback: "delivered", tasks: 3, attempts: 4 },
    { ...HOST, callback: "failed", tasks: 1, attempts: 3 },
  ],
  histograms: { first_attempt: HISTOGRAM, settled: HISTOGRAM, index: HISTOGRAM },
  found: [{ provider: "ark", foundBy: "poll", bucket: 3, tasks: 2, totalMs: 50 }],
  backlog: { tasks: 2, oldestAt: 1 },
  overdue: { tasks: 1, oldestAt: 1 },
  submitUnknown: { tasks: 1, oldestAt: 1 },
  copies: { outputs: 3, lateOutputs: 2, lateTasks: 1, isCapped: false, oldestAt: 1 },
  expiryLost: 0,
  totals: TOTALS.map((name, value) => ({ name, value, advancedAt: 0 })),
  sizeBytes: 4096,
};
const FAMILIES = metricsOf(FOUND, 90_001, {
  version: "version-1",
  isPaused: false,
  pausedHosts: 0,
});

const PROMTOOL = "promtool";
const isMissing = spawnSync(PROMTOOL, ["--version"]).status !== 0;

// Debian's package `prometheus` contains promtool.
it.skipIf(isMissing)(
  `promtool check metrics accepts the metrics in the text format without a remark${isMissing ? " (skipped: promtool is not installed)" : ""}`,
  () => {
    const input = metricsText(FAMILIES, "text");
    const { status, stdout, stderr } = spawnSync(PROMTOOL, ["check", "metrics"], {
      input,
      encoding: "utf8",
    });
    expect([status, stdout, stderr]).toEqual([0, "", ""]);
  },
);

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  gauge: [""],
  counter: ["_total"],
  gaugehistogram: ["_bucket", "_gsum", "_gcount"],
};
const LABEL = String.raw`[a-z_]+="(?:[^"\\\n]|\\["\\n])*"`;
const SAMPLE = new RegExp(String.raw`^([a-z_]+)(\{${LABEL}(?:,${LABEL})*\})? (-?\d+(?:\.\d+)?)$`);
const END = "# EOF\n";

/**
 * Parses OpenMetrics 1.0, as far as the metrics of the relay need it, strictly: each family once and together,
 * its type first, no sample twice, only the suffixes of the type, `# EOF` at the end.
 * @returns the samples of each family, by its name.
 * @throws on any other text.
 */
function parseOpenMetrics(text: string): ReadonlyMap<string, readonly string[]> {
  if (!text.endsWith(`\n${END}`)) throw new Error("the end is missing");
  const blocks = text.slice(0, -END.length).split(/(?<=\n)(?=# TYPE )/);
  const families = blocks.map(parseFamily);
  const found = new Map(families);
  if (found.size < families.length) throw new Error("a family occurs twice");
  return found;
}

function parseFamily(block: string): readonly [string, readonly string[]] {
  const [, name = "", type = "", unit = "", body = ""] =
    /^# TYPE (\w+) (\w+)\n(?:# UNIT \1 (\w+)\n)?# HELP \1 .+\n([^]*)$/.exec(block) ?? [];
  if (name === "" || !name.endsWith(unit)) throw new Error(`no family: ${block}`);
  const samples = body.split("\n").slice(0, -1);
  const keys = samples.map((line) => {
    const [, sampleName, labels = ""] = SAMPLE.exec(line) ?? [];
    const isOwn = SUFFIXES[type]?.some((suffix) => sampleName === `${name}${suffix}`);
    if (isOwn !== true) throw new Error(`no sample of ${name}: ${line}`);
    return `${sampleName}${labels}`;
  });
  if (new Set(keys).size < keys.length) throw new Error(`a sample of ${name} occurs twice`);
  return [name, samples];
}

it("a strict OpenMetrics parser accepts the relay's metrics in the OpenMetrics format, and finds a value of every metric", () => {
  const samples = parseOpenMetrics(metricsText(FAMILIES, "openmetrics"));
  expect(samples.size).toBe(FAMILIES.length);
  expect([...samples].filter(([, lines]) => lines.length === 0)).toEqual([]);
  expect(() => parseOpenMetrics(metricsText(FAMILIES, "text"))).toThrow("the end is missing");
});
