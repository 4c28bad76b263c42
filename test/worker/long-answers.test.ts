import { expect, it, vi } from "vitest";
import { MAX_UNREAD_MS } from "../../src/api/http/client-stream.ts";
import { aKey, anAccount } from "./accounts.ts";
import { aRequest } from "./client.ts";
import { realMs, useClock } from "./clock.ts";
import { answerFrom, isolateOf } from "./started.ts";
import { anArk, BINDINGS, named, submit } from "./submitted.ts";

useClock();

const VIDEOS = "https://videos.example.org";
const PATH = "/v1/submit/openai-videos/v1/images/generations";
const BODY = JSON.stringify({ model: "gpt-image-1", prompt: "a fox" });
const OFFERS = JSON.stringify([{ connection: "openai-videos", models: ["*"] }]);
const OFFERED = { ...BINDINGS, OFFERS };
const MIB = 1024 * 1024;

/** Answer of an upstream with a picture and this many bytes beside it. */
const answerOf = (bytes: number) =>
  JSON.stringify({ data: [{ url: "https://cdn.example.net/fox.png" }], note: "x".repeat(bytes) });

/** Replaces the network by an upstream that answers calls for pictures with so many bytes. */
function aPainter(bytes: number): void {
  anArk().on(VIDEOS, () => new Response(answerOf(bytes)));
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
])("an answer %s reaches its caller byte for byte, with its length", async (_, bytes) => {
  aPainter(bytes);
  const response = await submit({ path: PATH, body: BODY, headers: named().headers });
  expect(await response.text()).toBe(answerOf(bytes));
});

it("an account that has not read two answers of 7.9 MB gets a third one only after the first is read, while another account gets its own", async () => {
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

it("an answer of 7.9 MB that its caller leaves unread for a minute is broken off, and its memory is free", async () => {
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

it("an answer of 7.9 MB whose caller goes away gives its memory back", async () => {
  aPainter(7_900_000);
  const submitAgain = await asAccount();
  for (let i = 0; i < 4; i++) await (await submitAgain()).body?.cancel();
  expect((await submitAgain()).status).toBe(200);
});
