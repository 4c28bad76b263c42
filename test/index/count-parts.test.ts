import * as fc from "fast-check";
import { expect, it } from "vitest";
import * as z from "zod";
import { removeRows } from "../../src/index-db/index-row-table.ts";
import { countHours, PART_ROWS } from "../../src/index-db/count-hours.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import type { IndexDatabase, IndexStatement } from "../../src/index-db/index-database.ts";
import { START } from "../worker/clock.ts";
import { gated, metered } from "./bindings.ts";
import {
  aRow,
  DAY,
  db,
  HOUR,
  insert,
  STORES_HOUR,
  STORES_PART,
  TABLES,
  UNANSWERED,
  UNTRIED,
  useIndex,
} from "./support.ts";

useIndex();

const THIS_HOUR = START - (START % HOUR);
/** Rows of a part in these tests, in place of `PART_ROWS`. */
const PART = 3;

const Answer = z.object({ meta: z.object({ rows_read: z.int() }) });

const countIn = (partRows: number, database = db, budget = new TimeBudget(HOUR)) =>
  countHours(database, 28 * DAY, THIS_HOUR, budget, partRows);

/** Returns every count that the index shows: those of hours, their sums, and the totals. */
async function shown() {
  const answers = await db.batch([
    db.prepare("SELECT * FROM counts WHERE run = ''"),
    // An hour whose tasks are all erased keeps a row without counts, which reads like none.
    db.prepare("SELECT * FROM step_counts WHERE counts ->> '$.tasks' <> '[]'"),
    db.prepare("SELECT name, value FROM totals"),
  ]);
  return answers.map(({ results }) => results.map((row) => JSON.stringify(row)).toSorted());
}

/** Returns what a count of the present rows in one part shows, without the counts before it. */
async function shownAfterOnePart() {
  await db.batch([
    ...TABLES.filter((name) => name !== "index_rows").map((name) =>
      db.prepare(`DELETE FROM ${name}`),
    ),
    db.prepare("UPDATE index_rows SET version = version"),
  ]);
  await countIn(1_000);
  return shown();
}

const leftovers = async () => {
  const tables = ["counts WHERE run <> ''", "hours_to_count"];
  const answers = await db.batch(tables.map((from) => db.prepare(`SELECT 1 FROM ${from}`)));
  return answers.flatMap(({ results }) => results).length;
};

/** Returns rows of the hour that differ in everything that is counted. */
function mixedRows(length: number) {
  return Array.from({ length }, (_, n) =>
    aRow({
      createdAt: THIS_HOUR + Math.floor(n / 2),
      model: `m${n % 3}`,
      host: n % 4 === 0 ? null : `h${n % 5}.example.net`,
      status: n % 7 === 0 ? "failed" : "completed",
      category: n % 7 === 0 ? "moderation" : null,
      provider: n % 2 === 0 ? "ark" : "fal",
      foundBy: n % 3 === 0 ? "hook" : "poll",
      foundLateMs: n * 100,
      firstAttemptMs: n % 4 === 0 ? null : n * 3,
      settledMs: n * 40,
      refunded: n % 2 === 0 ? 0 : 1,
      ...(n % 5 === 0 ? UNANSWERED : {}),
      ...(n % 4 === 0 ? { ...UNTRIED, callback: null } : {}),
    }),
  );
}

it.each([1, 2, 3, 7, 19, 20, 21])(
  "an hour of 20 tasks that is counted in parts of %i rows has the same counts, sums and totals as one counted at once",
  async (partRows) => {
    await insert(...mixedRows(20));
    expect(await countIn(partRows)).toEqual({ hours: 1, left: 0 });
    const inParts = await shown();
    expect(await leftovers()).toBe(0);
    expect(inParts).toEqual(await shownAfterOnePart());
  },
);

it("no statement that counts the tasks of an hour in parts reads more than four rows per task of a part, and so at most 400,000 rows", async () => {
  const shapes = mixedRows(20);
  for (let n = 0; n < 100; n++) {
    await insert(...shapes.map((row) => ({ ...row, id: crypto.randomUUID() })));
  }
  const reads: number[] = [];
  const seen = gated(
    db,
    async () => undefined,
    (answer) => void reads.push(Answer.safeParse(answer).data?.meta.rows_read ?? 0),
  );
  await countIn(500, seen);
  const most = Math.max(...reads);
  expect(most).toBeGreaterThan(500);
  expect(most).toBeLessThanOrEqual(4 * 500);
  expect(4 * PART_ROWS).toBeLessThanOrEqual(400_000);
});

