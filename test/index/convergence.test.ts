import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { IndexRow } from "../../src/core/views/index-row.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import { START } from "../worker/clock.ts";
import { allRows, aRow, DAY, db, insert, rowsOfTask, useIndex } from "./support.ts";

useIndex();

const CREATED = START - DAY;
const UUID = "00000000-0000-4000-8000-00000000000";

/** The states of a task, oldest first; the last one is the truth. */
const history: fc.Arbitrary<readonly IndexRow[]> = fc
  .record({
    task: fc.integer({ min: 0, max: 4 }),
    steps: fc.uniqueArray(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 6 }),
    model: fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 }),
  })
  .map(({ task, steps, model }) =>
    steps
      .toSorted((a, b) => a - b)
      .map((step) =>
        aRow({
          id: `${UUID}${task}`,
          createdAt: CREATED + task,
          version: CREATED + 1000 + step,
          model,
          attempts: step,
          status: step % 2 === 0 ? "completed" : "pending",
          callback: step % 3 === 0 ? null : "sending",
          lastStatusCode: step % 5 === 0 ? null : 500,
          dueAt: step % 7 === 0 ? null : START + step,
          expiresAt: step % 4 === 0 ? START + DAY : null,
        }),
      ),
  );

const histories = fc.uniqueArray(history, {
  minLength: 1,
  maxLength: 4,
  selector: ([first]) => first?.id,
});

/** Generates an order in which rows arrive: each at least once, divided into batches. */
function delivered(rows: readonly IndexRow[]): fc.Arbitrary<readonly (readonly IndexRow[])[]> {
  const copies = fc.array(fc.constantFrom(...rows), { maxLength: 8 });
  return copies
    .chain((again) => fc.shuffledSubarray([...rows, ...again], { minLength: rows.length }))
    .chain((some) => {
      const missing = rows.filter((row) => !some.includes(row));
      return fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1 }).map((sizes) => {
        // Lost rows are sent again at the end.
        const rest = [...some, ...missing];
        const batches: IndexRow[][] = [];
        for (let i = 0; rest.length > 0; i++) {
          batches.push(rest.splice(0, sizes[i % sizes.length] ?? 1));
        }
        return batches;
      });
    });
}

const worlds = histories.chain((all) =>
  delivered(all.flat()).map((batches) => ({
    truth: all.flatMap((each) => each.slice(-1)),
    batches,
  })),
);

it("when the index rows of tasks are written repeatedly and in any order, the index never returns to an earlier state of a task and ends at its last one", async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async ({ truth, batches }) => {
      await db.prepare("DELETE FROM index_rows").run();
      const seen = new Map<unknown, number>();
      for (const batch of batches) {
        await writeRows(db, batch, START);
        for (const { id, version } of await allRows()) {
          expect(Number(version)).toBeGreaterThanOrEqual(seen.get(id ?? null) ?? 0);
          seen.set(id ?? null, Number(version));
        }
      }
      const rows = await allRows();
      const expected = truth
        .toSorted((a, b) => a.createdAt - b.createdAt)
        .map(({ id, version, model, attempts, status, callback, lastStatusCode, dueAt }) => ({
          id,
          version,
          model,
          attempts,
          status,
          callback,
          last_status_code: lastStatusCode,
          due_at: dueAt,
        }));
      expect(rows).toMatchObject(expected);
      expect(rows).toHaveLength(expected.length);
    }),
    { seed: 20_261_121, numRuns: 60 },
  );
});

it("a newer index row of a task replaces every column of the task's older row, even where the newer row has null", async () => {
  const found = { foundBy: "poll", foundLateMs: 1, jobMs: 1 } as const;
  const known = { account: "a", provider: "ark", job: "j", category: "timeout" } as const;
  const submitted = { submission: "unknown", refusal: "funds" } as const;
  const row = aRow({ ...known, ...submitted, ...found, dueAt: START });
  await insert(row);
  const names =
    "account provider job category submission refusal callback lastOutcome lastStatusCode host completedAt finishedAt";
  const times = "foundBy foundLateMs jobMs settledAt firstAttemptMs settledMs dueAt expiresAt";
  const empty = Object.fromEntries(`${names} ${times}`.split(" ").map((name) => [name, null]));
  await insert({ ...row, ...empty, version: row.version + 1 });
  const [stored] = await rowsOfTask(row.id);
  const nulls = Object.values(stored ?? {}).filter((value) => value === null);
  expect(nulls).toHaveLength(Object.keys(empty).length);
});

it.each([
  ["'); DROP TABLE tasks; --", "'); DROP TABLE tasks; --"],
  ["consisting of a double quote", '"'],
  ["consisting of a backslash", "\\"],
  ["consisting of a line break", "\n"],
  ["consisting of a space", " "],
  ["ü 🦀", "ü 🦀"],
  ["123", "123"],
  ["null", "null"],
  ["true", "true"],
  ["{}", "{}"],
])("the index stores the model name %s unchanged, as text", async (_, model) => {
  const row = aRow({ model });
  await insert(row);
  expect(await rowsOfTask(row.id)).toMatchObject([{ model }]);
});

it("the index stores neither a new nor a changed row of a task whose retention has ended", async () => {
  const kept = aRow({ expiresAt: START + 1 });
  const known = aRow({ expiresAt: START + 1 });
  await insert(kept, known);
  const late = { ...known, version: known.version + 1, expiresAt: START };
  await insert(late, aRow({ expiresAt: START }), aRow({ expiresAt: START - 1 }));
  const rows = await allRows();
  expect(new Map(rows.map(({ id, version }) => [id, version]))).toEqual(
    new Map([kept, known].map(({ id, version }) => [id, version])),
  );
});

it("an index row is overwritten by a row of the same task and the same version that has other contents", async () => {
  const row = aRow({ model: "wrong" });
  await insert(row);
  await insert({ ...row, model: "right" });
  expect(await rowsOfTask(row.id)).toMatchObject([{ model: "right" }]);
});
