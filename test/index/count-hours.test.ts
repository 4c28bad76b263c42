import * as fc from "fast-check";
import { expect, it } from "vitest";
import { OUTCOMES } from "../../src/core/record/outcome.ts";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { countHours } from "../../src/index-db/count-hours.ts";
import { removeRows, writeRows } from "../../src/index-db/index-row-table.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import { pass, START } from "../worker/clock.ts";
import { allRows, aRow, cron, DAY, db, HOUR, insert, useIndex } from "./support.ts";

useIndex();

/** Returns the stored counts of some kinds, each as a line with its kind, hour and keys. */
async function counted(...kinds: readonly string[]): Promise<readonly string[]> {
  const { results } = await db
    .prepare(
      `SELECT kind, hour, key1, key2, key3, number, sum FROM counts
       WHERE run = '' AND kind IN (SELECT value FROM json_each(?))`,
    )
    .bind(JSON.stringify(kinds))
    .all<Record<string, string | number>>();
  return results.map((row) => Object.values(row).join("|")).toSorted();
}

const OF_TASKS = ["tasks", "outcomes", "sums", "hosts"];
/** Sums that the tasks of these tests have, by the field of the row and by the name under which they are counted. */
const SUMS = [
  ["keptOutputs", "kept_outputs"],
  ["keptBytes", "kept_bytes"],
  ["lostOutputs", "lost_outputs"],
] as const;

/** Counts the rows by model, outcome and host without the relay's code, each as a line of `counted`. */
function countedFrom(rows: readonly IndexRow[]): readonly string[] {
  const keyed = rows.flatMap((row) => {
    const { model, status, host, attempts, outcomes } = row;
    const callback = row.callback ?? "";
    const line = (kind: string, keys: string, number: number, sum = 0) => ({
      key: `${kind}|${row.createdAt - (row.createdAt % HOUR)}|${keys}`,
      number,
      sum,
    });
    return [
      line("tasks", `${model}|${status}|${callback}`, 1, attempts),
      ...(host === null ? [] : [line("hosts", `${host}|${callback}|`, 1, attempts)]),
      ...OUTCOMES.map((name) => line("outcomes", `${name}||`, outcomes[name] ?? 0)),
      ...SUMS.map(([field, name]) => line("sums", `${name}||`, row[field])),
    ];
  });
  const groups = Map.groupBy(keyed, ({ key }) => key);
  return [...groups]
    .map(([key, group]) => ({
      key,
      number: group.reduce((total, { number }) => total + number, 0),
      sum: group.reduce((total, { sum }) => total + sum, 0),
    }))
    .filter(({ number }) => number > 0)
    .map(({ key, number, sum }) => `${key}|${number}|${sum}`)
    .toSorted();
}

/** Counts the ended attempts of rows by outcome, without the relay's code. */
function attemptsOf(rows: readonly IndexRow[]): readonly number[] {
  return OUTCOMES.map((name) => rows.reduce((sum, { outcomes }) => sum + (outcomes[name] ?? 0), 0));
}

/** Returns the totals of the ended attempts, by outcome. */
async function attemptTotals(): Promise<readonly number[]> {
  const { results } = await db
    .prepare("SELECT name, value FROM totals WHERE name LIKE 'outcome.%'")
    .all<{ name: string; value: number }>();
  const values = new Map(results.map(({ name, value }) => [name, value]));
  return OUTCOMES.map((name) => values.get(`outcome.${name}`) ?? 0);
}

/** Counts the hours with changed rows, which is the step of the cron that this file tests. */
const countNow = () => countHours(db, 28 * DAY, Date.now(), new TimeBudget(HOUR));

