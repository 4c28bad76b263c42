import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { env } from "cloudflare:workers";
import { queueObject } from "../../src/objects/object-names.ts";
import { OUTCOMES } from "../../src/core/record/outcome.ts";
import type { OutcomeCounts } from "../../src/core/record/outcome.ts";
import { removeRows } from "../../src/index-db/index-row-table.ts";
import { callWith as callRelay } from "../worker/client.ts";
import { pass, START } from "../worker/clock.ts";
import { started } from "../worker/started.ts";
import { metered } from "./bindings.ts";
import {
  aRow,
  callWith,
  cron,
  db,
  HOUR,
  insert,
  RETRYING,
  UNANSWERED,
  UNTRIED,
  useIndex,
} from "./support.ts";

useIndex();

const BOUNDS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 200];
const BOUNDS = [...BOUNDS_S, 600, 780, 800, 900, 3600, "+Inf"];

/** Reads the metrics of a relay without cached ones, and writes N in place of the size of the database. */
async function metrics(bindings: object = {}): Promise<readonly string[]> {
  const headers = { Accept: "application/openmetrics-text;version=1.0.0,text/plain;q=0.5" };
  const VERSION = { id: "version-1", tag: "", timestamp: "" };
  const response = await callWith({ VERSION, ...bindings }, "/metrics", { headers });
  expect(response.status).toBe(200);
  expect(response.headers.get("Content-Type")).toBe(
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
  );
  // The runtime does not treat this media type as text.
  const text = new TextDecoder().decode(await response.arrayBuffer());
  return text.replace(/(?<=^task_relay_index_bytes )[1-9]\d*$/m, "N").split("\n");
}

const gauge = (name: string, help: string, ...samples: readonly string[]) => [
  `# TYPE task_relay_${name} gauge`,
  `# HELP task_relay_${name} ${help}`,
  ...samples.map((sample) => `task_relay_${name}${sample}`),
];

const counter = (name: string, help: string, ...samples: readonly string[]) => [
  `# TYPE task_relay_${name} counter`,
  `# HELP task_relay_${name} ${help}`,
  ...samples.map((sample) => `task_relay_${name}_total${sample}`),
];

/** Returns the totals that `/metrics` contains. */
const totals = (
  [accepted, completed, failed, refunds]: readonly number[],
  outcomes: OutcomeCounts = {},
  [kept, lost, bytes]: readonly number[] = [0, 0, 0],
) => [
  ...counter("accepted", "Tasks counted.", ` ${accepted}`),
  ...counter(
    "ended",
    "Tasks that ended, by status.",
    `{status="completed"} ${completed}`,
    `{status="failed"} ${failed}`,
  ),
  ...counter(
    "callback_attempts",
    "Attempts of callbacks, by outcome.",
    ...OUTCOMES.map((outcome) => `{outcome="${outcome}"} ${outcomes[outcome] ?? 0}`),
  ),
  ...counter("refunds", "Tasks whose credits were refunded.", ` ${refunds}`),
  ...counter(
    "output_copies",
    "Copies of outputs that were made, and those given up.",
    `{outcome="kept"} ${kept}`,
    `{outcome="lost"} ${lost}`,
  ),
  ...counter("output_bytes", "Bytes of copies that were made.", ` ${bytes}`),
];
const deployment = (paused: 0 | 1) => [
  ...gauge("build_info", "Version of the Worker.", '{version="version-1"} 1'),
  ...gauge("paused", "1 while PAUSED is set.", ` ${paused}`),
  ...gauge("paused_hosts", "Receivers' hosts that are paused.", " 0"),
];

