import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { CONSOLE_MINUTE } from "../../scripts/cost/lives.ts";
import { ConnectionObject } from "../../src/objects/connection/connection-object.ts";
import { DeploymentObject } from "../../src/objects/deployment-object.ts";
import { logIn, visit } from "../worker/browser.ts";
import { pass } from "../worker/clock.ts";
import { metered } from "./bindings.ts";
import { aRow, cron, DAY, db, insert, UNTRIED, useIndex } from "./support.ts";

useIndex();

const OPEN = { ...UNTRIED, status: "processing", settledAt: null, expiresAt: null } as const;

it("two refreshes of the console's overview within a minute use as many requests to Durable Objects and rows of D1 as docs/cost.md states", async () => {
  await insert(...Array.from({ length: 1_000 }, () => aRow({ ...OPEN, dueAt: Date.now() + DAY })));
  await cron();
  const calls = [
    vi.spyOn(ConnectionObject.prototype, "connectionState"),
    vi.spyOn(DeploymentObject.prototype, "isSessionEnded"),
    vi.spyOn(DeploymentObject.prototype, "claimAlert"),
  ];
  const { rows, INDEX_DB } = metered(db);
  const bindings = { ...env, INDEX_DB, ARK_API_KEY: "test-only-ark-key" };
  const cookie = await logIn();
  await visit("/", cookie, {}, bindings);
  for (const { mock } of calls) mock.calls.length = 0;
  rows.read = 0;
  for (let refresh = 0; refresh < 2; refresh++) {
    pass(30_000);
    await visit("/", cookie, { "X-Refresh": "none" }, bindings);
  }
  const objectRequests = calls.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  expect({ workerRequests: 2, objectRequests, d1Read: rows.read }).toEqual(CONSOLE_MINUTE);
});
