import { createMessageBatch, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeAll, expect, it, vi } from "vitest";
import * as z from "zod";
import worker from "../../src/index.ts";
import { ready } from "../../src/index-db/database.ts";
import { call } from "../worker/client.ts";
import { pass, START } from "../worker/clock.ts";
import { stubOf } from "../worker/objects.ts";
import { anOutside } from "../worker/outside.ts";
import { register } from "../worker/tasks.ts";
import { gated, restartWith, useBindings } from "./bindings.ts";
import { allowIndexAlert, OPERATOR_BINDINGS } from "./operator.ts";
import { aRow, callWith, cron, db, indexed, insert, finish } from "./support.ts";

useBindings();

/** Text that stands wherever an operator or a client can supply one. */
const MARK = "planted-marker";

const lines: string[] = [];

beforeAll(async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  for (const method of ["log", "warn", "error"] as const) {
    vi.spyOn(console, method).mockImplementation((line: string) => void lines.push(line));
  }
  await logEverything();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

async function logEverything(): Promise<void> {
  anOutside();
  // Without the tables of another test file, the first look at the index would fail.
  await ready(db);
  await allowIndexAlert();
  const callback_url = `https://client.invalid/${MARK}?token=${MARK}`;
  const id = await register({ model: MARK, metadata: { MARK }, callback_url });
  await restartWith(id, OPERATOR_BINDINGS);
  await finish(id);
  for (const wait of [180_000, 600_000]) {
    pass(wait);
    await runDurableObjectAlarm(stubOf(id));
  }
  await indexed(id);
  const headers = { "Idempotency-Key": MARK };
  await call(`/v1/tasks?model=${MARK}&cursor=${MARK}`);
  await call(`/v1/redeliveries?model=${MARK}`, { method: "POST", headers });
  await call("/v1/reindex", { body: { ids: [id] } });
  const broken = gated(db, () => Promise.reject(new Error("D1 is unavailable")));
  await callWith({ INDEX_DB: broken }, `/v1/tasks?model=${MARK}`);
  const messages = [MARK, aRow({ model: MARK })].map((body, n) => ({
    id: String(n),
    timestamp: new Date(Date.now()),
    attempts: 1,
    body,
  }));
  await worker.queue(createMessageBatch("index", messages));
  await insert(aRow({ model: MARK, dueAt: START - 1, expiresAt: null }));
  await cron(OPERATOR_BINDINGS);
  await cron({ INDEX_DB: broken });
}

const Line = z.looseObject({ event: z.string() });

it("the relay logs each type of work on the index as one JSON object per line with an event name such as index.write", () => {
  const events = new Set(lines.map((line) => Line.parse(JSON.parse(line)).event));
  for (const event of [
    "index.write",
    "index.batch",
    "index.poison",
    "index.expired",
    "index.counts",
    "index.overdue",
    "index.unreachable",
    "operator.notice",
    "operator.unreachable",
  ]) {
    expect(events).toContain(event);
  }
});

it("log lines about work on the index and about events sent to the operator contain no payload, query string, URL, key or secret", () => {
  const text = lines.join("\n");
  for (const word of [MARK, "?", "example", "whsec_", env.RELAY_SECRET, "operator-key", "v1,"]) {
    expect(text).not.toContain(word);
  }
});