/** Returns the lines of a histogram. @param samples seconds by labels; an empty text means no label. */
function histogram(
  base: string,
  help: string,
  samples: Readonly<Record<string, readonly number[]>>,
): readonly string[] {
  const name = `task_relay_${base}_seconds`;
  const lines = Object.entries(samples).flatMap(([labels, seconds]) => {
    const upTo = (le: number | string) => seconds.filter((s) => le === "+Inf" || s <= Number(le));
    const [own, first] = labels === "" ? ["", ""] : [`{${labels}}`, `${labels},`];
    return [
      ...BOUNDS.map((le) => `${name}_bucket{${first}le="${le}"} ${upTo(le).length}`),
      `${name}_gsum${own} ${seconds.reduce((sum, s) => sum + s, 0)}`,
      `${name}_gcount${own} ${seconds.length}`,
    ];
  });
  return [
    `# TYPE ${name} gaugehistogram`,
    `# UNIT ${name} seconds`,
    `# HELP ${name} ${help}`,
    ...lines,
  ];
}

const FOUND = ["found_late", "From the end of the job to its result."] as const;
const TASKS = ["tasks", "Tasks that ended, by status and model."] as const;
const CALLBACKS = ["callbacks", "Callbacks that settled, by outcome and host."] as const;
const ATTEMPTS = ["attempts", "Attempts of settled callbacks, by host."] as const;
const FIRST = ["first_attempt", "From the result to the first attempt."] as const;
const SETTLED = ["settled", "From the result to the end of the callback."] as const;
const LAG = ["index_lag", "From a change to its row in the index."] as const;
const MEAN = ["index_lag_mean_seconds", "Mean of these."] as const;
const BACKLOG = ["backlog_tasks", "Tasks in the index that are not settled."] as const;
const OVERDUE = ["overdue_tasks", "Of these, how many should have changed."] as const;
const UNKNOWN = [
  "submit_unknown_tasks",
  "Open tasks of which it is not known whether their job was started.",
] as const;
const UNKNOWN_AGE = ["submit_unknown_seconds", "Age of the oldest of these."] as const;
const COPIES = ["open_copies", "Outputs that are being copied."] as const;
const LATE = ["late_copies", "Outputs that should have been copied by now."] as const;
const COPIES_AGE = ["open_copies_seconds", "Age of the oldest open copy."] as const;
const LOST = ["expiry_lost_tasks", "Tasks found after their retention."] as const;
const SIZE = ["index_bytes", "Size of the largest database of the index."] as const;
const AGE = ["overdue_seconds", "Age of the oldest of these."] as const;

// The format is that of OpenMetrics 1.0 (https://github.com/prometheus/OpenMetrics).
it("when the index is empty, GET /metrics has every metric, with the value 0 or without samples", async () => {
  expect(await metrics()).toEqual([
    ...deployment(0),
    ...totals([0, 0, 0, 0]),
    ...[TASKS, CALLBACKS, ATTEMPTS].flatMap(([name, help]) => gauge(name, help)),
    ...[FIRST, SETTLED, LAG].flatMap(([name, help]) => histogram(name, help, { "": [] })),
    ...histogram(...FOUND, {}),
    ...[MEAN, BACKLOG, OVERDUE, AGE, UNKNOWN, UNKNOWN_AGE, COPIES, LATE, COPIES_AGE, LOST].flatMap(
      ([name, help]) => gauge(name, help, " 0"),
    ),
    ...gauge(...SIZE, " N"),
    "# EOF",
    "",
  ]);
});

const foundByPoll = (foundLateMs: number) =>
  ({ provider: "ark", foundBy: "poll", foundLateMs }) as const;

