import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { callWith as callRelay } from "../worker/client.ts";
import { logIn, visit } from "../worker/browser.ts";
import { START } from "../worker/clock.ts";
import { consumed } from "./consumed.ts";
import { BOUND, metered } from "./bindings.ts";
import { allRows, aRow, db, HOUR, insert, list, useIndex, WITHOUT_COPIES } from "./support.ts";

useIndex();

const NONE = { kept_outputs: 0, kept_bytes: 0, lost_outputs: 0 };

it("GET /v1/tasks?outputs=lost finds a task behind 10,000 newer ones with one page, and reads no row of the others", async () => {
  const others = Array.from({ length: 10_001 }, (_, n) =>
    aRow({ createdAt: START - n, keptOutputs: 1, keptBytes: 9 }),
  );
  const lost = aRow({ createdAt: START - HOUR, keptOutputs: 1, keptBytes: 9, lostOutputs: 1 });
  await insert(...others, lost);
  const { rows, INDEX_DB } = metered(db);
  const response = await callRelay({ ...env, INDEX_DB }, "/v1/tasks?outputs=lost");
  expect(await response.json()).toMatchObject({ data: [{ id: lost.id }], next_cursor: null });
  expect(rows.read).toBeLessThan(20);
});

it("an index of an earlier release, without columns about outputs, gets them with the first read that needs them, and a row of that release has no outputs until it is written again", async () => {
  const row = aRow({ lostOutputs: 1 });
  await insert(row);
  await db.batch(
    [
      ...WITHOUT_COPIES,
      "DELETE FROM relay_schema WHERE version = (SELECT max(version) FROM relay_schema)",
    ].map((sql) => db.prepare(sql)),
  );
  // The proxy hides the database from the isolate's memory, as another isolate does not know it either.
  const INDEX_DB = new Proxy(db, BOUND);
  const response = await callRelay({ ...env, INDEX_DB }, "/v1/tasks?outputs=lost");
  expect(await response.json()).toMatchObject({ data: [] });
  expect(await allRows()).toMatchObject([{ id: row.id, ...NONE }]);
  await insert({ ...row, version: row.version + 1 });
  expect((await list("?outputs=lost")).data).toMatchObject([{ id: row.id }]);
});

it("the consumer of INDEX_QUEUE takes a row that an earlier release has sent, which says nothing about outputs, as one of a task without outputs", async () => {
  const { keptOutputs: _, keptBytes: __, lostOutputs: ___, ...older } = aRow();
  expect(await consumed([older])).toMatchObject({ acked: ["0"], retried: [] });
  expect(await allRows()).toMatchObject([{ id: older.id, ...NONE }]);
});

it("the console's list of tasks is narrowed by its filter Outputs to tasks with an output that was not kept", async () => {
  const lost = aRow({ lostOutputs: 1 });
  const kept = aRow({ keptOutputs: 1, keptBytes: 9 });
  await insert(lost, kept);
  const page = await (await visit("/tasks?outputs=lost", await logIn())).text();
  expect(page).toContain(`/tasks/${lost.id}`);
  expect(page).not.toContain(`/tasks/${kept.id}`);
  expect(page).toMatch(/<option value="lost" selected[^>]*>lost/);
});
