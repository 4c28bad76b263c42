import { expect, it, vi } from "vitest";
import { MAX_READ_MS, MAX_UNREAD_MS } from "../../src/lib/stream.ts";
import { aKey, anAccount } from "./accounts.ts";
import { aRequest, refusal } from "./client.ts";
import { pass, realMs, useClock } from "./clock.ts";
import { isolateOf } from "./isolates.ts";
import { answerFrom } from "./started.ts";
import { anArk, BINDINGS, named, submit } from "./submitted.ts";
import { holdTimers } from "./timers.ts";

useClock();

const REPLICATE = "https://api.replicate.com";
/** A path whose answer is a job, or with `Prefer: wait` its result. */
const PATH = "/v1/submit/replicate/v1/predictions";
const BODY = JSON.stringify({ version: "v1", input: { prompt: "a fox" } });
const OFFERS = JSON.stringify([{ connection: "replicate", models: ["*"] }]);
const OFFERED = { ...BINDINGS, OFFERS };
const MIB = 1024 * 1024;
/** The default of `SUBMIT_TIMEOUT_S`. */
const SUBMIT_TIMEOUT_MS = 90_000;

/** Answer of an upstream with a picture and this many bytes beside it. */
const answerOf = (bytes: number) =>
  JSON.stringify({
    id: "prediction-1",
    status: "succeeded",
    output: ["https://cdn.example.net/fox.png"],
    logs: "x".repeat(bytes),
  });

/** Replaces the network by an upstream that answers calls for pictures with so many bytes. */
function aPainter(bytes: number): void {
  anArk().on(REPLICATE, () => new Response(answerOf(bytes)));
}

/** Returns a function that submits as a new account. Nothing reads the answer but the test. */
async function asAccount() {
  const { key } = await aKey(await anAccount());
  return async () => answerFrom(await isolateOf(OFFERED), aRequest(PATH, { body: BODY, key }));
}

it.each([
  ["shorter than 64 KiB", 1],
  ["of 1 MiB", MIB - 200],
  ["of more than 1 MiB", 2 * MIB],
])(
  "the upstream's response to a submission, %s, reaches the caller byte for byte and with its length",
  async (_, bytes) => {
    aPainter(bytes);
    const response = await submit({ path: PATH, body: BODY, headers: named().headers });
    expect(await response.text()).toBe(answerOf(bytes));
  },
);

it("while an account has two responses of 7.9 MB unread, its third waits until the first is read, but another account gets its response", async () => {
  aPainter(7_900_000);
  const [greedy, other] = [await asAccount(), await asAccount()];
  const unread = [await greedy(), await greedy()];
  let isAnswered = false;
  const third = greedy().finally(() => {
    isAnswered = true;
  });
  expect((await (await other()).text()).length).toBeGreaterThan(7_900_000);
  await realMs(100);
  expect(isAnswered).toBe(false);
  await unread[0]?.text();
  expect((await (await third).text()).length).toBeGreaterThan(7_900_000);
  await unread[1]?.text();
});

it("when a caller leaves a response of 7.9 MB unread for a minute, the relay breaks it off and frees its memory", async () => {
  aPainter(7_900_000);
  const submitAgain = await asAccount();
  const wait = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation((run, ms, ...values) =>
    wait(run, ms === MAX_UNREAD_MS ? 50 : ms, ...values),
  );
  const unread = [await submitAgain(), await submitAgain()];
  // It has waited for the memory of one of them.
  expect((await submitAgain()).status).toBe(200);
  await expect(unread[0]?.text()).rejects.toThrow();
});

it("when a caller is still reading responses of 7.9 MB after 5 minutes, the relay breaks them off, and frees their memory only then", async () => {
  aPainter(7_900_000);
  const submitAgain = await asAccount();
  const [first, second] = [await submitAgain(), await submitAgain()];
  const reader = first.body?.getReader();
  await reader?.read();
  let isAnswered = false;
  const third = submitAgain().finally(() => {
    isAnswered = true;
  });
  pass(MAX_READ_MS);
  expect((await reader?.read())?.done).toBe(false);
  await realMs(100);
  expect(isAnswered).toBe(false);
  pass(1);
  const readOn = async () => {
    while ((await reader?.read())?.done === false);
  };
  await expect(readOn()).rejects.toThrow("too slowly");
  expect((await (await third).text()).length).toBeGreaterThan(7_900_000);
  await second.body?.cancel();
});

it("when the relay has no memory free for the upstream's response to a submission within SUBMIT_TIMEOUT_S, the caller gets 424 submit_unknown", async () => {
  aPainter(7_900_000);
  const passTime = holdTimers(SUBMIT_TIMEOUT_MS);
  const submitAgain = await asAccount();
  const unread = [await submitAgain(), await submitAgain()];
  const third = submitAgain();
  await realMs(100);
  passTime();
  expect(await refusal(await third)).toEqual({ status: 424, code: "submit_unknown" });
  for (const each of unread) await each.body?.cancel();
});

it("when a caller goes away before reading a response of 7.9 MB, the memory of that response is free again", async () => {
  aPainter(7_900_000);
  const submitAgain = await asAccount();
  for (let i = 0; i < 4; i++) await (await submitAgain()).body?.cancel();
  expect((await submitAgain()).status).toBe(200);
});
