import { describe, expect, it } from "vitest";
import { aCharged, anAccount } from "../worker/accounts.ts";
import { aReceiver, status } from "../worker/receiver.ts";
import { call, post, refusal } from "../worker/client.ts";
import { pass, until, useClock } from "../worker/clock.ts";
import { NOTHING, stored } from "../worker/objects.ts";
import { completed, register } from "../worker/tasks.ts";
import { allRows, db, indexed, isPublished, useEmptyIndex } from "./support.ts";

useClock();
useEmptyIndex();

const withoutTime = async () => (await allRows()).map((row) => ({ ...row, indexed_at: null }));

async function oneOfEachKind(): Promise<readonly string[]> {
  aReceiver(status(200), status(500));
  const account = await anAccount(5);
  const ids = [
    await completed(),
    await completed({ account }),
    await completed({ callback_url: null }),
    await register(),
    await aCharged(account, 5),
  ];
  const processing = await register();
  await post("/v1/events", { id: processing, status: "processing" });
  return [...ids, processing];
}

describe("POST /v1/reindex", () => {
  it("brings the same rows back after the index was lost", async () => {
    const ids = await oneOfEachKind();
    for (const id of ids) await indexed(id);
    pass(60_000);
    const before = await withoutTime();
    expect(before).toHaveLength(ids.length);
    await db.prepare("DELETE FROM tasks").run();
    const response = await call("/v1/reindex", { body: { ids } });
    expect(await response.json()).toEqual({ indexed: ids.length, unknown: 0, failed: 0 });
    await until(async () => (await allRows()).length === ids.length);
    expect(await withoutTime()).toEqual(before);
    for (const id of ids) await until(() => isPublished(id));
  });

  it("changes nothing of a task and nothing of a row that is right", async () => {
    aReceiver();
    const id = await completed();
    await indexed(id);
    const [rows, before] = [await allRows(), await call(`/v1/tasks/${id}`)];
    pass(5000);
    await call("/v1/reindex", { body: { ids: [id, id] } });
    await indexed(id);
    expect(await allRows()).toEqual(rows);
    const after = await call(`/v1/tasks/${id}`);
    expect(after.headers.get("ETag")).toBe(before.headers.get("ETag"));
    expect(await after.text()).toBe(await before.text());
  });

  it("counts ids that are unknown, and leaves nothing of them", async () => {
    const [id, unknown] = [await register(), crypto.randomUUID()];
    const response = await call("/v1/reindex", { body: { ids: [id, unknown] } });
    expect(await response.json()).toEqual({ indexed: 1, unknown: 1, failed: 0 });
    expect(await stored(unknown)).toEqual(NOTHING);
  });

  it("takes 500 ids, in either case", async () => {
    const id = await register();
    const ids = [id.toUpperCase(), ...Array.from({ length: 499 }, () => crypto.randomUUID())];
    const response = await call("/v1/reindex", { body: { ids } });
    expect(await response.json()).toEqual({ indexed: 1, unknown: 499, failed: 0 });
  });

  it.each([
    ["no ids", {}, "/ids"],
    ["an empty list", { ids: [] }, "/ids"],
    ["501 ids", { ids: Array.from({ length: 501 }, () => crypto.randomUUID()) }, "/ids"],
    ["what is no id", { ids: [crypto.randomUUID(), "x"] }, "/ids/1"],
    ["an unknown field", { ids: [crypto.randomUUID()], all: true }, "/all"],
  ])("refuses %s", async (_, body, path) => {
    expect(await refusal(await call("/v1/reindex", { body }))).toEqual({
      status: 400,
      code: "invalid_request",
      paths: [path],
    });
  });
});
