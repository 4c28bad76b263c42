import { expect, it } from "vitest";
import { call } from "../worker/client.ts";
import { START, useClock } from "../worker/clock.ts";
import { parseOpenMetrics } from "./open-metrics.ts";
import { aRow, cron, HOUR, insert, useEmptyIndex } from "./support.ts";

useClock();
useEmptyIndex();

const HOSTILE = ['a"b', "a\\b", "a\nb", "a{b}", "a,b=c", "é 🦀", "\\n", '"} 1\nevil_total 1', "#"];

async function scraped(): Promise<string> {
  const response = await call("/metrics");
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe(
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
  );
  // The runtime does not treat this media type as text.
  return new TextDecoder().decode(await response.arrayBuffer());
}

async function familyOf(name: string) {
  const family = parseOpenMetrics(await scraped()).find((each) => each.name === name);
  if (family === undefined) throw new Error(`there is no ${name}`);
  return family;
}

async function valuesOf(name: string): Promise<Readonly<Record<string, number>>> {
  const { samples } = await familyOf(name);
  return Object.fromEntries(
    samples.map(({ labels, value }) => [Object.values(labels).join(" "), value]),
  );
}

it("GET /metrics has all families before anything was counted", async () => {
  const families = parseOpenMetrics(await scraped());
  expect(families.map(({ name, type }) => `${type} ${name}`)).toEqual([
    "gauge task_relay_tasks",
    "gauge task_relay_callbacks",
    "gauge task_relay_attempts",
    "gaugehistogram task_relay_first_attempt_seconds",
    "gaugehistogram task_relay_settled_seconds",
    "gaugehistogram task_relay_index_lag_seconds",
    "gauge task_relay_backlog_tasks",
    "gauge task_relay_overdue_tasks",
    "gauge task_relay_overdue_seconds",
  ]);
  expect(families.every(({ help }) => help !== "")).toBe(true);
});

it("GET /metrics is OpenMetrics for any name of a model and a host", async () => {
  await insert(...HOSTILE.map((model) => aRow({ model, host: model, callback: "failed" })));
  await cron();
  const tasks = await familyOf("task_relay_tasks");
  expect(new Set(tasks.samples.map(({ labels }) => labels["model"]))).toEqual(new Set(HOSTILE));
  const { samples } = await familyOf("task_relay_callbacks");
  expect(new Set(samples.map(({ labels }) => labels["host"]))).toEqual(new Set(HOSTILE));
});

it("GET /metrics sums ended tasks and callbacks over models, hosts and hours", async () => {
  const host = "b.example.net";
  await insert(
    aRow({ model: "a" }),
    aRow({ model: "a", attempts: 3, host, callback: "failed" }),
    aRow({ model: "a", createdAt: START - 5 * HOUR, host }),
    aRow({ model: "a", status: "failed", callback: null, host: null, attempts: 0 }),
    aRow({ model: "b", status: "processing", callback: "waiting", dueAt: START + HOUR }),
    aRow({ model: "b", callback: "sending", attempts: 2, dueAt: START }),
  );
  await cron();
  expect(await valuesOf("task_relay_tasks")).toEqual({
    "completed a": 3,
    "failed a": 1,
    "completed b": 1,
  });
  expect(await valuesOf("task_relay_callbacks")).toEqual({
    "delivered client.example.net": 1,
    "delivered b.example.net": 1,
    "failed b.example.net": 1,
  });
  expect(await valuesOf("task_relay_attempts")).toEqual({
    "client.example.net": 1,
    "b.example.net": 4,
  });
});

it("GET /metrics has histograms in seconds", async () => {
  await insert(
    aRow({ firstAttemptMs: 40 }),
    aRow({ firstAttemptMs: 1000 }),
    aRow({ firstAttemptMs: 4_000_000 }),
  );
  await cron();
  const { unit, samples } = await familyOf("task_relay_first_attempt_seconds");
  expect(unit).toBe("seconds");
  const value = (name: string, le?: number) =>
    samples.find(
      (sample) =>
        sample.name.endsWith(name) && (le === undefined || Number(sample.labels["le"]) === le),
    )?.value;
  expect(value("_bucket", 0.025)).toBe(0);
  expect(value("_bucket", 0.05)).toBe(1);
  expect(value("_bucket", 0.5)).toBe(1);
  expect(value("_bucket", 1)).toBe(2);
  expect(value("_bucket", 3600)).toBe(2);
  expect(value("_gcount")).toBe(3);
  expect(value("_gsum")).toBe(4001.04);
});

it("GET /metrics shows the present backlog and the overdue tasks", async () => {
  await insert(
    aRow({ settledAt: null, dueAt: START - 90_000, expiresAt: null }),
    aRow({ settledAt: null, dueAt: START + 90_000, expiresAt: null }),
  );
  expect(await valuesOf("task_relay_backlog_tasks")).toEqual({ "": 2 });
  expect(await valuesOf("task_relay_overdue_tasks")).toEqual({ "": 1 });
  expect(await valuesOf("task_relay_overdue_seconds")).toEqual({ "": 90 });
});

const gauge = (sample: string) => `# TYPE a gauge\n${sample}\n# EOF\n`;

it.each([
  ["no end", "# TYPE a gauge\na 1\n"],
  ["text after the end", `${gauge("a 1")}\n`],
  ["an empty line", gauge("a 1\n")],
  ["a sample of no family", "a 1\n# EOF\n"],
  ["a foreign sample", gauge("b 1")],
  ["a counter without _total", "# TYPE a counter\na 1\n# EOF\n"],
  ["a quote in a label", gauge('a{b="c"d"} 1')],
  ["a line end in a label", gauge('a{b="c\nd"} 1')],
  ["an unknown escape", gauge('a{b="c\\d"} 1')],
  ["a label twice", gauge('a{b="1",b="2"} 1')],
  ["a series twice", gauge("a 1\na 2")],
  ["a family twice", gauge("a 1\n# TYPE b gauge\nb 1\n# TYPE a gauge")],
  ["two spaces", gauge("a  1")],
  ["a comment", gauge("# a\na 1")],
  ["no number", gauge("a one")],
  ["a unit that the name lacks", gauge("a 1").replace("gauge", "gauge\n# UNIT a seconds")],
])("parseOpenMetrics refuses %s", (_, text) => {
  expect(() => parseOpenMetrics(text)).toThrow();
});
