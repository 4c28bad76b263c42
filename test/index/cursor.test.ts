import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { aKey, anAccount } from "../worker/accounts.ts";
import { call, refusal } from "../worker/client.ts";
import { START, useClock } from "../worker/clock.ts";
import { aRow, callWith, insert, list, listAll, useEmptyIndex } from "./support.ts";

useClock();
useEmptyIndex();

/** Rows that one page of a list examines at most. */
const MAX_SCANNED = 10_000;
const INVALID = { status: 400, code: "invalid_request", paths: ["/cursor"] };

async function aCursor(query = "?limit=1", key?: string): Promise<string> {
  const { next_cursor } = await list(query, key);
  if (next_cursor === null) throw new Error("expected a further page");
  return next_cursor;
}

const tasks = (length: number, fields: Parameters<typeof aRow>[0] = {}) =>
  Array.from({ length }, (_, i) => aRow({ createdAt: START - i, ...fields }));

/** The last of 43 base64 characters says four bits: four of them say the same. */
const near = (character: string | undefined) =>
  Object.entries({ "0123": "1", ABCD: "A", wxyz: "w" }).find(([same]) =>
    same.includes(character ?? ""),
  )?.[1];

describe("a cursor", () => {
  it("is refused when any of its characters is another", async () => {
    await insert(...tasks(3));
    const cursor = await aCursor();
    for (let at = 0; at < cursor.length; at++) {
      const other = ["1", "A", "w"].find(
        (each) => each !== cursor[at] && each !== near(cursor[at]),
      );
      const altered = `${cursor.slice(0, at)}${other}${cursor.slice(at + 1)}`;
      expect(await refusal(await call(`/v1/tasks?cursor=${altered}`))).toEqual(INVALID);
    }
  });

  it("is refused shortened, lengthened, twice, and in another's place", async () => {
    await insert(...tasks(3));
    const cursor = await aCursor();
    const place = cursor.slice(0, cursor.lastIndexOf("_"));
    for (const altered of [
      cursor.slice(0, -1),
      cursor.slice(1),
      `${cursor}A`,
      `${cursor}${cursor}`,
      place,
      `${place}_`,
      `${place}_${"A".repeat(43)}`,
      cursor.toUpperCase(),
      "x".repeat(600),
    ]) {
      expect(await refusal(await call(`/v1/tasks?cursor=${altered}`))).toEqual(INVALID);
    }
  });

  it.each([
    "status=completed",
    "callback=failed",
    "model=m",
    "host=a",
    "since=1",
    "until=9999999999",
  ])("holds for its own filters alone, not with %s", async (filter) => {
    await insert(...tasks(3));
    const cursor = await aCursor();
    const response = await call(`/v1/tasks?${filter}&cursor=${cursor}`);
    expect(await refusal(response)).toEqual(INVALID);
  });

  it("is not shared between accounts, nor with the operator", async () => {
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

  it("may come with another limit, and stays good when the secret is rotated", async () => {
    const rows = tasks(4);
    await insert(...rows);
    const cursor = await aCursor();
    const RELAY_SECRET = `another-test-only-relay-secret-0123456789 ${env.RELAY_SECRET}`;
    const response = await callWith({ RELAY_SECRET }, `/v1/tasks?limit=3&cursor=${cursor}`);
    expect(await response.json()).toMatchObject({ data: rows.slice(1).map(({ id }) => ({ id })) });
  });

  it("of a relay with other secrets is refused", async () => {
    await insert(...tasks(3));
    const cursor = await aCursor();
    const RELAY_SECRET = "another-test-only-relay-secret-0123456789";
    const response = await callWith({ RELAY_SECRET }, `/v1/tasks?cursor=${cursor}`);
    expect(await refusal(response)).toEqual(INVALID);
  });
});

describe("a filter that few of very many tasks fit", () => {
  it("answers short pages, which lead to the end without a gap", async () => {
    const many = tasks(MAX_SCANNED + 5);
    const fitting = [2, MAX_SCANNED - 1, MAX_SCANNED, MAX_SCANNED + 3];
    const rows = many.map((row, i) => (fitting.includes(i) ? { ...row, model: "rare" } : row));
    for (let from = 0; from < rows.length; from += 2500) {
      await insert(...rows.slice(from, from + 2500));
    }
    const first = await list("?model=rare");
    expect(first.data).toHaveLength(2);
    expect(first.next_cursor).not.toBeNull();
    const nobody = await list("?model=nobody");
    expect(nobody.data).toEqual([]);
    expect(nobody.next_cursor).not.toBeNull();
    expect(await listAll("?model=rare")).toEqual(fitting.map((i) => rows[i]?.id));
    expect(await listAll("?model=nobody")).toEqual([]);
  });
});