it("GET /metrics counts tasks by status and model, callbacks by outcome and host, copies, latencies, and open and overdue tasks", async () => {
  const host = "b.example.net";
  const reported = { foundBy: "report", foundLateMs: 20 } as const;
  const open = { settledAt: null, expiresAt: null, firstAttemptMs: null, settledMs: null };
  await insert(
    aRow({
      model: "a",
      firstAttemptMs: 40,
      settledMs: 4_000_000,
      ...foundByPoll(2_000),
      keptOutputs: 2,
      keptBytes: 6_000_000_000,
    }),
    aRow({
      ...UNANSWERED,
      model: "a",
      host,
      firstAttemptMs: 1000,
      ...reported,
      keptOutputs: 1,
      keptBytes: 7,
      lostOutputs: 3,
    }),
    aRow({
      model: "a",
      createdAt: START - 5 * HOUR,
      host,
      version: START - 1,
      ...foundByPoll(20_000),
    }),
    aRow({ model: "a", status: "failed", ...UNTRIED, callback: null, host: null }),
    aRow({ ...open, model: "b", status: "processing", ...UNTRIED, dueAt: START + HOUR }),
    aRow({ ...open, model: "b", ...RETRYING, dueAt: START - 90_000 }),
  );
  await cron();
  expect(await metrics({ PAUSED: "true" })).toEqual([
    ...deployment(1),
    ...totals([6, 4, 1, 0], { delivered: 2, rejected: 1, timeout: 3 }, [3, 3, 6_000_000_007]),
    ...gauge(
      ...TASKS,
      '{status="completed",model="a"} 3',
      '{status="failed",model="a"} 1',
      '{status="completed",model="b"} 1',
    ),
    ...gauge(
      ...CALLBACKS,
      '{outcome="delivered",host="b.example.net"} 1',
      '{outcome="failed",host="b.example.net"} 1',
      '{outcome="delivered",host="client.example.net"} 1',
    ),
    ...gauge(...ATTEMPTS, '{host="b.example.net"} 4', '{host="client.example.net"} 1'),
    ...histogram(...FIRST, { "": [0.04, 1, 0, 0] }),
    ...histogram(...SETTLED, { "": [4000, 0, 0, 0] }),
    ...histogram(...LAG, { "": [0, 0, 0.001, 0] }),
    ...histogram(...FOUND, {
      'provider="",found_by="report"': [0.02],
      'provider="ark",found_by="poll"': [2, 20],
    }),
    ...gauge(...MEAN, " 0.00025"),
    ...gauge(...BACKLOG, " 2"),
    ...gauge(...OVERDUE, " 1"),
    ...gauge(...AGE, " 90"),
    ...gauge(...UNKNOWN, " 0"),
    ...gauge(...UNKNOWN_AGE, " 0"),
    ...[COPIES, LATE, COPIES_AGE].flatMap(([name, help]) => gauge(name, help, " 0")),
    ...gauge(...LOST, " 0"),
    ...gauge(...SIZE, " N"),
    "# EOF",
    "",
  ]);
});

it("GET /metrics has the places of each connection with a limit, who waits, and for how long", async () => {
  const name = `ark-${crypto.randomUUID().slice(0, 8)}`;
  const entry = { provider: "ark", key: "test-only-ark-key", in_flight: 2 };
  const idle = `${name}-idle`;
  const CONNECTIONS = JSON.stringify({ [name]: entry, [idle]: { ...entry, in_flight: 3 } });
  const value = await started({ ...env, CONNECTIONS });
  const stub = queueObject(value, name);
  await runInDurableObject(stub, (instance) => Object.defineProperty(instance, "env", { value }));
  // The first has asked elsewhere before, so that it gets its place after a wait.
  for (const [submissionId, waitedMs] of Object.entries({ a: 2_500, b: 0, c: 0, d: 0 })) {
    const order = { submissionId, taskId: submissionId, account: null, via: name, attempt: 1 };
    await stub.ask({ ...order, since: Date.now() - waitedMs, mayWait: true });
    pass(1_500);
  }
  const both = (of: number, ofIdle: number) => [
    `{connection="${name}"} ${of}`,
    `{connection="${idle}"} ${ofIdle}`,
  ];
  expect(await metrics({ CONNECTIONS })).toEqual(
    expect.arrayContaining([
      ...gauge("places_permitted", "Jobs that a connection may have in flight.", ...both(2, 3)),
      ...gauge("places_held", "Jobs that a connection has in flight.", ...both(2, 0)),
      ...gauge("queue_waiting", "Submissions that wait for a place.", ...both(2, 0)),
      ...gauge(
        "queue_oldest_seconds",
        "Wait of the submission that has waited longest for a place.",
        ...both(3, 0),
      ),
      ...gauge(
        "queue_wait_seconds",
        "Waits of the submissions that got the latest places.",
        `{connection="${name}",quantile="0.5"} 0`,
        `{connection="${name}",quantile="0.99"} 2.5`,
      ),
    ]),
  );
});

