import { expect, it } from "vitest";
import { ANSWERED_OUTCOMES, POLL_ANSWERS } from "../../simulation/parties.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import {
  aCreation,
  aPolicy,
  aRegistration,
  aReport,
  CONNECTION,
  DAY,
  MINUTE,
  NOW,
  PROCESSING,
} from "../builders.ts";
import { anAttachment, JOB } from "../upstream-builders.ts";
import { MemoryHost } from "./memory-host.ts";

const NOT_DONE = 2;
const UNANSWERED = POLL_ANSWERS.findIndex(({ kind }) => kind === "unanswered");

type Life = (host: MemoryHost) => Promise<void>;

/** Fires the alarms until a time, each in a new instance, as if the object had been evicted before. */
async function ringUntil(host: MemoryHost, time: number): Promise<void> {
  for (; host.alarm !== null && host.alarm <= time; await runMicrotasks()) {
    host.restart();
    await host.ring();
  }
  host.clock = Math.max(host.clock, time);
}

/**
 * Returns the number of rows that a task's object writes in its whole life when all attempts have this
 * outcome. `deleteAll` writes no billed row.
 */
async function rowsOf(life: Life, outcome: "delivered" | "rejected", isIndexed: boolean) {
  const host = new MemoryHost();
  host.policyAt = () => aPolicy({ isIndexed });
  const send = ANSWERED_OUTCOMES.indexOf(outcome);
  host.endings = { writeIndexRow: NOT_DONE, poll: UNANSWERED, send };
  await life(host);
  await runMicrotasks();
  await ringUntil(host, host.clock + 28 * DAY);
  host.expectNoFailure();
  return host.writes.filter((write) => write !== "erase").length;
}

const ended: Life = async ({ loop }) => {
  loop.apply(aReport(undefined, aCreation()));
};

/**
 * Creates a task that is registered, gets a job, is reported as running, and is completed by a hook after this
 * time.
 */
function hooked(ms: number): Life {
  return async (host) => {
    host.loop.apply(aRegistration({ provider: CONNECTION }));
    host.clock += 1_000;
    host.loop.apply(anAttachment(JOB, CONNECTION));
    host.clock += 9_000;
    host.loop.apply(aReport(PROCESSING));
    await ringUntil(host, NOW + ms);
    host.restart();
    host.loop.apply(aReport());
  };
}

it.each<[what: string, rows: number, life: Life, outcome: "delivered" | "rejected"]>([
  ["ends at once", 11, ended, "delivered"],
  ["ends at once and whose callback fails", 15, ended, "rejected"],
  ["runs for 2 minutes", 10, hooked(2 * MINUTE), "delivered"],
  ["runs for 2 minutes and whose callback fails", 15, hooked(2 * MINUTE), "rejected"],
  ["runs for 2 days", 10, hooked(2 * DAY), "delivered"],
  ["runs for 2 days and whose callback fails", 15, hooked(2 * DAY), "rejected"],
])(
  "while the index is unreachable, a task that %s makes %i more storage writes in 28 days than in a relay without an index",
  async (_, rows, life, outcome) => {
    const extra = (await rowsOf(life, outcome, true)) - (await rowsOf(life, outcome, false));
    expect(extra).toBe(rows);
  },
);
