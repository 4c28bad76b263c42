import { expect, it } from "vitest";
import { axisTicks } from "../../../src/console/parts/bars.tsx";
import { heatCells } from "../../../src/console/overview/heatmap.tsx";
import { type PresentProblem, remediesOf } from "../../../src/console/overview/problems.tsx";

const BOUNDS_MS = [5, 10, 50, 250, 60_000, 3_600_000];

/** Builds an hour with tasks in the histogram buckets that end at these bounds, in milliseconds. */
function anHour(buckets: Record<number, number>) {
  const histogram = [...BOUNDS_MS, Infinity].map((bound) => buckets[bound] ?? 0);
  return { latency: { first_attempt: histogram, settled: [] } };
}

it("in the console's heatmap of callback latencies, each cell is shaded by its number of tasks, and the last row also counts latencies beyond the largest bound", () => {
  const steps = [anHour({ 5: 100, 10: 20, 250: 1 }), anHour({ 3_600_000: 1, 60_000: 11 })];
  expect(heatCells(steps, BOUNDS_MS)).toEqual([
    { column: 0, row: 0, shade: 8 },
    { column: 0, row: 2, shade: 2 },
    { column: 1, row: 6, shade: 5 },
    { column: 1, row: 7, shade: 2 },
  ]);
  expect(heatCells([anHour({})], BOUNDS_MS)).toEqual([]);
});

it.each([
  [
    "host_failing",
    { host: "a.example:8443" },
    ["/hosts/a.example%3A8443", "/tasks?callback=failed&host=a.example%3A8443"],
  ],
  [
    "host_paused",
    { host: "a.example" },
    ["/hosts/a.example", "/tasks?callback=paused&host=a.example"],
  ],
  ["key_refused", { connection: "ark-cn" }, ["/providers", "/tasks?provider=ark-cn"]],
  ["refund_delayed", { task_id: "7" }, ["/tasks/7"]],
  ["submit_unknown", { task_id: "7" }, ["/tasks/7", "/tasks?submission=unknown"]],
  ["deadline_near", { task_id: "7" }, ["/tasks/7"]],
  ["index_full", { bytes: 9 }, []],
])(
  "the console's overview links each problem of the relay to the pages on which one sees more of it: the problem %s about %j links to %j",
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
