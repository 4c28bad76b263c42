import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import RULES from "../../ops/alerts.yml?raw";
import DASHBOARD from "../../ops/grafana-dashboard.json?raw";
import { started } from "../worker/started.ts";
import { aRow, callWith, cron, insert, UNANSWERED, useIndex } from "./support.ts";

useIndex();

interface Panel {
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string }[];
}
const { panels }: { panels: readonly Panel[] } = JSON.parse(DASHBOARD);
const charts = panels.filter(({ type }) => type !== "row");

/** Labels of every series that Prometheus adds itself, and the one of buckets. */
const ADDED = ["job", "instance"];

/** A connection with one place for jobs in flight. */
const LIMITED = "monitored";
const BINDINGS = {
  CONNECTIONS: JSON.stringify({
    [LIMITED]: { provider: "ark", key: "test-only-ark-key", in_flight: 1 },
  }),
};

/** Lets one submission hold the place of the connection, and another wait for it. */
async function fillPlaces(): Promise<void> {
  const queue = env.QUEUES.getByName(LIMITED);
  const value = await started({ ...env, ...BINDINGS });
  await runInDurableObject(queue, (instance) => Object.defineProperty(instance, "env", { value }));
  const question = { taskId: crypto.randomUUID(), account: null, via: LIMITED, attempt: 1 };
  for (const submissionId of ["holding", "waiting"]) {
    await queue.ask({ ...question, submissionId, since: Date.now(), mayWait: true });
  }
}

/** Returns the label names of each sample in the metrics of a relay with tasks of every kind. */
async function exposed(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  await insert(
    aRow({ provider: "ark", foundBy: "hook", foundLateMs: 20 }),
    aRow({ ...UNANSWERED, status: "failed" }),
  );
  await cron();
  await fillPlaces();
  const text = await (await callWith(BINDINGS, "/metrics")).text();
  const samples = new Map<string, Set<string>>();
  for (const [, name = "", labels = ""] of text.matchAll(/^(task_relay_\w+)(?:\{(.*)\})? \S+$/gm)) {
    const known = samples.get(name) ?? new Set(ADDED);
    for (const [, label = ""] of labels.matchAll(/(\w+)="/g)) known.add(label);
    samples.set(name, known);
  }
  return samples;
}

const expressions = [
  ...charts.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ...[...RULES.matchAll(/- alert: (\w+)\n {8}expr: (?:>-\n)?([^]*?)\n {8}for:/g)].map(
    ([, name = "", expr = ""]) => [name, expr] as const,
  ),
];

/** Finds what an expression names that no sample of the relay has: metrics, and labels of their series. */
function unknownIn(expr: string, samples: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const names = [...expr.matchAll(/\btask_relay_\w+/g)].map(([name]) => name);
  const anyLabel = new Set(names.flatMap((name) => [...(samples.get(name) ?? [])]));
  const matched = [...expr.matchAll(/(task_relay_\w+)\{(.*?)\}/g)].flatMap(
    ([, name = "", matchers = ""]) =>
      [...matchers.matchAll(/(\w+)\s*[=!]/g)].flatMap(([, label = ""]) =>
        samples.get(name)?.has(label) === true ? [] : `${name}{${label}}`,
      ),
  );
  const grouped = [...expr.matchAll(/\b(?:by|without|on)\s*\(([^)]*)\)/g)].flatMap(
    ([, list = ""]) => list.split(",").map((label) => label.trim()),
  );
  return [
    ...names.filter((name) => !samples.has(name)),
    ...matched,
    ...grouped.filter((label) => !anyLabel.has(label)),
  ];
}

it("every metric and label that an alert rule or a panel of the Grafana dashboard names is in the metrics of a running relay", async () => {
  const samples = await exposed();
  expect(expressions.length).toBeGreaterThan(30);
  expect(
    expressions.flatMap(([name, expr]) => unknownIn(expr, samples).map((what) => [name, what])),
  ).toEqual([]);
  expect(unknownIn('sum by (colour) (task_relay_tasks{size="1"} + task_relay_x)', samples)).toEqual(
    ["task_relay_x", "task_relay_tasks{size}", "colour"],
  );
});

it("the Grafana dashboard shows every metric of the relay, and each panel has a title, a description, a unit and the chosen data source", async () => {
  for (const { title, description, fieldConfig, datasource } of charts) {
    expect([title, description, fieldConfig?.defaults.unit]).toEqual(
      Array.from({ length: 3 }, () => expect.stringMatching(/^\w/)),
    );
    expect(datasource).toEqual({ type: "prometheus", uid: "${datasource}" });
  }
  const shown = DASHBOARD.match(/\btask_relay_\w+/g) ?? [];
  const families = new Set(
    [...(await exposed()).keys()].map((name) => name.replace(/_(?:bucket|sum|count)$/, "")),
  );
  const isShown = (family: string) => shown.some((name) => name.replace(/_bucket$/, "") === family);
  expect([...families].filter((family) => !isShown(family))).toEqual([]);
});