/** Generator of tasks of the last 47 hours, each with its successive states. */
const lives = fc.array(
  fc
    .record({
      minutes: fc.integer({ min: 0, max: 47 * 60 }),
      model: fc.constantFrom("a", "b"),
      host: fc.constantFrom(null, "x.example.net", "y.example.net"),
      outcomes: fc.dictionary(fc.constantFrom(...OUTCOMES), fc.integer({ min: 1, max: 20 })),
      copies: fc.record({
        keptOutputs: fc.integer({ min: 0, max: 32 }),
        keptBytes: fc.integer({ min: 0, max: 2 ** 35 }),
        lostOutputs: fc.integer({ min: 0, max: 32 }),
      }),
      end: fc.constantFrom("open", "settled", "erased"),
    })
    .map(({ minutes, model, host, outcomes, copies, end: state }) => {
      const createdAt = START - minutes * 60_000;
      const callback = host === null ? null : "delivered";
      const attempts = Object.values(outcomes).reduce((sum, number) => sum + number, 0);
      const end = aRow({ createdAt, model, host, callback, attempts, outcomes, ...copies });
      const uncopied = { keptOutputs: 0, keptBytes: 0, lostOutputs: 0 };
      const untried = { ...uncopied, callback: null, attempts: 0, outcomes: {} } as const;
      const open = { ...untried, completedAt: null, finishedAt: null } as const;
      const begin = {
        ...end,
        ...open,
        status: "pending",
        version: createdAt,
        dueAt: START,
      } as const;
      return { rows: state === "open" ? [begin] : [begin, end], isErased: state === "erased" };
    }),
  { minLength: 1, maxLength: 12 },
);

it("the counts of tasks by hour are exact in whatever order index rows are written, repeated, erased and counted; the totals of attempts are exact if no task is erased", async () => {
  await fc.assert(
    fc.asyncProperty(
      lives.chain((all) => {
        const written = all.flatMap(({ rows }) => rows);
        const again = fc.array(fc.constantFrom(...written), { maxLength: 10 });
        return fc.tuple(fc.constant(all), again, fc.infiniteStream(fc.boolean()));
      }),
      async ([all, again, counting]) => {
        for (const table of ["index_rows", "counts", "totals"])
          await db.prepare(`DELETE FROM ${table}`).run();
        const rows = all.flatMap((life) => life.rows).toReversed();
        const erased = all.flatMap((life) => (life.isErased ? life.rows.slice(-1) : []));
        const changes = [
          ...[...again, ...rows].map((row) => () => insert(row)),
          ...erased.map((row) => () => removeRows(db, [row])),
          ...again.map((row) => () => insert(row)),
        ];
        for (const change of changes) {
          await change();
          if (counting.next().value === true) await countNow();
        }
        await countNow();
        const ends = attemptsOf(all.flatMap((life) => life.rows.slice(-1)));
        const found = await attemptTotals();
        const atMost = found.map((count, index) => Math.min(count, ends[index] ?? 0));
        expect(found).toEqual(erased.length === 0 ? ends : atMost);
        const truth = all.flatMap((life) => (life.isErased ? [] : life.rows.slice(-1)));
        expect(await counted(...OF_TASKS)).toEqual(countedFrom(truth));
      },
    ),
    { seed: 20_261_121, numRuns: 10 },
  );
});

it("the counts of an hour stay the same after the index rows of its tasks have expired, even with RETENTION_DAYS=1", async () => {
  const RETENTION_DAYS = "1";
  const rows = [0, 1, 2, 3].map((hours) =>
    aRow({ createdAt: START + hours * HOUR, expiresAt: START + hours * HOUR + DAY }),
  );
  const [first, ...others] = rows;
  if (first === undefined) throw new Error("expected a row");
  await insert(first);
  for (let hours = 0; hours < 60; hours++) {
    await cron({ RETENTION_DAYS });
    pass(HOUR);
    const next = others.shift();
    if (next !== undefined) await insert(next);
  }
  expect(await allRows()).toEqual([]);
  expect(await counted(...OF_TASKS)).toEqual(countedFrom(rows));
});

it("the cron does not count an hour so long ago that index rows of its tasks may already have expired", async () => {
  const RETENTION_DAYS = "4";
  const hour = START - (START % HOUR) - 4 * DAY;
  const rows = [hour, hour + HOUR].map((createdAt) => aRow({ createdAt, dueAt: START }));
  await insert(...rows);
  await cron({ RETENTION_DAYS });
  const hours = (await counted("tasks")).map((line) => Number(line.split("|")[1]));
  expect(new Set(hours)).toEqual(new Set([hour + HOUR]));
});

