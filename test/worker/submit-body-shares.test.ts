import { expect, it } from "vitest";
import { ARRIVAL_WINDOW_MS } from "../../src/api/submit/submitted-body.ts";
import { aKey, anAccount, balanceOf } from "./accounts.ts";
import { useClock } from "./clock.ts";
import { refusal } from "./client.ts";
import { anArk, ARK, BINDINGS, MODEL, named, submit } from "./submitted.ts";
import { holdTimers } from "./timers.ts";

useClock();

const PRICE = 60;
const OFFER = { connection: "ark", models: ["*"], price: { credits: PRICE } };
const OFFERED = { ...BINDINGS, OFFERS: JSON.stringify([OFFER]) };
const KIB = 1024;
const MIB = 1024 * KIB;
const CHUNK = 16 * KIB;

/** Returns a JSON body that sends text without end, and counts how much of it was read. */
function endless() {
  const state = { pulled: 0, canceled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const text = state.pulled === 0 ? `{"model":"${MODEL}","x":"`.padEnd(CHUNK, "x") : "";
        controller.enqueue(new TextEncoder().encode(text.padEnd(CHUNK, "x")));
        state.pulled += CHUNK;
      },
      cancel: () => {
        state.canceled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, state };
}

/** Returns a JSON body of about this many bytes, which ends when `end` is called. */
function anOpenBody(bytes: number) {
  const { readable: body, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const write = (text: string) =>
    void writer.write(new TextEncoder().encode(text)).catch(() => undefined);
  write(`{"model":"${MODEL}","image":"${"x".repeat(bytes)}"`);
  const end = () => {
    write("}");
    void writer.close().catch(() => undefined);
  };
  return { body, end };
}

/** Submits a body of 3 MiB, and returns the status of the answer. */
const statusOfFurther = async () => (await submit({ body: aBodyOf(3 * MIB) })).status;

const aBodyOf = (bytes: number) => JSON.stringify({ model: MODEL, image: "x".repeat(bytes) });

/** Creates an account with this balance, and returns its id and a function that submits as it. */
async function asAccount(credits: number, bindings: object = OFFERED) {
  const account = await anAccount(credits);
  const { key } = await aKey(account);
  const send = (submission: Parameters<typeof submit>[0]) => {
    const headers = { "Idempotency-Key": crypto.randomUUID(), ...submission?.headers };
    return submit({ bindings, key, ...submission, headers });
  };
  return { account, send };
}

it.each([
  ["the connection", { connection: "replicate" }, 404],
  ["the path", { path: "/v1/predictions" }, 403],
  ["the connection's key, but only a key of its own,", { key: "customer" }, 403],
])(
  "when OFFERS does not let an account use %s for a submission, the submission is refused before its body is read",
  async (_, changed, status) => {
    const outside = anArk();
    const bindings = { ...BINDINGS, OFFERS: JSON.stringify([{ ...OFFER, ...changed }]) };
    const { send } = await asAccount(100, bindings);
    const { body, state } = endless();
    expect(await refusal(await send({ body }))).toMatchObject({ status });
    expect([state.pulled, outside.sentTo(ARK)]).toEqual([0, []]);
  },
);

it("an account's submission that has a price but no Idempotency-Key is refused before its body is read", async () => {
  anArk();
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const { body, state } = endless();
  const response = await submit({ bindings: OFFERED, key, body });
  expect(await refusal(response)).toMatchObject({ status: 400, paths: ["/Idempotency-Key"] });
  expect(state.pulled).toBe(0);
});

it("an account that cannot pay the lowest price in OFFERS gets 402 as soon as the body of its submission needs memory, after about 64 KiB", async () => {
  const outside = anArk();
  const { account, send } = await asAccount(PRICE - 1);
  const { body, state } = endless();
  expect(await refusal(await send({ body }))).toMatchObject({ status: 402 });
  expect([state.canceled, outside.sentTo(ARK), await balanceOf(account)]).toEqual([
    true,
    [],
    PRICE - 1,
  ]);
  expect(state.pulled).toBeLessThanOrEqual(64 * KIB + 2 * CHUNK);
});

it("with SETTLEMENT_URL, an account whose balance is below the price can submit a large body, and its balance does not change", async () => {
  const outside = anArk();
  const bindings = { ...OFFERED, SETTLEMENT_URL: "https://billing.example.org/settle" };
  const { account, send } = await asAccount(1, bindings);
  expect((await send({ body: aBodyOf(100 * KIB) })).status).toBe(200);
  expect([outside.sentTo(ARK).length, await balanceOf(account)]).toEqual([1, 1]);
});

it("a repeated submission with a large body gets the first response, even if its account could not pay for another one", async () => {
  const outside = anArk();
  const { account, send } = await asAccount(PRICE);
  const headers = { "Idempotency-Key": "order-1" };
  const sent = { headers, body: aBodyOf(100 * KIB) };
  const answers = [await send(sent), await send(sent)];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(answers[1]?.headers.get("Idempotent-Replayed")).toBe("true");
  expect([outside.sentTo(ARK).length, await balanceOf(account)]).toEqual([1, 0]);
});

it("while the large bodies of an account's submissions fill its share of memory, a further one gets 429, and another account can still submit", async () => {
  anArk();
  const greedy = await asAccount(10 * PRICE);
  const other = await asAccount(10 * PRICE);
  const open = anOpenBody(11 * MIB);
  const call = greedy.send({ body: open.body });
  const further = async () => refusal(await greedy.send({ body: aBodyOf(6 * MIB) }));
  await expect.poll(further).toEqual({ status: 429, code: "rate_limited" });
  expect((await other.send({ body: aBodyOf(6 * MIB) })).status).toBe(200);
  expect((await greedy.send({ body: aBodyOf(60 * KIB) })).status).toBe(200);
  open.end();
  expect((await call).status).toBe(200);
  expect((await greedy.send({ body: aBodyOf(6 * MIB) })).status).toBe(200);
});

/** Returns a JSON body of exactly this many bytes. */
function aBodyWith(bytes: number): string {
  const empty = JSON.stringify({ model: MODEL, image: "" });
  return JSON.stringify({ model: MODEL, image: "x".repeat(bytes - empty.length) });
}

it.each([
  ["an operator", 24],
  ["an account", 16],
])(
  "with the largest MAX_SUBMIT_MB, %s may submit a body of %i MB, and gets 413 when it is one byte larger",
  async (who, megabytes) => {
    anArk();
    const bindings = { ...OFFERED, MAX_SUBMIT_MB: "24" };
    const account = await asAccount(10 * PRICE, bindings);
    const send = (body: string) =>
      who === "an account" ? account.send({ body }) : submit({ bindings, body });
    expect((await send(aBodyWith(megabytes * MIB))).status).toBe(200);
    const refused = await send(aBodyWith(megabytes * MIB + 1));
    expect(await refused.clone().json()).toMatchObject({
      detail: expect.stringContaining(`at most ${megabytes * MIB} bytes (`),
    });
    expect(await refusal(refused)).toEqual({ status: 413, code: "payload_too_large" });
  },
);

it("a MAX_SUBMIT_MB that exceeds an isolate's memory for bodies is a fault of the configuration, and submissions get 503", async () => {
  const response = await submit({ bindings: { ...OFFERED, MAX_SUBMIT_MB: "25" } });
  expect(await refusal(response)).toMatchObject({ status: 503, code: "not_configured" });
});

it("when less than 64 KiB of a large body arrive in 10 seconds, the submission gets 408 and its memory is free again", async () => {
  const passTime = holdTimers(ARRIVAL_WINDOW_MS);
  anArk();
  const stalled = [1, 2].map(() => anOpenBody(11 * MIB));
  const calls = stalled.map(({ body }) => submit({ body, headers: named().headers }));
  await expect.poll(statusOfFurther).toBe(503);
  passTime();
  for (const call of calls) {
    const response = await call;
    expect(await response.clone().json()).toMatchObject({
      detail: expect.stringContaining("10 seconds"),
    });
    expect(await refusal(response)).toEqual({ status: 408, code: "body_timeout" });
  }
  expect(await statusOfFurther()).toBe(200);
});

it("a large body of which at least 64 KiB arrive in every 10 seconds is read to its end", async () => {
  const passTime = holdTimers(ARRIVAL_WINDOW_MS);
  anArk();
  const { readable: body, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const call = submit({ body });
  const write = (text: string) => writer.write(new TextEncoder().encode(text));
  await write(`{"model":"${MODEL}","image":"${"x".repeat(65 * KIB)}`);
  for (const _ of [1, 2, 3]) {
    await write("x".repeat(64 * KIB));
    // The relay has read a piece when it takes the next one.
    await write("x");
    passTime(1);
  }
  await write('"}');
  await writer.close();
  expect((await call).status).toBe(200);
});
