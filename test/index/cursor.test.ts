import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { aKey, anAccount } from "../worker/accounts.ts";
import { call, invalid, refusal } from "../worker/client.ts";
import { START } from "../worker/clock.ts";
import { aRow, callWith, insert, list, listAll, useIndex } from "./support.ts";

useIndex();

/** Largest number of rows that one page of a list examines. */
const MAX_SCANNED = 10_000;
const INVALID = invalid("/cursor");

async function aCursor(query = "?limit=1", key?: string): Promise<string> {
  const { next_cursor } = await list(query, key);
  if (next_cursor === null) throw new Error("expected a further page");
  return next_cursor;
}

const tasks = (length: number, fields: Parameters<typeof aRow>[0] = {}) =>
  Array.from({ length }, (_, i) => aRow({ createdAt: START - i, ...fields }));

it("GET /v1/tasks refuses a cursor that was altered", async () => {
  await insert(...tasks(3));
  const cursor = await aCursor();
  const place = cursor.slice(0, cursor.lastIndexOf("_"));
  const forged = [place, `${place}_`, `${place}_${"A".repeat(43)}`];
  for (const altered of [...forged, cursor.slice(1), cursor.toUpperCase(), "x".repeat(600)]) {
    expect(await refusal(await call(`/v1/tasks?cursor=${altered}`))).toEqual(INVALID);
  }
});

it("GET /v1/tasks refuses an account's cursor when another account or the operator sends it, and the operator's when an account sends it", async () => {
  const [own, other] = [await anAccount(), await anAccount()];
  const [{ key }, { key: otherKey }] = [await aKey(own), await aKey(other)];
  await insert(...tasks(3, { account: own }), ...tasks(3, { account: other }));
  const cursor = await aCursor("?limit=1", key);
  const foreign = await call(`/v1/tasks?cursor=${cursor}`, { key: otherKey });
  expect(await refusal(foreign)).toEqual(INVALID);
  expect(await refusal(await call(`/v1/tasks?cursor=${cursor}`))).toEqual(INVALID);
  const operators = await call(`/v1/tasks?cursor=${await aCursor()}`, { key });
  expect(await refusal(operators)).toEqual(INVALID);
});

it("GET /v1/tasks accepts a cursor with another ?limit than the page before had, and after a rotation of RELAY_SECRET", async () => {
  const rows = tasks(4);
  await insert(...rows);
  const cursor = await aCursor();
  const RELAY_SECRET = `another-test-only-relay-secret-0123456789 ${env.RELAY_SECRET}`;
  const response = await callWith({ RELAY_SECRET }, `/v1/tasks?limit=3&cursor=${cursor}`);
  expect(await response.json()).toMatchObject({ data: rows.slice(1).map(({ id }) => ({ id })) });
});

const TASKS = 3_000;

it.each([
  ["", null],
  ["&account=a", "a"],
])(
  "GET /v1/tasks lists 3,000 tasks once each, newest first, while other tasks arrive, with the query ?limit=200%s",
  async (filter, account) => {
    // Several tasks are created in the same millisecond, as in a burst.
    const rows = Array.from({ length: TASKS }, (_, i) =>
      aRow({ createdAt: START - 10_000_000 + Math.floor(i / 3), account }),
    );
    await insert(...rows);
    const expected = rows
      .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
      .map(({ id }) => id)
      .toReversed();
    let turn = 0;
    const arriving = async () => {
      turn += 1;
      const changed = rows[(turn * 97) % TASKS];
      if (changed === undefined) throw new Error("expected a task");
      await insert(aRow({ createdAt: START + turn, account }), {
        ...changed,
        version: changed.version + turn,
        status: "failed",
      });
    };
    expect(await listAll(`?limit=200${filter}`, arriving)).toEqual(expected);
    expect(turn).toBeGreaterThanOrEqual(TASKS / 200);
  },
);

it("GET /v1/tasks with a filter that few tasks match has pages with fewer tasks than the limit, which together list all matches", async () => {
  const many = tasks(MAX_SCANNED + 5);
  const fitting = [2, MAX_SCANNED - 1, MAX_SCANNED, MAX_SCANNED + 3];
  const rows = many.map((row, i) => (fitting.includes(i) ? { ...row, model: "rare" } : row));
  await insert(...rows);
  const first = await list("?model=rare");
  expect(first.data).toHaveLength(2);
  expect(first.next_cursor).not.toBeNull();
  const nobody = await list("?model=nobody");
  expect(nobody.data).toEqual([]);
  expect(nobody.next_cursor).not.toBeNull();
  expect(await listAll("?model=rare")).toEqual(fitting.map((i) => rows[i]?.id));
  expect(await listAll("?model=nobody")).toEqual([]);
});