it("when an hour is counted in parts again with the same result, no row of the hour's counts, of the sums by hour and day or of the totals is written", async () => {
  await insert(...mixedRows(10));
  await countIn(PART);
  await db.prepare("UPDATE index_rows SET version = version").run();
  const lasting = /SELECT '', kind|number = 0|INTO (step_counts|totals)/;
  const { rows, INDEX_DB } = metered(db, (sql) => lasting.test(sql));
  await countIn(PART, INDEX_DB);
  expect(rows.read).toBeGreaterThan(0);
  expect(rows.written).toBe(0);
});

/** Faults of D1 in the middle of a count of 10 tasks, of which four are new: in the third of its parts, or its end. */
const FAULTS = [
  ["fails before the third part is stored", () => failingAt(STORES_PART, 3, false)],
  ["stores the third part and does not answer", () => failingAt(STORES_PART, 3, true)],
  ["is full when the counts of the hour are to be stored", () => failingAt(STORES_HOUR, 1, false)],
  [
    "answers the query for the end of the third part with a row of another shape",
    () => answeringAt(3, ([sums]) => [sums, { results: [{ createdAt: "0", id: "x" }] }]),
  ],
  [
    "gives no answer to the query for the end of the third part",
    () => answeringAt(3, ([sums]) => [sums]),
  ],
] as const;

/**
 * Returns a database that changes its answers to the queries before a part.
 * @param time number of the part whose answers are changed.
 */
function answeringAt(
  time: number,
  change: (answers: readonly unknown[]) => readonly unknown[],
): IndexDatabase {
  let times = 0;
  let isChanged = false;
  const seen = gated(db, async (sql) => {
    isChanged = /LIMIT 1 OFFSET/.test(sql) && (times += 1) === time;
  });
  const batch = async (statements: IndexStatement[]) => {
    const answers = await seen.batch(statements);
    return isChanged ? change(answers) : answers;
  };
  return new Proxy(seen, {
    get: (target, name): unknown => (name === "batch" ? batch : Reflect.get(target, name)),
  });
}

/** Returns a database that fails at the given time with a batch that contains a statement, or after it. */
function failingAt(statement: RegExp, time: number, isStored: boolean): IndexDatabase {
  let times = 0;
  let isLost = false;
  return gated(
    db,
    async (sql) => {
      if (!statement.test(sql) || (times += 1) !== time) return;
      if (!isStored) throw new Error("D1_ERROR: database or disk is full: SQLITE_FULL");
      isLost = true;
    },
    () => {
      if (isLost) throw new Error("Network connection lost.");
    },
  );
}

it.each(FAULTS)(
  "when D1 %s during a count, the hour keeps its earlier counts, and later runs complete the count, also of rows that changed after their part was counted",
  async (_, aFaultyDatabase) => {
    const rows = mixedRows(10);
    await insert(...rows.slice(0, 6));
    await countIn(PART);
    const before = await shown();
    await insert(...rows.slice(6));
    await expect(countIn(PART, aFaultyDatabase())).rejects.toThrow(/^D1|^Network/);
    expect(await shown()).toEqual(before);
    const [first] = rows;
    if (first === undefined) throw new Error("expected a row");
    await insert({ ...first, version: first.version + 1, model: "other" });
    await countIn(PART);
    await countIn(PART);
    expect(await leftovers()).toBe(0);
    expect(await shown()).toEqual(await shownAfterOnePart());
  },
);

it("when D1 has stored the counts of an hour but its answer is lost, the next run of the cron does not count the hour again", async () => {
  await insert(...mixedRows(10));
  await expect(countIn(PART, failingAt(STORES_HOUR, 1, true))).rejects.toThrow("lost");
  expect(await countIn(PART)).toEqual({ hours: 0, left: 0 });
  expect(await shown()).toEqual(await shownAfterOnePart());
});