const counts = () =>
  Promise.all([counted("tasks", "hosts"), counted("latencies"), counted("found_late")]);

it("the counts of tasks and the latency histograms of an hour stay in the index for 400 days, longer than the rows of the counted tasks", async () => {
  await insert(aRow({ foundBy: "hook", foundLateMs: 1 }));
  await cron();
  const before = await counts();
  expect(before).toMatchObject([{ length: 2 }, { length: 3 }, { length: 1 }]);
  // The first run of a day deletes old counts.
  const toMidnight = DAY - (START % DAY);
  pass(399 * DAY + toMidnight);
  await cron();
  expect(await allRows()).toEqual([]);
  expect(await counts()).toEqual(before);
  pass(DAY);
  await cron();
  expect(await counts()).toEqual([[], [], []]);
});

it("the latency histograms count the times from a result to the first callback attempt and to the callback's end, and from a change of a task to its index row", async () => {
  const row = aRow({ firstAttemptMs: 7, settledMs: 800_000, version: START });
  await writeRows(db, [row], START + 40);
  await writeRows(db, [aRow({ firstAttemptMs: 10, settledMs: 4_000_000 })], START + 2);
  await cron();
  const hour = START - (START % HOUR);
  expect(await counted("latencies")).toEqual(
    [
      `latencies|${hour}|first_attempt|1||2|17`,
      `latencies|${hour}|index|0||1|0`,
      `latencies|${hour}|index|3||1|40`,
      `latencies|${hour}|settled|17||1|800000`,
      `latencies|${hour}|settled|20||1|4000000`,
    ].toSorted(),
  );
});

it("how late results were found is counted by provider and source (poll, hook or event), and the hour of a removed index row is counted again", async () => {
  const polled = { provider: "ark", foundBy: "poll" } as const;
  const first = aRow({ ...polled, foundLateMs: 4_000 });
  await insert(
    first,
    aRow({ ...polled, foundLateMs: 5_000, model: "other" }),
    aRow({ ...polled, foundBy: "hook", foundLateMs: 7 }),
    aRow({ foundBy: "report", foundLateMs: 0 }),
    aRow({ ...polled, foundLateMs: null }),
  );
  await cron();
  const hour = START - (START % HOUR);
  const others = [`found_late|${hour}|ark|hook|1|1|7`, `found_late|${hour}||report|0|1|0`];
  const polls = (number: number, ms: number) => `found_late|${hour}|ark|poll|9|${number}|${ms}`;
  expect(await counted("found_late")).toEqual([...others, polls(2, 9_000)].toSorted());
  await removeRows(db, [first]);
  await cron();
  expect(await counted("found_late")).toEqual([...others, polls(1, 5_000)].toSorted());
});

const jobs = () => counted("job_times", "job_failures");

it("the times and failures of jobs are counted by connection, without open tasks and without tasks of no connection", async () => {
  const ark = { provider: "ark" } as const;
  const first = aRow({ ...ark, jobMs: 90_000 });
  await insert(
    first,
    aRow({ ...ark, jobMs: 60_001, model: "other" }),
    aRow({ ...ark, jobMs: null }),
    aRow({ ...ark, jobMs: 7, status: "failed", category: "timeout" }),
    aRow({ ...ark, status: "processing", finishedAt: null }),
    aRow({ jobMs: 7 }),
    aRow({ status: "failed" }),
  );
  await cron();
  const hour = START - (START % HOUR);
  const failed = `job_failures|${hour}|ark|timeout||1|0`;
  const times = (number: number, ms: number) => `job_times|${hour}|ark|11||${number}|${ms}`;
  expect(await jobs()).toEqual([failed, times(2, 150_001)]);
  await removeRows(db, [first]);
  await cron();
  expect(await jobs()).toEqual([failed, times(1, 60_001)]);
});

it("the latency histograms of callbacks leave out an open task whose callback was not attempted yet", async () => {
  await insert(aRow({ firstAttemptMs: null, settledMs: null, settledAt: null, dueAt: START }));
  await cron();
  expect(await counted("latencies")).toEqual([]);
});
