import { expect, it } from "vitest";
import { aCompletion, aCreation, anOpenTask, aReport, MINUTE, NOW } from "../builders.ts";
import { runMicrotasks } from "../../simulation/microtasks.ts";
import { MemoryHost } from "./memory-host.ts";
import { aPricedRegistration, aRefundingTask } from "../credit-builders.ts";

const finish = aReport(aCompletion(), aCreation());

it("gives a later life of an id a later version, even within the same millisecond", async () => {
  const platform = new MemoryHost();
  const loop = platform.newLoop();
  loop.apply(finish);
  await platform.answer("delivered");
  const { version = 0 } = platform.stored ?? {};
  expect(version).toBeGreaterThan(NOW);
  await loop.applyAndErase({ type: "erase" });
  expect(platform.stored).toBeNull();
  loop.apply(finish);
  expect(platform.stored?.version).toBeGreaterThan(version);
  await runMicrotasks();
  expect(platform.sent).toHaveLength(2);
});

it("sends an attempt at once although the clock steps back when it has just been opened", async () => {
  const platform = new MemoryHost();
  const loop = platform.newLoop();
  platform.commit(aRefundingTask(), NOW + 1);
  platform.ledger.charge(chargeOf());
  platform.clock = NOW + 1;
  const rung = platform.ring(loop);
  platform.clock = NOW - MINUTE;
  await runMicrotasks();
  expect(platform.numbers).toEqual([1]);
  await platform.answer("delivered");
  await rung;
  expect(platform.badAlarms).toEqual([]);
});

function chargeOf() {
  const { registration, chargeId } = aPricedRegistration();
  const { accountId, credits } = registration;
  if (accountId === null || credits === null || chargeId === null) throw new Error("no price");
  return { taskId: anOpenTask().id, accountId, chargeId, amount: credits };
}
