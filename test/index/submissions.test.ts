import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ready } from "../../src/index-db/database.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import { logIn, visit } from "../worker/browser.ts";
import { callWith as callRelay } from "../worker/client.ts";
import { pass, START, START_S } from "../worker/clock.ts";
import { read } from "../worker/tasks.ts";
import { endSubmission, submitted } from "../worker/submitted-tasks.ts";
import { metered } from "./bindings.ts";
import {
  answerOf,
  aRow,
  callWith,
  DAY,
  db,
  HOUR,
  indexed,
  insert,
  list,
  TABLES,
  UNTRIED,
  useIndex,
} from "./support.ts";

useIndex();

const MINUTE = 60_000;
const OPEN = {
  ...UNTRIED,
  status: "pending",
  completedAt: null,
  finishedAt: null,
  settledAt: null,
  expiresAt: null,
  firstAttemptMs: null,
  settledMs: null,
  dueAt: START + HOUR,
} as const;

/** Returns the row of an open task whose submission has an unknown outcome, of this age in minutes. */
const anUnknown = (minutes: number, fields: Parameters<typeof aRow>[0] = {}) =>
  aRow({ ...OPEN, submission: "unknown", createdAt: START - minutes * MINUTE, ...fields });

it("the index row of a submitted task has the state of its submission: sending, then unknown, and accepted once the upstream's answer comes", async () => {
  const task = await submitted();
  expect(await indexed(task.id)).toMatchObject({ submission: "sending", job: null });
  await endSubmission(task, { kind: "unknown", statusCode: 502 });
  expect(await indexed(task.id)).toMatchObject({ submission: "unknown", status: "pending" });
  const answer = { statusCode: 200, answer: null, isHookExpected: true };
  await endSubmission(task, { kind: "accepted", job: { id: "cgt-1", endpoint: null }, ...answer });
  expect(await indexed(task.id)).toMatchObject({ submission: "accepted", job: "cgt-1" });
});

it("GET /v1/tasks shows operator and account the state of the submission of a task that the relay has submitted, and none for another task", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  await insert(anUnknown(2, { account }), aRow({ account, createdAt: START - HOUR }));
  for (const query of [["?limit=9"], ["?limit=9", key]] as const) {
    const [unknown, other] = (await list(...query)).data;
    expect(unknown).toMatchObject({ submission: { state: "unknown" } });
    expect(other).not.toHaveProperty("submission");
  }
});

it("GET /v1/tasks?submission=unknown lists on its first page a task older than 10,000 others that do not match, and reads none of their index rows", async () => {
  const others = Array.from({ length: 10_001 }, (_, n) => aRow({ createdAt: START - n }));
  const open = anUnknown(60);
  const failed = aRow({ status: "failed", submission: "unknown", createdAt: START - DAY });
  await insert(...others, open, failed);
  const { rows, INDEX_DB } = metered(db);
  const response = await callRelay({ ...env, INDEX_DB }, "/v1/tasks?submission=unknown");
  const { data, next_cursor } = await response.json<{
    data: { id: string }[];
    next_cursor: null;
  }>();
  expect([data.map(({ id }) => id), next_cursor]).toEqual([[open.id, failed.id], null]);
  expect(rows.read).toBeLessThan(20);
});

it("GET /v1/problems counts the open tasks with a submission of unknown outcome in all databases of the index and names the oldest", async () => {
  const { SHARD_1: second } = env;
  if (second === undefined) throw new Error("this test needs two databases");
  await ready(second);
  await second.batch(TABLES.map((table) => second.prepare(`DELETE FROM ${table}`)));
  const bindings = { INDEX_DB_1: second, INDEX_SHARD_HOURS: 750 };
  const ended = anUnknown(50, { status: "failed", finishedAt: START, dueAt: null });
  expect(await answerOf("/v1/problems", bindings)).toMatchObject({ data: [] });
  await insert(ended, anUnknown(3), anUnknown(20, { submission: "accepted", dueAt: START + DAY }));
  const oldest = anUnknown(7, { status: "processing" });
  await writeRows(second, [oldest, anUnknown(5)], START);
  expect(await answerOf("/v1/problems", bindings)).toMatchObject({
    data: [
      {
        kind: "submit_unknown",
        severity: "warning",
        since: START_S - 7 * 60,
        tasks: { count: 3, is_capped: false },
        subject: { task_id: oldest.id },
      },
    ],
  });
});