it("when the queries of a run of the cron do not suffice to count all parts of an hour, the next run continues with the part at which the count stopped", async () => {
  await insert(...mixedRows(10));
  const parts: number[] = [];
  let stored = 0;
  const counting = gated(db, async (sql) => void (stored += STORES_PART.test(sql) ? 1 : 0));
  for (let left = 1; left > 0;) {
    stored = 0;
    left = (await countIn(PART, counting, new TimeBudget(HOUR, 30)))?.left ?? 0;
    parts.push(stored);
  }
  expect(parts.length).toBeGreaterThan(1);
  expect(parts.reduce((sum, each) => sum + each, 0)).toBe(3);
  expect(await shown()).toEqual(await shownAfterOnePart());
});

it("when two runs of the cron count the parts of the same hour at the same time, no task is counted twice", async () => {
  await insert(...mixedRows(10));
  await expect(countIn(PART, failingAt(STORES_PART, 2, false))).rejects.toThrow();
  let isFirst = true;
  const overtaken = gated(db, async (sql) => {
    if (!isFirst || !STORES_PART.test(sql)) return;
    isFirst = false;
    await countIn(PART);
  });
  await countIn(PART, overtaken);
  expect(await shown()).toEqual(await shownAfterOnePart());
});

it("a count in parts of an hour with 1,100 hosts counts 100 hosts by name, and the tasks of all other hosts together under the name *", async () => {
  const hosts = Array.from({ length: 1_100 }, (_, n) => `h${n}.example.net`);
  await insert(
    ...hosts.map((host) => aRow({ createdAt: THIS_HOUR, host })),
    ...hosts
      .slice(0, 2)
      .map((host) => aRow({ createdAt: THIS_HOUR + 1, host, callback: "failed" })),
  );
  await countIn(1_100);
  const { results } = await db
    .prepare(
      `SELECT key1 AS host, sum(number) AS tasks FROM counts WHERE kind = 'hosts'
       GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3`,
    )
    .all();
  expect(results).toEqual([
    { host: "*", tasks: 1_000 },
    { host: "h0.example.net", tasks: 2 },
    { host: "h1.example.net", tasks: 2 },
  ]);
});

it("each part of an hour's count stores at most 1,000 hosts by name, those with failures first, and the tasks of other hosts together under the name *", async () => {
  const hosts = Array.from({ length: 1_003 }, (_, n) => `h${n}.example.net`);
  await insert(
    ...hosts.map((host) => aRow({ createdAt: THIS_HOUR, host })),
    aRow({ createdAt: THIS_HOUR, host: "zz.example.net", callback: "failed" }),
    aRow({ createdAt: THIS_HOUR + 1 }),
  );
  await expect(countIn(1_004, failingAt(STORES_HOUR, 1, false))).rejects.toThrow();
  const { results } = await db
    .prepare(
      `SELECT key1 AS host, sum(number) AS tasks FROM counts WHERE kind = 'hosts' AND run <> ''
       GROUP BY 1`,
    )
    .all();
  expect(results).toHaveLength(1_001);
  expect(results).toContainEqual({ host: "*", tasks: 4 });
  expect(results).toContainEqual({ host: "zz.example.net", tasks: 1 });
});

it("counts of an hour in parts are exact in whatever order index rows are written and erased and counts are cut short; totals are exact if no task is erased", async () => {
  const change = fc.record({
    row: fc.nat(11),
    kind: fc.constantFrom("write", "change", "erase", "count"),
    queries: fc.integer({ min: 10, max: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 5, maxLength: 40 }), async (changes) => {
      await db.batch(TABLES.map((name) => db.prepare(`DELETE FROM ${name}`)));
      const rows = mixedRows(12);
      const erased = new Set<number>();
      for (const [step, { row: n, kind, queries }] of changes.entries()) {
        const row = rows[n];
        if (row === undefined || erased.has(n)) continue;
        if (kind === "write") await insert(row);
        if (kind === "change")
          await insert({ ...row, version: row.version + step + 1, model: "c" });
        if (kind === "erase" && erased.add(n))
          await removeRows(db, [{ ...row, version: row.version + 1_000 }]);
        if (kind === "count") await countIn(PART, db, new TimeBudget(HOUR, queries));
      }
      for (let runs = 0; (await leftovers()) > 0; runs++) {
        if (runs > 3) throw new Error("the hour is never counted");
        await countIn(PART);
      }
      const [totals, ...counts] = (await shown()).toReversed();
      const [expected, ...truth] = (await shownAfterOnePart()).toReversed();
      expect(counts).toEqual(truth);
      if (erased.size === 0) expect(totals).toEqual(expected);
    }),
    { seed: 20_261_121, numRuns: 15 },
  );
});
