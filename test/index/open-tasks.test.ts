import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { INDEX_TIMEOUT_MS, ready } from "../../src/index-db/database.ts";
import { writeRows } from "../../src/index-db/index-row-table.ts";
import { logIn, visit } from "../worker/browser.ts";
import { callWith as send } from "../worker/client.ts";
import { pass, START, START_S } from "../worker/clock.ts";
import { holdTimers } from "../worker/timers.ts";
import { gated, metered } from "./bindings.ts";
import { answerOf, aRow, cron, DAY, db, insert, TABLES, useIndex } from "./support.ts";

useIndex();

/** Row of a task without a result, which changes at its deadline. */
const OPEN = {
  status: "processing",
  callback: "waiting",
  attempts: 0,
  finishedAt: null,
  settledAt: null,
  expiresAt: null,
  dueAt: START + 3 * DAY,
} as const;

/** Writes open tasks of three connections and of none, and one whose callback is being sent. */
async function openRows(): Promise<void> {
  await insert(
    aRow({ ...OPEN, provider: "ark" }),
    aRow({ ...OPEN, provider: "ark" }),
    aRow({ ...OPEN, provider: "ark", status: "pending" }),
    aRow({ ...OPEN, provider: "gone", status: "pending" }),
    aRow({ ...OPEN, provider: null }),
    aRow({ callback: "sending", settledAt: null, dueAt: START + 60_000, provider: "fal" }),
  );
}

const COUNTED = [
  { connection: "ark", pending: 1, processing: 2 },
  { connection: null, pending: 0, processing: 1 },
  { connection: "gone", pending: 1, processing: 0 },
];

it("GET /v1/problems counts the tasks of each connection that have not ended, by status, and leaves out an ended task whose callback is being sent", async () => {
  await openRows();
  expect(await answerOf("/v1/problems")).toMatchObject({
    now: { open: { at: START_S, is_capped: false, connections: COUNTED } },
  });
});

it("GET /v1/problems adds up the open tasks of a connection over all databases of the index", async () => {
  const { SHARD_1: second } = env;
  if (second === undefined) throw new Error("this test needs two databases");
  await ready(second);
  await second.batch(TABLES.map((table) => second.prepare(`DELETE FROM ${table}`)));
  const bindings = { INDEX_DB_1: second, INDEX_SHARD_HOURS: 750 };
  await openRows();
  await writeRows(second, [aRow({ ...OPEN, provider: "ark", status: "pending" })], START);
  expect(await answerOf("/v1/problems", bindings)).toMatchObject({
    now: { open: { connections: [{ ...COUNTED[0], pending: 2 }, ...COUNTED.slice(1)] } },
  });
  expect(await answerOf("/healthz", bindings)).toMatchObject({ index: { databases: 2 } });
});

it("GET /v1/problems counts up to 2,000 open tasks with at most 5,000 rows read from D1, and repeats this count for 4 minutes with at most 1,000", async () => {
  const later = Array.from({ length: 2_100 }, () => aRow({ ...OPEN, provider: "ark" }));
  const sending = { callback: "sending", settledAt: null, dueAt: START } as const;
  await insert(...later, ...Array.from({ length: 100 }, () => aRow(sending)));
  const { rows, INDEX_DB } = metered(db);
  const bindings = { ...env, INDEX_DB };
  const read = async () => {
    rows.read = 0;
    const { now } = await (await send(bindings, "/v1/problems")).json<{ now: object }>();
    return now;
  };
  const capped = { is_capped: true, connections: [{ connection: "ark", processing: 2_000 }] };
  expect(await read()).toMatchObject({ open: { at: START_S, ...capped } });
  expect(rows.read).toBeLessThanOrEqual(5_000);
  pass(4 * 60_000 - 1);
  expect(await read()).toMatchObject({ open: { at: START_S, ...capped } });
  expect(rows.read).toBeLessThanOrEqual(1_000);
  rows.read = 0;
  expect(await providersPage(bindings)).toContain("2,000+ processing");
  expect(rows.read).toBeLessThanOrEqual(1_000);
  pass(1);
  expect(await read()).toMatchObject({ open: { at: START_S + 240, ...capped } });
});

it("GET /healthz shows the operator the index's number of databases, size, last count and delays of its rows, and reads at most 60 rows for this in 30 s", async () => {
  await insert(aRow({ version: START - 3_000 }), ...Array.from({ length: 500 }, () => aRow(OPEN)));
  const { rows, INDEX_DB } = metered(db);
  const bindings = { ...env, INDEX_DB };
  const indexOf = async () => {
    rows.read = 0;
    return (await (await send(bindings, "/healthz")).json<{ index: object }>()).index;
  };
  const before = {
    databases: 1,
    is_reachable: true,
    counted_at: null,
    lag_ms: { p50: null, p95: null, p99: null },
    size_bytes: expect.any(Number),
  };
  expect(await indexOf()).toEqual(before);
  await cron();
  pass(29_999);
  expect(await indexOf()).toEqual(before);
  expect(rows.read).toBe(0);
  pass(1);
  expect(await indexOf()).toMatchObject({
    counted_at: START_S,
    lag_ms: { p50: expect.any(Number), p95: 4_875, p99: 4_975 },
  });
  expect(rows.read).toBeLessThanOrEqual(60);
});

const FAULTS = [
  ["fails", () => () => Promise.reject(new Error("D1 is unavailable"))],
  [
    "does not answer within two seconds",
    () => {
      const passLimit = holdTimers(INDEX_TIMEOUT_MS);
      return () => {
        passLimit();
        return new Promise<never>(() => undefined);
      };
    },
  ],
] as const;

it.each(FAULTS)(
  "when the index %s, GET /healthz says that it is not reachable, and the console's page of providers says that the open tasks were not counted",
  async (_, gateOf) => {
    const gate = gateOf();
    const bindings = { ...env, INDEX_DB: gated(db, gate) };
    expect(await (await send(bindings, "/healthz")).json()).toMatchObject({
      status: "ok",
      index: { databases: 1, is_reachable: false, counted_at: null, size_bytes: null },
    });
    const text = await providersPage(bindings);
    expect(text).toContain("does not answer index, 1 database");
    expect(text).toContain("The index does not answer, so the open tasks of each connection");
  },
);

/** Returns the text of the page of providers, without its tags. */
async function providersPage(bindings: object = { ...env }): Promise<string> {
  const response = await visit("/providers", await logIn(undefined, bindings), {}, bindings);
  expect(response.status).toBe(200);
  const [main = ""] = /<main[\s\S]*<\/main>/.exec(await response.text()) ?? [];
  return main.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
}

it("the console's page of providers shows each connection's open tasks with links to their lists, also of connections that are not configured", async () => {
  await openRows();
  const bindings = { ...env };
  const response = await visit("/providers", await logIn(), {}, bindings);
  const html = await response.text();
  expect(html).toContain('href="/tasks?provider=ark&amp;status=processing">2 processing');
  expect(html).toContain('href="/tasks?provider=ark&amp;status=pending">1 pending');
  const text = await providersPage(bindings);
  expect(text).toMatch(/newapi .*missing NEWAPI_API_KEY and NEWAPI_BASE_URL · takes no tasks 0/);
  expect(text).toContain("1 open task without a provider.");
  expect(text).toContain("1 open task of gone, which is not configured.");
});

it("on a relay without an index, the console's page of providers says that counting the open tasks needs an index", async () => {
  const text = await providersPage({ ...env, INDEX_DB: undefined });
  expect(text).toContain("open tasks of each connection needs the index, and none is bound");
  expect(text).not.toContain("Open tasks");
});