it("GET /v1/problems counts at most 50 tasks with a submission of unknown outcome, reads no rows of further ones, and says when there may be more", async () => {
  const { rows, INDEX_DB } = metered(db, (sql) => sql.includes("tasks_submit_unknown"));
  await insert(...Array.from({ length: 60 }, (_, n) => anUnknown(n + 1)));
  const response = await callWith({ INDEX_DB }, "/v1/problems");
  expect(await response.json()).toMatchObject({
    data: [{ kind: "submit_unknown", tasks: { count: 50, is_capped: true } }],
  });
  expect(rows.read).toBeGreaterThanOrEqual(50);
  expect(rows.read).toBeLessThanOrEqual(52);
});

it("GET /v1/stats and GET /metrics count the open tasks whose submission has an unknown outcome, without reading index rows of tasks older than 25 hours", async () => {
  const past = Array.from({ length: 100 }, () =>
    anUnknown(26 * 60, { status: "failed", finishedAt: START - DAY, dueAt: null }),
  );
  await insert(anUnknown(30), anUnknown(10), ...past);
  const { rows, INDEX_DB } = metered(db, (sql) => sql.includes("tasks_submit_unknown"));
  expect(await answerOf("/v1/stats", { INDEX_DB })).toMatchObject({
    submit_unknown: { tasks: 2, oldest_age_ms: 30 * MINUTE },
  });
  const metrics = await (await callWith({}, "/metrics")).text();
  expect(metrics).toContain("\ntask_relay_submit_unknown_tasks 2\n");
  expect(metrics).toContain("\ntask_relay_submit_unknown_seconds 1800\n");
  expect(rows.read).toBeGreaterThanOrEqual(2);
  expect(rows.read).toBeLessThan(10);
});

it("the console's list of tasks marks submissions that are in progress or of unknown outcome, and can be filtered by the state of the submission", async () => {
  await insert(anUnknown(1), anUnknown(2, { submission: "sending" }));
  await insert(anUnknown(3, { submission: "accepted" }));
  const cookie = await logIn();
  const page = await (await visit("/tasks", cookie)).text();
  expect(page.match(/(?<=title="submission \w+">)[\w ]+/g)).toEqual(["outcome unknown", "sending"]);
  const filtered = await (await visit("/tasks?submission=unknown", cookie)).text();
  expect(filtered.match(/(?<=title="submission \w+">)[\w ]+/g)).toEqual(["outcome unknown"]);
  expect(filtered).toMatch(/<option value="unknown" selected[^>]*>unknown/);
});

it("the console's page of a task says that its submission awaits the upstream's answer, then until when an unknown outcome may be resolved, and then the upstream's answer", async () => {
  const task = await submitted();
  const cookie = await logIn();
  const page = async () => (await visit(`/tasks/${task.id}`, cookie)).text();
  expect(await page()).toContain("Waits for the upstream&#39;s answer.");
  pass(1_000);
  await endSubmission(task, { kind: "unknown", statusCode: 502 });
  expect(await read(task.id)).toMatchObject({
    submission: { state: "unknown", started_at: START_S, answered_at: START_S + 1 },
  });
  const unknown = await page();
  expect(unknown).toContain("It is not known whether the upstream has started the job.");
  expect(unknown).toContain("without a hook that names the job until then, the task fails");
  expect(unknown).toContain('id="moment-answered"');
  expect(unknown).toContain("with HTTP status 502");
  expect(unknown).not.toContain("<dt>Fails at</dt>");
  const answer = { statusCode: 200, answer: null, isHookExpected: true };
  await endSubmission(task, { kind: "accepted", job: { id: "cgt-1", endpoint: null }, ...answer });
  expect(await page()).toContain("<dt>Fails at</dt>");
});
