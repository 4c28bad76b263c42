import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { OfferBookObject } from "../../src/objects/offers/offer-book-object.ts";
import { callWith, refusal } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { lose } from "./lost-calls.ts";
import { aBook, aCustomer, OFFER, offerFor, pricedBy, putOffer } from "./offers.ts";
import { anArk, submit } from "./submitted.ts";

useClock();

const SECOND = 1000;
const READ = "read";
const isRead = (call: string) => call === READ;

/** Returns a relay of two isolates with one offer at 60 credits, of which the operator uses the first. */
async function aRelay() {
  const { bindings, calls, stub } = aBook();
  anArk();
  const { submits } = await aCustomer(1_000_000);
  const version = await offerFor(bindings, "video", 60);
  const other = { ...bindings };
  const costs = async (isolate: object) => pricedBy(isolate, await submits(isolate));
  return { bindings, other, calls, stub, costs, submits, version };
}

it("a changed price holds at once in the isolate that has changed it, and in another one after its next reading: beside a request from 30 s on, before the request from 60 s on", async () => {
  const { bindings, other, calls, costs } = await aRelay();
  expect(await costs(other)).toMatchObject({ credits: 60 });
  const second = await offerFor(bindings, "video", 70);
  expect(await costs(bindings)).toEqual({ credits: 70, name: "video", version: second });
  const before = calls.filter(isRead).length;
  pass(30 * SECOND - 1);
  expect(await costs(other)).toMatchObject({ credits: 60 });
  expect(calls.filter(isRead)).toHaveLength(before);
  pass(1);
  expect(await costs(other)).toMatchObject({ credits: 60 });
  await until(async () => (await costs(other)).credits === 70);
  expect(calls.filter(isRead)).toHaveLength(before + 1);
  await offerFor(bindings, "video", 80);
  pass(60 * SECOND);
  expect(await costs(other)).toMatchObject({ credits: 80 });
});

it("while the price of an offer changes, each task that two isolates register costs the price of the offer's version that the task shows", async () => {
  const { bindings, other, costs, version } = await aRelay();
  const prices = new Map([[version, 60]]);
  const seen: Awaited<ReturnType<typeof costs>>[] = [];
  for (let credits = 61; credits < 69; credits++) {
    const [changed, ...priced] = await Promise.all([
      offerFor(bindings, "video", credits),
      ...[bindings, other, bindings, other].map(costs),
    ]);
    prices.set(changed, credits);
    seen.push(...priced);
    pass(20 * SECOND);
  }
  expect(seen).toHaveLength(32);
  for (const { credits, version: shown } of seen) expect(prices.get(shown ?? 0)).toBe(credits);
  expect(new Set(seen.map(({ credits }) => credits)).size).toBeGreaterThan(4);
});

it("while the object with the offers is unreachable, an isolate that has never read them answers an account 503; one that has read them uses these, and asks again after 5 s", async () => {
  let isAway = false;
  const { bindings, calls } = aBook({}, () => (isAway ? { [READ]: lose } : {}));
  anArk();
  const { submits } = await aCustomer();
  await offerFor(bindings, "video", 60);
  const other = { ...bindings };
  isAway = true;
  expect(await refusal(await submits(other))).toEqual({ status: 503, code: "unavailable" });
  pass(600 * SECOND);
  const tries = calls.filter(isRead).length;
  expect(await pricedBy(bindings, await submits(bindings))).toMatchObject({ credits: 60 });
  expect(await pricedBy(bindings, await submits(bindings))).toMatchObject({ credits: 60 });
  expect(calls.filter(isRead)).toHaveLength(tries + 1);
  isAway = false;
  pass(5 * SECOND);
  expect(await pricedBy(other, await submits(other))).toMatchObject({ credits: 60 });
  expect((await submits(bindings)).status).toBe(200);
  expect(calls.filter(isRead)).toHaveLength(tries + 3);
});

