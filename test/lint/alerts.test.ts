import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ALMOST_FULL_SHARE, MAX_INDEX_BYTES } from "../../src/index-db/limits.ts";
import { ROOT } from "../process/harness/child.ts";

const RULES = join(ROOT, "ops/alerts.yml");
const alerts = readFileSync(RULES, "utf8").split("      - alert: ").slice(1);
const nameOf = (alert: string) => alert.split("\n")[0] ?? "";

// Debian's package `prometheus` contains promtool.
const isMissing = spawnSync("promtool", ["--version"]).status !== 0;
const skipped = isMissing ? " (skipped: promtool is not installed)" : "";

it.each(alerts.map((alert) => [nameOf(alert), alert]))(
  "the alert rule %s has an expression, a duration, a severity, a summary and the link to a heading of docs/operate.md",
  (_, alert) => {
    expect(alert).toMatch(/^ {8}expr: \S[^]*^ {8}for: \d+[mh]$/m);
    expect(alert).toMatch(/^ {10}severity: (?:critical|warning)$/m);
    expect(alert).toMatch(/^ {10}summary: \S.{20,}$/m);
    const [, anchor] = /^ {10}runbook_url: docs\/operate\.md#([\w-]+)$/m.exec(alert) ?? [];
    const headings = readFileSync(join(ROOT, "docs/operate.md"), "utf8").match(/^#+ .*$/gm) ?? [];
    const anchors = headings.map((heading) =>
      heading.replace(/^#+ /, "").toLowerCase().replaceAll(" ", "-"),
    );
    expect(anchors).toContain(anchor);
  },
);

it("the alert TaskRelayIndexAlmostFull fires at the size of the index database at which the operator event index.full is sent", () => {
  const alert = alerts.find((text) => nameOf(text) === "TaskRelayIndexAlmostFull") ?? "";
  expect(Number(/index_bytes >= (\S+)/.exec(alert)?.[1])).toBe(
    ALMOST_FULL_SHARE * MAX_INDEX_BYTES.paid,
  );
});

it.each([
  ["TasksOverdue", "_overdue_seconds > 900", "above 900 for 15 minutes"],
  ["CallbacksFailing", "> 0.2", "above 20 %"],
  ["CallbacksLate", "> 30", "above 30 s"],
  ["TasksFailing", "> 0.3", "above 30 %"],
  ["ResultsLate", "> 600", "above 10 minutes"],
  ["SubmissionsUnknown", "_submit_unknown_seconds > 900", "above 15 minutes"],
  ["QueueWaits", "_queue_oldest_seconds > 1800", "above 30 minutes"],
  ["OutputsLost", "> 0.05", "above 5 %"],
  ["CopiesLate", "_late_copies > 20", "above 20"],
  ["IndexAlmostFull", ">= 8e9", "8 GB"],
])(
  "the alert TaskRelay%s fires at the threshold from which docs/operate.md tells the operator to act",
  (name, condition, text) => {
    const alert = alerts.find((rule) => nameOf(rule) === `TaskRelay${name}`) ?? "";
    const [, anchor = ""] = /operate\.md(#[\w-]+)/.exec(alert) ?? [];
    const page = readFileSync(join(ROOT, "docs/operate.md"), "utf8");
    expect(alert).toContain(condition);
    expect(page.match(/^\| .* \| .* \| (.*) \|$/gm)).toContainEqual(
      expect.stringMatching(new RegExp(`${text}.*\\(${anchor}\\) \\|$`)),
    );
  },
);

/** Series of a relay that answers, works and is not full: its values every five minutes, in promtool's notation. */
const HEALTHY: Readonly<Record<string, string>> = {
  'build_info{version="1"}': "1",
  paused: "0",
  paused_hosts: "0",
  overdue_seconds: "0",
  backlog_tasks: "500",
  'ended_total{status="completed"}': "0+9",
  'ended_total{status="failed"}': "0+1",
  'callback_attempts_total{outcome="delivered"}': "0+9",
  'callback_attempts_total{outcome="timeout"}': "0+1",
  'callbacks{outcome="delivered",host="a.example"}': "60",
  'callbacks{outcome="failed",host="a.example"}': "40",
  'callbacks{outcome="failed",host="b.example"}': "3",
  'first_attempt_seconds_bucket{le="1"}': "99",
  'first_attempt_seconds_bucket{le="900"}': "100",
  'first_attempt_seconds_bucket{le="+Inf"}': "100",
  'index_lag_seconds_bucket{le="10"}': "99",
  'index_lag_seconds_bucket{le="900"}': "100",
  'index_lag_seconds_bucket{le="+Inf"}': "100",
  'found_late_seconds_bucket{provider="ark",found_by="hook",le="10"}': "99",
  'found_late_seconds_bucket{provider="ark",found_by="hook",le="900"}': "100",
  'found_late_seconds_bucket{provider="ark",found_by="hook",le="+Inf"}': "100",
  'found_late_seconds_bucket{provider="fal",found_by="poll",le="10"}': "0",
  'found_late_seconds_bucket{provider="fal",found_by="poll",le="900"}': "3",
  'found_late_seconds_bucket{provider="fal",found_by="poll",le="+Inf"}': "3",
  submit_unknown_seconds: "600",
  'queue_oldest_seconds{connection="kling-a"}': "1200",
  'output_copies_total{outcome="kept"}': "0+100",
  'output_copies_total{outcome="lost"}': "0+4",
  late_copies: "20",
  index_bytes: "7900000000",
  expiry_lost_tasks: "0",
};

/** Series that differ from those of a healthy relay, null for none, and the alerts that fire then. */
const TROUBLES: readonly (readonly [string, Record<string, string | null>, readonly string[]])[] = [
  ["of a healthy relay", {}, []],
  ["without metrics", { 'build_info{version="1"}': null }, ["Down"]],
  [
    "of a relay with tasks that are overdue for 20 minutes",
    { overdue_seconds: "1200" },
    ["TasksOverdue"],
  ],
  ["of a paused relay with overdue tasks", { overdue_seconds: "1200", paused: "1" }, ["Paused"]],
  ["of a relay with a paused host", { paused_hosts: "1" }, ["HostPaused"]],
  [
    "of a relay with open tasks of which none ends",
    { 'ended_total{status="completed"}': "7", 'ended_total{status="failed"}': "1" },
    ["NothingEnds"],
  ],
  [
    "of a relay of whose attempts half time out",
    { 'callback_attempts_total{outcome="timeout"}': "0+9" },
    ["CallbacksFailing"],
  ],
  [
    "of a relay with a host to which 20 callbacks have failed and none was delivered",
    { 'callbacks{outcome="failed",host="b.example"}': "20" },
    ["HostFailing"],
  ],
  [
    "of a relay of whose callbacks 6 % begin a minute late",
    { 'first_attempt_seconds_bucket{le="1"}': "94" },
    ["CallbacksLate"],
  ],
  [
    "of a relay of whose tasks half fail",
    { 'ended_total{status="failed"}': "0+9" },
    ["TasksFailing"],
  ],
  [
    "of a relay that found half of a provider's results up to 15 minutes late",
    { 'found_late_seconds_bucket{provider="ark",found_by="hook",le="10"}': "50" },
    ["ResultsLate"],
  ],
  [
    "of a relay with a submission whose outcome is unknown for 20 minutes",
    { submit_unknown_seconds: "1200" },
    ["SubmissionsUnknown"],
  ],
  [
    "of a relay with 21 outputs that should have been copied",
    { late_copies: "21" },
    ["CopiesLate"],
  ],
  [
    "of a relay with a submission that has waited 40 minutes for a place",
    { 'queue_oldest_seconds{connection="kling-a"}': "2400" },
    ["QueueWaits"],
  ],
  [
    "of a relay that loses one output in ten",
    { 'output_copies_total{outcome="lost"}': "0+11" },
    ["OutputsLost"],
  ],
  [
    "of a relay with 6 % of the index rows late",
    { 'index_lag_seconds_bucket{le="10"}': "94" },
    ["IndexLagging"],
  ],
  ["of an index of 8 GB", { index_bytes: "8000000000" }, ["IndexAlmostFull"]],
  ["of an index of 9.5 GB", { index_bytes: "9500000000" }, ["IndexAlmostFull", "IndexFull"]],
  ["with a task that was not erased", { expiry_lost_tasks: "1" }, ["ExpiryLost"]],
];

describe.skipIf(isMissing)(`promtool${skipped}`, () => {
  it(`promtool check rules accepts ops/alerts.yml without a remark${skipped}`, () => {
    const { status, stderr } = spawnSync("promtool", ["check", "rules", "--lint-fatal", RULES], {
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([0, ""]);
  });

  it(`promtool finds no error in the expressions of the Grafana dashboard${skipped}`, () => {
    const dashboard = readFileSync(join(ROOT, "ops/grafana-dashboard.json"), "utf8");
    const exprs = [...dashboard.matchAll(/"expr": (".*"),?$/gm)].map(([, expr = ""]) => expr);
    const rules = exprs.map((expr, i) => `{"record": "panel:${i}", "expr": ${expr}}`);
    const groups = `{"groups": [{"name": "panels", "rules": [${rules.join(", ")}]}]}`;
    expect(run("check", "rules", groups)).toBe(`SUCCESS: ${rules.length} rules found`);
  });

  it(`promtool accepts the scrape configuration of docs/operate.md${skipped}`, () => {
    const page = readFileSync(join(ROOT, "docs/operate.md"), "utf8");
    const [, config = ""] = /^```yaml\n([^]*?)^```$/m.exec(page) ?? [];
    expect(run("check", "config", config)).toMatch(/^SUCCESS: .* is valid/);
  });

  it(`by promtool test rules, each alert of ops/alerts.yml fires for metrics that show its fault, and none fires for metrics of a healthy relay${skipped}`, () => {
    const tests = TROUBLES.map(([name, changes, expected]) => testOf(name, changes, expected));
    const text = JSON.stringify({ rule_files: [RULES], evaluation_interval: "5m", tests });
    expect(run("test", "rules", text)).toBe("SUCCESS");
    const fired = TROUBLES.flatMap(([, , names]) => names.map((name) => `TaskRelay${name}`));
    expect(new Set(fired)).toEqual(new Set(alerts.map(nameOf)));
  });
});

/** Runs promtool with a file of this text. @returns the last line of its output. */
function run(command: string, what: string, text: string): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), "task-relay-promtool-"));
  try {
    const file = join(directory, "input.yml");
    writeFileSync(file, text);
    const options = what === "config" ? ["--syntax-only"] : [];
    const args = [command, what, ...options, file];
    const { stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
    return (stdout + stderr).trim().split("\n").at(-1)?.trim();
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Builds a test for promtool: after 13 hours exactly the expected alerts fire. */
function testOf(name: string, changes: object, expected: readonly string[]) {
  const series: [string, string | null][] = Object.entries({ ...HEALTHY, ...changes });
  return {
    name,
    interval: "5m",
    input_series: series.flatMap(([metric, values]) =>
      values === null ? [] : { series: `task_relay_${metric}`, values: `${values}x200` },
    ),
    promql_expr_test: [
      {
        eval_time: "13h",
        expr: 'count by (alertname) (ALERTS{alertstate="firing"})',
        exp_samples: expected.map((alert) => ({
          labels: `{alertname="TaskRelay${alert}"}`,
          value: 1,
        })),
      },
    ],
  };
}