it("GET /metrics counts the 100 models with the most tasks by name, and all other models together under the name *", async () => {
  const names = Array.from({ length: 101 }, (_, n) => `n${n}`);
  const rows = names.flatMap((name) => aRow({ model: name, host: "x", createdAt: START }));
  await insert(...rows, ...rows.slice(1).map((row) => ({ ...row, id: crypto.randomUUID() })));
  await cron();
  const models = (await metrics()).filter((line) => line.startsWith("task_relay_tasks{"));
  expect(models).toHaveLength(101);
  expect(models).toContain('task_relay_tasks{status="completed",model="*"} 1');
});

function rowsOf52Hosts(prefix: string, createdAt: number) {
  return Array.from({ length: 52 }, (_, n) => aRow({ host: `${prefix}${n}`, createdAt }));
}

it("GET /metrics counts the 100 hosts with the most tasks of all hours by name, and all other hosts together under the name *", async () => {
  const [earlier, now] = [rowsOf52Hosts("a", START - HOUR), rowsOf52Hosts("b", START)];
  const again = [...earlier, ...now.slice(4)].map((row) => ({ ...row, id: crypto.randomUUID() }));
  await insert(...earlier, ...now, ...again);
  await cron();
  const lines = await metrics();
  for (const name of ["callbacks", "attempts"]) {
    const samples = lines.filter((line) => line.startsWith(`task_relay_${name}{`));
    expect(samples).toHaveLength(101);
    expect(samples.filter((line) => /host="b[0-3]"/.test(line))).toEqual([]);
  }
  expect(lines).toContain('task_relay_callbacks{outcome="delivered",host="*"} 4');
});

it("GET /metrics answers in Prometheus' text format 0.0.4 when the header Accept does not name OpenMetrics", async () => {
  const response = await callWith({}, "/metrics", { headers: { Accept: "text/plain, */*" } });
  expect(response.headers.get("Content-Type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const lines = (await response.text()).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      "# TYPE task_relay_ended_total counter",
      'task_relay_ended_total{status="failed"} 0',
      "# TYPE task_relay_settled_seconds histogram",
      "task_relay_settled_seconds_count 0",
    ]),
  );
  expect(lines).not.toContain("# EOF");
});

it.each([
  ["a double quote", 'a"b', 'a\\"b'],
  ["a backslash", "a\\b", "a\\\\b"],
  ["a line break", "a\nb", "a\\nb"],
  ["a backslash before the letter n", "\\n", "\\\\n"],
  ["text that looks like a metric", '"} 1\nevil_total 1', '\\"} 1\\nevil_total 1'],
  ["braces, = and an emoji", "a{b}, c=é 🦀#", "a{b}, c=é 🦀#"],
])(
  "GET /metrics escapes only double quotes, backslashes and line breaks in names of models and hosts, here %s",
  async (_, name, escaped) => {
    await insert(aRow({ model: name, host: name }));
    await cron();
    expect(await metrics()).toEqual(
      expect.arrayContaining([
        ...gauge(...TASKS, `{status="completed",model="${escaped}"} 1`),
        ...gauge(...CALLBACKS, `{outcome="delivered",host="${escaped}"} 1`),
        ...gauge(...ATTEMPTS, `{host="${escaped}"} 1`),
      ]),
    );
  },
);

/** Statement that copies the only row of the table `tasks` so many times, under further ids. */
const COPY_ONLY_ROW = `
  WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
  INSERT INTO index_rows (id, version, model, status, attempts, created_at, due_at, indexed_at)
  SELECT id || n, version, model, status, attempts, created_at, due_at, indexed_at FROM index_rows, number`;

