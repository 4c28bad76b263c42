import { expect, it, vi } from "vitest";
import { ANY_TASK, type Filters, listTasks } from "../../src/index-db/list.ts";
import { accountCounts } from "../../src/index-db/account-counts.ts";
import { countShards } from "../../src/index-db/list-shards.ts";
import { hourlyCounts, stepCounts } from "../../src/index-db/step-counts.ts";
import { readIndexState } from "../../src/index-db/index-state.ts";
import { countOpen } from "../../src/index-db/open-count.ts";
import { openPerConnection } from "../../src/index-db/open-per-connection.ts";
import {
  failedCallbacks,
  failedCallbacksOf,
  nextTasks,
} from "../../src/index-db/troubled-tasks.ts";
import { Shards } from "../../src/index-db/shards.ts";
import { unknownSubmissions } from "../../src/index-db/unknown-submissions.ts";
import { statistics } from "../../src/index-db/read-statistics.ts";
import { countHours } from "../../src/index-db/count-hours.ts";
import { unsettledTasks } from "../../src/index-db/open-tasks.ts";
import { overdueTasks } from "../../src/index-db/overdue-tasks.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import { START } from "../worker/clock.ts";
import { aRow, cron, DAY, db, HOUR, insert, useIndex } from "./support.ts";

useIndex();

const SHARDS = new Shards([db], Infinity);
const AFTER = { createdAt: START, id: "00000000-0000-4000-8000-000000000000" };
const DAY_AGO = { since: START - DAY, until: START };

interface Step extends Record<string, unknown> {
  readonly detail: string;
}

/** Returns the query plan of each statement that `work` prepares on real rows. */
async function plansOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  await insert(aRow({ account: "a" }), aRow({ callback: "failed" }), aRow({ dueAt: START - HOUR }));
  const statements: string[] = [];
  const prepare = db.prepare.bind(db);
  const spy = vi.spyOn(db, "prepare").mockImplementation((sql) => {
    statements.push(sql);
    return prepare(sql);
  });
  const session = db.withSession("first-unconstrained");
  // The database in an object is its own session.
  const ofSession =
    session === db
      ? spy
      : vi.spyOn(session, "prepare").mockImplementation((sql) => db.prepare(sql));
  const opening = vi.spyOn(db, "withSession").mockReturnValue(session);
  await work();
  for (const each of [spy, ofSession, opening]) each.mockRestore();
  const plans: string[] = [];
  for (const sql of statements) {
    const marks = new Set(
      [...sql.matchAll(/\?\d*/g)].map(([mark], i) => (mark === "?" ? i : mark)),
    );
    const values = Array.from(marks, () => START);
    const { results } = await prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .bind(...values)
      .all<Step>();
    plans.push(results.map(({ detail }) => detail).join("\n"));
  }
  return plans;
}

const page = (filters: Partial<Filters>, after: typeof AFTER | null = null) =>
  plansOf(() => listTasks(db, { ...ANY_TASK, ...filters }, after, 50));

const LISTS: readonly [string, Partial<Filters>, string][] = [
  ["of an account", { account: "a" }, "INDEX tasks_of_account (account=?"],
  ["with failed callbacks", { callback: "failed" }, "INDEX tasks_failed"],
  ["with a submission of unknown outcome", { submission: "unknown" }, "tasks_submit_unknown"],
  ["with outputs that the relay could not copy", { outputs: "lost" }, "tasks_outputs_lost"],
  [
    "with a submission of unknown outcome and a failed callback, of a time range",
    { ...DAY_AGO, submission: "unknown", callback: "failed" },
    "INDEX tasks_submit_unknown (created_at>?",
  ],
  [
    "of an account with a submission of unknown outcome",
    { account: "a", submission: "unknown" },
    "tasks_of_account",
  ],
  ["of an account with failed callbacks", { account: "a", callback: "failed" }, "tasks_of_account"],
  ["of a time range", DAY_AGO, "USING PRIMARY KEY (created_at>?"],
  ["of a model in a time range", { ...DAY_AGO, model: "m" }, "USING PRIMARY KEY (created_at>?"],
  ["of an account in a time range", { ...DAY_AGO, account: "a" }, "(account=? AND created_at>?"],
];

it.each(LISTS)(
  "the D1 query for a page of GET /v1/tasks with the tasks %s uses an SQL index or the table's primary key, and needs no sorting",
  async (_, filters, index) => {
    for (const after of [null, AFTER]) {
      const plans = await page(filters, after);
      expect(plans).toHaveLength(2);
      for (const plan of plans) {
        expect(plan).toContain(index);
        expect(plan).not.toMatch(/TEMP B-TREE/);
        expect(plan).not.toMatch(
          /SCAN index_rows(?! USING (COVERING )?INDEX tasks_(failed|submit_unknown|outputs_lost))/,
        );
      }
    }
  },
);

it("the D1 query for GET /v1/tasks?status=failed, without any other filter, needs no sorting", async () => {
  for (const plan of await page({ status: "failed" })) expect(plan).not.toMatch(/TEMP B-TREE/);
  for (const plan of await page({ status: "failed" }, AFTER)) {
    expect(plan).toMatch(/SEARCH index_rows USING PRIMARY KEY/);
  }
});

it.each<[string, () => Promise<unknown>]>([
  ["the list of tasks", () => listTasks(db, ANY_TASK, null, 50)],
  ["the statistics", () => statistics(SHARDS, DAY_AGO, START)],
])("the relay lets the nearest replica of D1 answer the queries for %s", async (_, work) => {
  const opening = vi.spyOn(db, "withSession");
  await work();
  expect(opening).toHaveBeenCalledExactlyOnceWith("first-unconstrained");
});

const OTHERS: readonly [string, () => Promise<unknown>][] = [
  ["GET /v1/stats", () => statistics(SHARDS, DAY_AGO, START)],
  ["GET /metrics", () => statistics(SHARDS, { since: 0, until: START }, START)],
  ["the hourly counts", () => countHours(db, 28 * DAY, START, new TimeBudget(HOUR))],
  ["overdue tasks", () => overdueTasks(db, START - HOUR, 500)],
  [
    "a page of the tasks that POST /v1/wake wakes",
    () => unsettledTasks(SHARDS, { dueAt: START - HOUR, createdAt: 0, id: "" }, 500),
  ],
  [
    "GET /v1/hosts/{host}, GET /v1/problems, GET /v1/tasks?count=true and GET /v1/accounts/{account}/stats",
    async () => {
      await hourlyCounts(SHARDS, DAY_AGO);
      await failedCallbacks(SHARDS, 10);
      await failedCallbacksOf("h", SHARDS, 10);
      await nextTasks(SHARDS, 10);
      await countOpen(SHARDS, 10, START);
      await openPerConnection(SHARDS, 10);
      await unknownSubmissions(SHARDS, 10, START);
      await countShards(SHARDS, ANY_TASK, AFTER);
      await accountCounts(SHARDS, "a", DAY_AGO, 10);
    },
  ],
  ["GET /healthz", () => readIndexState(SHARDS, START)],
  ["GET /v1/stats/series", () => stepCounts(SHARDS, DAY_AGO, HOUR)],
  [
    "removing expired rows and finding overdue tasks in a run of the cron",
    () => cron({ INDEX_DB: db }),
  ],
];

it.each(OTHERS)("the D1 queries for %s never scan a whole table", async (_, work) => {
  const plans = await plansOf(work);
  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans)
    expect(plan).not.toMatch(/SCAN (index_rows|counts|hours_to_count|step_counts|hours)(?! USING)/);
});
