import { expect, it } from "vitest";
import { axisTicks } from "../../../src/console/overview/chart-bars.tsx";
import { heatCells } from "../../../src/console/overview/heatmap.tsx";
import { type PresentProblem, remediesOf } from "../../../src/console/overview/problems.tsx";
import type { Series } from "../../../src/console/overview/series.ts";
import { totalsOf } from "../../../src/console/overview/numbers.tsx";
import { BOUNDS_MS } from "../../../src/index-db/buckets.ts";

type Step = Series["steps"][number];

const NOTHING = BOUNDS_MS.map(() => 0).concat(0);

/**
 * Builds a step with callbacks, and with tasks in the histogram buckets that end at these bounds, in
 * milliseconds.
 */
function aStep(
  callbacks: Partial<Step["callbacks"]>,
  buckets: Record<number, number> = {},
  failures: Record<string, number> = {},
): Step {
  const histogram = NOTHING.map((_, at) => buckets[BOUNDS_MS[at] ?? Infinity] ?? 0);
  return {
    at: 0,
    tasks: { total: 10, pending: 0, processing: 0, completed: 10, failed: 0, failures },
    callbacks: {
      waiting: 0,
      sending: 0,
      delivered: 0,
      failed: 0,
      attempts: 0,
      outcomes: {},
      ...callbacks,
    },
    latency: { first_attempt: histogram, settled: NOTHING },
  };
}

it("the overview's totals of a time range are the sums over its hours, and its success rate is unknown while no callback has ended", () => {
  const steps = [
    aStep(
      { delivered: 6, failed: 1, attempts: 9, outcomes: { delivered: 6, timeout: 2, rejected: 1 } },
      { 5: 6 },
      { timeout: 1 },
    ),
    aStep(
      { delivered: 3, sending: 2, attempts: 6, outcomes: { delivered: 3, rejected: 3 } },
      { 1000: 2 },
      { moderation: 2, timeout: 2 },
    ),
  ];
  expect(totalsOf(steps)).toEqual({
    tasks: 20,
    delivered: 9,
    failed: 1,
    successRate: 0.9,
    attemptsEach: 1.25,
    failedAttempts: [
      ["rejected", 4],
      ["timeout", 2],
    ],
    failures: [
      ["timeout", 3],
      ["moderation", 2],
    ],
    firstAttempt: { p50: 3, p95: 900, p99: 980 },
  });
  const nothing = { tasks: 0, delivered: 0, failed: 0, failedAttempts: [], failures: [] };
  const unknown = { successRate: null, attemptsEach: null, firstAttempt: null };
  expect(totalsOf([])).toEqual({ ...nothing, ...unknown });
});

it("each row of the latency heatmap is shaded by its number of tasks, and the last row also counts latencies beyond the largest bound", () => {
  const steps = [aStep({}, { 5: 100, 10: 20, 250: 1 }), aStep({}, { 3_600_000: 1, 60_000: 11 })];
  expect(heatCells(steps)).toEqual([
    { column: 0, row: 0, shade: 8 },
    { column: 0, row: 2, shade: 2 },
    { column: 1, row: 6, shade: 5 },
    { column: 1, row: 7, shade: 2 },
  ]);
  expect(heatCells([aStep({})])).toEqual([]);
});

it.each([
  [
    "host_failing",
    { host: "a.example:8443" },
    ["/hosts/a.example%3A8443", "/tasks?callback=failed&host=a.example%3A8443"],
  ],
  ["key_refused", { connection: "ark-cn" }, ["/tasks?status=processing&provider=ark-cn"]],
  ["refund_delayed", { task_id: "7" }, ["/tasks/7"]],
  ["submit_unknown", { task_id: "7" }, ["/tasks/7", "/tasks?submission=unknown"]],
  ["deadline_near", { task_id: "7" }, ["/tasks/7"]],
  ["index_full", { bytes: 9 }, []],
])(
  "the console's overview links each problem to the pages that show its subject: %s about %j links to %j",
  (kind, subject, paths) => {
    const head = { severity: "error", detail: "", since: null, tasks: null, actions: [] } as const;
    const problem: PresentProblem = { ...head, kind, subject };
    expect(remediesOf(problem).map(({ path }) => path)).toEqual(paths);
  },
);

it.each([
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [9, [0, 5, 10]],
  [100, [0, 50, 100]],
  [1_284, [0, 500, 1_000, 1_500]],
])(
  "the axis of a chart has two to six round labels from 0 up to at least the largest number: for %i they are %j",
  (most, ticks) => {
    expect(axisTicks(most)).toEqual(ticks);
  },
);