it("requests of one isolate that come at the same moment wait for one reading", async () => {
  const { other, calls, costs } = await aRelay();
  const before = calls.filter(isRead).length;
  const priced = await Promise.all(Array.from({ length: 5 }, () => costs(other)));
  expect(priced.map(({ credits }) => credits)).toEqual([60, 60, 60, 60, 60]);
  expect(calls.filter(isRead)).toHaveLength(before + 1);
});

it("requests that come at the same moment to an isolate that has not read for a minute all wait for the changed price", async () => {
  const { bindings, other, calls, costs } = await aRelay();
  await costs(other);
  await offerFor(bindings, "video", 70);
  pass(60 * SECOND);
  const before = calls.filter(isRead).length;
  const priced = await Promise.all(Array.from({ length: 5 }, () => costs(other)));
  expect(priced.map(({ credits }) => credits)).toEqual([70, 70, 70, 70, 70]);
  expect(calls.filter(isRead)).toHaveLength(before + 1);
});

it("without offers an isolate reads once for the submissions of accounts, and never for those of operators or for other requests", async () => {
  const { bindings, calls } = aBook();
  anArk();
  expect((await submit({ bindings })).status).toBe(200);
  expect((await callWith(bindings, "/healthz")).status).toBe(200);
  const { key, account, submits } = await aCustomer();
  expect((await callWith(bindings, `/v1/accounts/${account}`, { key })).status).toBe(200);
  expect(calls).toEqual([]);
  for (let i = 0; i < 3; i++) expect((await submits(bindings)).status).toBe(404);
  expect(calls).toEqual([READ]);
});

it("a deletion is seen in other isolates as other changes are", async () => {
  const { bindings, other, costs, submits } = await aRelay();
  await costs(other);
  await callWith(bindings, "/v1/offers/video", { method: "DELETE" });
  pass(60 * SECOND);
  expect((await submits(other)).status).toBe(404);
});

/** Stores offers with long contents directly in the object, and returns the names. */
async function storeMany(stub: DurableObjectStub<OfferBookObject>, count: number, from: number) {
  const names = Array.from({ length: count }, (_, i) => `offer-${i}`);
  const content = JSON.stringify({
    ...OFFER,
    description: "a".repeat(1_000),
    models: ["m".repeat(6_000)],
  });
  await runInDurableObject<OfferBookObject, void>(stub, (book) => {
    names.forEach((name, i) => book.change({ name, content, by: null, revision: from + i }));
  });
  return names;
}

it("offers that are too long for one answer of their object are read in several", async () => {
  const { bindings, calls, stub } = aBook();
  const names = await storeMany(stub, 700, 0);
  await putOffer(bindings, "last");
  const other = { ...bindings };
  const before = calls.filter(isRead).length;
  const { data } = await (
    await callWith(other, "/v1/offers?limit=500&cursor=offer-650")
  ).json<{
    data: { name: string }[];
  }>();
  expect(calls.filter(isRead).length - before).toBe(3);
  const rest = names.filter((name) => name > "offer-650").length;
  expect(data.length).toBe(rest);
});

it("of deleted offers the last 1,000 are kept; an isolate that has missed a deletion which is no longer kept reads all offers anew", async () => {
  const { bindings, other, stub, costs, submits } = await aRelay();
  await costs(other);
  await callWith(bindings, "/v1/offers/video", { method: "DELETE" });
  const revision = 2;
  await runInDurableObject<OfferBookObject, void>(stub, (book) => {
    for (let i = 0; i < 1_000; i++) {
      const name = `offer-${i}`;
      book.change({ name, content: "{}", by: null, revision: revision + 2 * i });
      book.change({ name, content: null, by: null, revision: revision + 2 * i + 1 });
    }
  });
  expect(await stub.versions("video")).toEqual([]);
  expect(await stub.versions("offer-0")).toHaveLength(2);
  pass(60 * SECOND);
  expect((await submits(other)).status).toBe(404);
});