it("GET /metrics reads the index rows of at most 10,000 open tasks, each once, and reads no row when it is called again within a minute", async () => {
  const { rows, INDEX_DB } = metered(db);
  const relay = { ...env, INDEX_DB };
  await insert(aRow({ settledAt: null, expiresAt: null, status: "pending", dueAt: START }));
  await db.prepare(COPY_ONLY_ROW).bind(10_100).run();
  const readRows = async () => {
    rows.read = 0;
    expect((await callRelay(relay, "/metrics")).status).toBe(200);
    return rows.read;
  };
  await readRows();
  expect(await readRows()).toBe(0);
  pass(60_000);
  const afterAMinute = await readRows();
  expect(afterAMinute).toBeGreaterThanOrEqual(10_000);
  expect(afterAMinute).toBeLessThanOrEqual(10_000 + 20);
  const text = await (await callWith({}, "/metrics")).text();
  expect(text).toContain("\ntask_relay_backlog_tasks 10000\n");
});

/** Counts the changed rows, and returns the totals of GET /metrics that are not 0. */
async function risenTotals() {
  await cron();
  const text = await (await callWith({}, "/metrics")).text();
  const lines = [...text.matchAll(/^task_relay_(\w+)_total(?:\{\w+="(\w+)"\})? ([1-9]\d*)$/gm)];
  return Object.fromEntries(
    lines.map(([, name, label, value]) => [label ? `${name} ${label}` : name, Number(value)]),
  );
}

it("the totals of GET /metrics count each copied or lost output once, with its bytes, whatever is copied or deleted later", async () => {
  const task = aRow();
  const { version } = task;
  await insert(task, aRow({ createdAt: START - 9 * HOUR, lostOutputs: 1 }));
  const { accepted, "output_copies lost": lost, ...others } = await risenTotals();
  expect([accepted, lost]).toEqual([2, 1]);
  expect(others).not.toHaveProperty("output_copies kept");
  await insert({ ...task, version: version + 1, keptOutputs: 1, keptBytes: 5 });
  const first = { "output_copies kept": 1, "output_copies lost": 1, output_bytes: 5 };
  expect(await risenTotals()).toMatchObject(first);
  const ended = { keptOutputs: 2, keptBytes: 12, lostOutputs: 1 };
  await insert({ ...task, version: version + 2, ...ended });
  const second = { "output_copies kept": 2, "output_copies lost": 2, output_bytes: 12 };
  expect(await risenTotals()).toMatchObject(second);
  await insert({ ...task, version: version + 3, ...ended, keptOutputs: 1, keptBytes: 5 });
  expect(await risenTotals()).toMatchObject(second);
});

it("the totals of GET /metrics count each task, its end, its refund and each callback attempt once, also when the task is redelivered or erased later", async () => {
  const task = aRow();
  const version = task.version + 1;
  const others = [aRow(UNANSWERED), aRow({ createdAt: START - 9 * HOUR })];
  await insert({ ...task, ...UNTRIED, settledAt: null, status: "pending" }, ...others);
  const first = {
    accepted: 3,
    "ended completed": 2,
    "callback_attempts delivered": 1,
    "callback_attempts timeout": 3,
  };
  expect(await risenTotals()).toEqual(first);
  const failed = { ...task, ...RETRYING, status: "failed", refunded: 1, version } as const;
  await insert(failed);
  const second = { ...first, "ended failed": 1, refunds: 1, "callback_attempts rejected": 1 };
  expect(await risenTotals()).toEqual(second);
  await insert({ ...failed, version: version + 1, outcomes: { rejected: 1, delivered: 2 } });
  const third = { ...second, "callback_attempts delivered": 3 };
  expect(await risenTotals()).toEqual(third);
  expect(await risenTotals()).toEqual(third);
  await removeRows(db, others);
  expect(await risenTotals()).toEqual(third);
});
