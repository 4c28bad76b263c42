import { expect, it } from "vitest";
import { takeAnswerSlot } from "../../src/objects/call/answer-slots.ts";
import { pass, realMs, until, useClock } from "./clock.ts";

useClock();

const { signal } = new AbortController();

function takeAll() {
  return Promise.all(Array.from({ length: 6 }, () => takeAnswerSlot(signal)));
}

it("a seventh file of an answer waits until one of the six that an isolate stores at the same time is stored", async () => {
  const slots = await takeAll();
  let isTaken = false;
  const waiting = takeAnswerSlot(signal).then((slot) => {
    isTaken = true;
    return slot;
  });
  await realMs(150);
  expect(isTaken).toBe(false);
  slots[0]?.giveBack();
  await until(() => isTaken);
  for (const slot of [...slots, await waiting]) slot.giveBack();
});

it("a file of an answer takes the place of one that has made no progress for 15 s, and not of one that has", async () => {
  const [first, ...others] = await takeAll();
  pass(14_999);
  for (const slot of others) slot.renew();
  pass(1);
  const next = await takeAnswerSlot(signal);
  const stopped = new AbortController();
  const waiting = takeAnswerSlot(stopped.signal);
  stopped.abort(new Error("the call was ended"));
  await expect(waiting).rejects.toThrow("the call was ended");
  for (const slot of [first, ...others, next]) slot?.giveBack();
});
