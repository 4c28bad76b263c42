import { cpuUsage } from "node:process";
import { decideOffer } from "../src/api/submit/offer-decision.ts";
import { OfferList } from "../src/core/offers/offer-list.ts";
import type { Offer } from "../src/core/offers/offer.ts";
import { table } from "./page.ts";

// Measures the CPU time that the choice of an offer takes in a submission, with one offer and with 5,000:
// `npm run bench:offers`, some seconds.

const OFFERS = 5_000;
const ROUNDS = 2_000;
const WARM_UP = 500;
const LIMIT_MS = 0.2;
const US_PER_MS = 1_000;
const PATH = "/contents/generations/tasks";
const ACCOUNT = "acme";
const COMMON: Omit<Offer, "name" | "models"> = {
  version: 1,
  title: null,
  description: null,
  audience: null,
  rank: 100,
  connection: "ark",
  keyOwner: "connection",
  path: PATH,
  limits: [
    { pointer: "/duration", values: null, min: 0, max: 10, isOptional: false },
    { pointer: "/resolution", values: ["480p", "720p"], min: null, max: null, isOptional: false },
  ],
  price: { credits: 60, rule: null },
  takesUploads: false,
  tool: null,
};

/** Returns the name of a model that begins like all others and is the beginning of none. */
function modelAt(i: number): string {
  return `model-${String(i).padStart(4, "0")}`;
}

/** Offers by their number, of which the last one is that of the submission. */
const LISTS: Readonly<
  Record<string, readonly [count: number, form: (i: number) => Omit<Offer, "name">]>
> = {
  "one offer": [1, (i) => ({ ...COMMON, models: [modelAt(i)] })],
  "5,000 models": [OFFERS, (i) => ({ ...COMMON, models: [modelAt(i)] })],
  "5,000 models with *": [OFFERS, (i) => ({ ...COMMON, models: [`${modelAt(i)}*`] })],
  "5,000 accounts": [
    OFFERS,
    (i) => {
      const accounts = [i === OFFERS - 1 ? ACCOUNT : `account-${i}`];
      return { ...COMMON, models: ["model-*"], audience: { accounts, tags: [] } };
    },
  ],
  "2,500 models of a tag before 2,500 for all": [
    OFFERS,
    (i) => ({
      ...COMMON,
      models: [modelAt(i)],
      ...(i % 2 === 0 && { audience: { accounts: [], tags: ["gold"] } }),
    }),
  ],
};

/** Returns the members that a request has at the pointers of the limits. */
function member(pointer: string) {
  if (pointer === "/duration") return { kind: "scalar", value: 5 } as const;
  return pointer === "/resolution" ? ({ kind: "scalar", value: "720p" } as const) : undefined;
}

/** Chooses the offer of a submission, as its request does. */
function choose(list: OfferList, model: string): void {
  const offered = list.offersAt("ark", { account: ACCOUNT, tags: ["gold"] });
  const offers = offered.at("connection", PATH);
  const request = { connection: "ark", model, member, areTexts: false, hookField: "" };
  // What a submission asks of the offers before it decides.
  const asked = [offers.isEmpty, offers.areAllPriced, offers.leastCredits, offers.limitedPointers];
  const decision = decideOffer(offers, { ...request, query: new URLSearchParams() });
  if (asked[0] === true || decision.kind !== "offered") throw new Error("nothing was offered");
}

/** Returns the CPU time of a call in milliseconds, as a mean of many. */
function cpuMsOf(work: () => void): number {
  for (let i = 0; i < WARM_UP; i++) work();
  const before = cpuUsage();
  for (let i = 0; i < ROUNDS; i++) work();
  const { user, system } = cpuUsage(before);
  return (user + system) / US_PER_MS / ROUNDS;
}

const rows = Object.entries(LISTS).map(([name, [count, form]]) => {
  const offers = Array.from({ length: count }, (_, i) => ({ ...form(i), name: `offer-${i}` }));
  const startedAt = performance.now();
  const list = new OfferList(offers);
  const builtMs = performance.now() - startedAt;
  return { name, builtMs, choiceMs: cpuMsOf(() => choose(list, modelAt(count - 1))) };
});
const baseMs = rows[0]?.choiceMs ?? 0;
console.log(
  table(
    ["offers", "choice", "more than with one", "put in order"],
    rows.map(({ name, builtMs, choiceMs }) => [
      name,
      `${(choiceMs * US_PER_MS).toFixed(1)} µs`,
      `${((choiceMs - baseMs) * US_PER_MS).toFixed(1)} µs`,
      `${builtMs.toFixed(0)} ms`,
    ]),
  ),
);
const worstMs = Math.max(...rows.map(({ choiceMs }) => choiceMs - baseMs));
console.log(`\nat most ${LIMIT_MS} ms more: ${worstMs <= LIMIT_MS ? "kept" : "missed"}`);
process.exitCode = worstMs <= LIMIT_MS ? 0 : 1;
