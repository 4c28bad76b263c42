import { expect, it } from "vitest";
import { takeAnswerSlot } from "../../src/objects/call/answer-slots.ts";
import { pass, realMs, until, useClock } from "./clock.ts";

useClock();

const { signal } = new AbortController();

function take(count: number, account: string | null = null) {
  const caller = account === null ? null : { account };
  return Promise.all(Array.from({ length: count }, () => takeAnswerSlot(caller, signal)));
}

it("a seventh file of an answer waits until one of the six that an isolate stores at the same time is stored", async () => {
  const slots = await take(6);
  let isTaken = false;
  const waiting = takeAnswerSlot(null, signal).then((slot) => {
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
  const [first, ...others] = await take(6);
  pass(14_999);
  for (const slot of others) slot.renew();
  pass(1);
  const next = await takeAnswerSlot(null, signal);
  const stopped = new AbortController();
  const waiting = takeAnswerSlot(null, stopped.signal);
  stopped.abort(new Error("the call was ended"));
  await expect(waiting).rejects.toThrow("the call was ended");
  for (const slot of [first, ...others, next]) slot?.giveBack();
});

it("a fourth file that callers of one account read waits for one of them, also while they leave a piece unread for a minute, and files of others do not wait", async () => {
  const read = await take(3, "acct_a");
  let isTaken = false;
  const waiting = take(1, "acct_a").then((slots) => {
    isTaken = true;
    return slots;
  });
  pass(74_999);
  const others = [...(await take(2, "acct_b")), ...(await take(1))];
  await realMs(150);
  expect(isTaken).toBe(false);
  for (const slot of others) slot.giveBack();
  pass(1);
  for (const slot of [...read, ...(await waiting)]) slot.giveBack();
});
