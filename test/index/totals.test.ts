import { expect, it } from "vitest";
import { removeRows } from "../../src/index-db/writer.ts";
import { START } from "../worker/clock.ts";
import {
  aRow,
  callWith,
  cron,
  db,
  HOUR,
  insert,
  SENDING,
  UNANSWERED,
  UNTRIED,
  useIndex,
} from "./support.ts";

useIndex();

/** Counts the changed rows, and returns the totals of GET /metrics that are not 0. */
async function totals() {
  await cron();
  const text = await (await callWith({}, "/metrics")).text();
  const lines = [...text.matchAll(/^task_relay_(\w+)_total(?:\{\w+="(\w+)"\})? ([1-9]\d*)$/gm)];
  return Object.fromEntries(
    lines.map(([, name, label, value]) => [label ? `${name} ${label}` : name, Number(value)]),
  );
}

it("the totals of GET /metrics count each task, end, refund and ended attempt once, despite later changes, redeliveries and erasures", async () => {
  const task = aRow();
  const version = task.version + 1;
  const others = [aRow(UNANSWERED), aRow({ createdAt: START - 9 * HOUR })];
  await insert({ ...task, ...UNTRIED, settledAt: null, status: "pending" }, ...others);
  const first = {
    accepted: 3,
    "ended completed": 2,
    "callback_attempts delivered": 1,
    "callback_attempts timeout": 3,
  };
  expect(await totals()).toEqual(first);
  const failed = { ...task, ...SENDING, status: "failed", refunded: 1, version } as const;
  await insert(failed);
  const second = { ...first, "ended failed": 1, refunds: 1, "callback_attempts rejected": 1 };
  expect(await totals()).toEqual(second);
  await insert({ ...failed, version: version + 1, outcomes: { rejected: 1, delivered: 2 } });
  const third = { ...second, "callback_attempts delivered": 3 };
  expect(await totals()).toEqual(third);
  expect(await totals()).toEqual(third);
  await removeRows(db, others);
  expect(await totals()).toEqual(third);
});
