import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import * as z from "zod";
import type { OfferBookObject } from "../../src/objects/offers/offer-book-object.ts";
import { callWith, invalid, refusal } from "./client.ts";
import { START_S, useClock } from "./clock.ts";
import { aBook, aCustomer, Changed, OFFER, offerFor, pricedBy, putOffer } from "./offers.ts";
import { anArk, ARK, BINDINGS, BODY, MODEL, submit } from "./submitted.ts";

useClock();

const Listed = z.object({
  data: z.array(z.looseObject({ name: z.string(), version: z.int().optional() })),
  next_cursor: z.string().nullable(),
});

async function namesIn(bindings: object, query = "") {
  const { data, next_cursor: next } = Listed.parse(
    await (await callWith(bindings, `/v1/offers${query}`)).json(),
  );
  return { names: data.map(({ name }) => name), next };
}

const Versions = z.object({
  data: z.array(z.looseObject({ version: z.int(), deleted: z.boolean() })),
});

async function versionsOf(bindings: object, name: string) {
  const answer = await callWith(bindings, `/v1/offers/${name}/versions`);
  return Versions.parse(await answer.json()).data.map(({ version, deleted }) => [version, deleted]);
}

it("an operator stores an offer under a name, reads it as it was written, with its version as the ETag and who changed it when, and replaces it", async () => {
  const { bindings } = aBook();
  const made = await putOffer(bindings, "video", { ...OFFER, title: "Video" });
  expect([made.status, made.headers.get("ETag")]).toEqual([201, '"1"']);
  expect(await made.json()).toMatchObject({
    name: "video",
    version: 1,
    changed_at: START_S,
    changed_by: "32848f64",
    disabled: null,
    seen_within_s: 60,
    offer: { title: "Video", models: OFFER.models, price: OFFER.price, accounts: null },
  });
  const replaced = await putOffer(bindings, "video", { ...OFFER, price: { credits: 70 } });
  expect([replaced.status, replaced.headers.get("ETag")]).toEqual([200, '"2"']);
  const read = await callWith(bindings, "/v1/offers/video");
  expect([read.headers.get("ETag"), await read.json()]).toMatchObject([
    '"2"',
    { version: 2, offer: { title: null, price: { credits: 70 } } },
  ]);
});

it("an offer that is stored again as it is makes no version", async () => {
  const { bindings } = aBook();
  await putOffer(bindings, "video");
  const { name: _, ...form } = Changed.parse(
    await (await callWith(bindings, "/v1/offers/video")).json(),
  ).offer;
  const again = await putOffer(bindings, "video", form);
  expect([again.status, again.headers.get("ETag")]).toEqual([200, '"1"']);
  expect(await versionsOf(bindings, "video")).toEqual([[1, false]]);
});

it("offers are listed page by page in the order of their names; a deleted one is not listed, and its name is 404", async () => {
  const { bindings } = aBook();
  for (const name of ["c", "a", "b", "d"]) await putOffer(bindings, name);
  const deleted = await callWith(bindings, "/v1/offers/b", { method: "DELETE" });
  expect(deleted.status).toBe(204);
  expect(await namesIn(bindings, "?limit=2")).toEqual({ names: ["a", "c"], next: "c" });
  expect(await namesIn(bindings, "?limit=2&cursor=c")).toEqual({ names: ["d"], next: null });
  for (const method of ["GET", "DELETE"]) {
    const answer = await callWith(bindings, "/v1/offers/b", { method });
    expect(await refusal(answer)).toEqual({ status: 404, code: "not_found" });
  }
});

it("the versions of an offer stay readable after its deletion, newest first, and one of them can be restored as a new version; a deletion and an unknown version cannot", async () => {
  const { bindings } = aBook();
  await offerFor(bindings, "video", 1);
  await offerFor(bindings, "video", 2);
  await callWith(bindings, "/v1/offers/video", { method: "DELETE" });
  expect(await versionsOf(bindings, "video")).toEqual([
    [3, true],
    [2, false],
    [1, false],
  ]);
  const restore = (version: number | string) =>
    callWith(bindings, `/v1/offers/video/versions/${version}/restore`, { body: {} });
  const restored = await restore(1);
  expect(restored.status).toBe(201);
  expect(await restored.json()).toMatchObject({ version: 4, offer: { price: { credits: 1 } } });
  for (const version of [3, 9, "1e0"]) {
    expect(await refusal(await restore(version))).toEqual({ status: 404, code: "not_found" });
  }
});

it("of an offer the last 100 versions are kept", async () => {
  const { stub } = aBook();
  await runInDurableObject<OfferBookObject, void>(stub, (book) => {
    for (let i = 0; i < 103; i++) {
      book.change({ name: "video", content: `{"rank":${i}}`, by: null, revision: i });
    }
  });
  const versions = await stub.versions("video");
  expect([versions.length, versions[0]?.version, versions.at(-1)?.version]).toEqual([100, 103, 4]);
});

const matching = (tag: string) => ({ headers: { "If-Match": tag } });

it("of two writers who have read the same version, the second gets 412 with If-Match, for PUT, DELETE and restore, and changes nothing", async () => {
  const { bindings } = aBook();
  await offerFor(bindings, "video", 1);
  expect((await putOffer(bindings, "video", OFFER, matching('"1"'))).status).toBe(200);
  const late = [
    putOffer(bindings, "video", { ...OFFER, price: { credits: 9 } }, matching('"1"')),
    callWith(bindings, "/v1/offers/video", { method: "DELETE", ...matching('"7", W/x') }),
    callWith(bindings, "/v1/offers/video", { method: "DELETE", ...matching('"7", "8"') }),
    callWith(bindings, "/v1/offers/video/versions/1/restore", { body: {}, ...matching('"1"') }),
    putOffer(bindings, "new", OFFER, matching("*")),
  ];
  const refusals = await Promise.all(late.map(async (each) => refusal(await each)));
  const changed = { status: 412, code: "offer_changed" };
  expect(refusals).toEqual([changed, invalid("/If-Match"), changed, changed, changed]);
  expect(await namesIn(bindings)).toEqual({ names: ["video"], next: null });
  expect((await versionsOf(bindings, "video")).length).toBe(2);
});

it("an ETag that a compressing proxy has weakened counts as the one that the relay has sent", async () => {
  const { bindings } = aBook();
  await offerFor(bindings, "video", 1);
  const change = { ...OFFER, price: { credits: 9 } };
  expect((await putOffer(bindings, "video", change, matching('W/"1"'))).status).toBe(200);
  const late = await putOffer(bindings, "video", OFFER, matching('W/"1"'));
  expect(await refusal(late)).toEqual({ status: 412, code: "offer_changed" });
});

it("PUT of an offer with If-None-Match: * creates it, and gets 412 when it exists", async () => {
  const { bindings } = aBook();
  const creating = { headers: { "If-None-Match": "*" } };
  expect((await putOffer(bindings, "video", OFFER, creating)).status).toBe(201);
  const again = await putOffer(bindings, "video", OFFER, creating);
  expect(await refusal(again)).toEqual({ status: 412, code: "offer_changed" });
});

it("writers of different offers at the same moment all succeed, each change with a version of its own", async () => {
  const { bindings } = aBook();
  const other = { ...bindings };
  const names = ["a", "b", "c", "d"];
  const made = await Promise.all(
    names.map((name, i) => putOffer(i % 2 === 0 ? bindings : other, name)),
  );
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  const versions = await Promise.all(made.map(async (each) => Changed.parse(await each.json())));
  expect(versions.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
});

it.each([
  ["a member at fault", { ...OFFER, models: [] }, ["/models"]],
  [
    "faults in several places",
    { ...OFFER, limits: { "/a": { max: "1" } }, prize: 1 },
    ["/limits/~1a/max", "/prize"],
  ],
  ["no members", {}, ["/connection", "/models"]],
  ["a connection that the relay does not have", { ...OFFER, connection: "none" }, ["/connection"]],
  ["another name than its path", { ...OFFER, name: "audio" }, ["/name"]],
  ["more than 8 KB", { ...OFFER, models: ["m".repeat(8_192)] }, [""]],
  ["a submission to try without dry_run", { ...OFFER, try: {} }, ["/try"]],
])("an offer with %s is refused whole, with the place of each fault", async (_, body, paths) => {
  const { bindings } = aBook();
  await offerFor(bindings, "video", 1);
  expect(await refusal(await putOffer(bindings, "video", body))).toEqual(invalid(...paths));
  expect((await versionsOf(bindings, "video")).length).toBe(1);
});

it.each(["ark", "Video", "a".repeat(65)])(
  "an offer cannot have the name %s: the names of connections are taken, and others are malformed",
  async (name) => {
    const { bindings } = aBook();
    expect(await refusal(await putOffer(bindings, name))).toEqual(invalid("/name"));
  },
);

it("an offer with a tool is refused if an earlier offer would apply to all calls of the tool, and so is an offer that would hide the tool of another one", async () => {
  const { bindings } = aBook();
  await putOffer(bindings, "b", { ...OFFER, models: ["*"] });
  const tool = { ...OFFER, models: [MODEL], body: { type: "object" } };
  expect(await refusal(await putOffer(bindings, "c", tool))).toEqual(invalid("/body"));
  expect((await putOffer(bindings, "a", tool)).status).toBe(201);
  const hiding = await putOffer(bindings, "c", { ...OFFER, rank: 1 });
  expect(await refusal(hiding)).toEqual(invalid("/rank"));
  expect((await putOffer(bindings, "c", { ...tool, accounts: ["acme"] })).status).toBe(201);
});

it.each([
  ["read", 200, 403],
  ["metrics", 403, 403],
  ["operate", 200, 403],
  ["all", 200, 201],
])(
  "an operator key with the role %s gets %i for reading offers and %i for changing one",
  async (role, read, change) => {
    const key = `test-only-key-of-the-role-${role}`;
    const { bindings } = aBook({ OPERATOR_KEYS: `${BINDINGS.OPERATOR_KEYS} ${role}:${key}` });
    const answers = [
      await callWith(bindings, "/v1/offers", { key }),
      await putOffer(bindings, "video", OFFER, { key }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([read, change]);
  },
);

it("with OFFERS, this variable has all offers: they are listed without versions, nothing is read from the store, and changes are 409", async () => {
  const { bindings, calls } = aBook({ OFFERS: JSON.stringify([{ ...OFFER, name: "video" }]) });
  expect(await (await callWith(bindings, "/v1/offers")).json()).toMatchObject({
    data: [{ name: "video", disabled: null, offer: { price: OFFER.price } }],
  });
  const answers = [
    await putOffer(bindings, "other"),
    await callWith(bindings, "/v1/offers/video", { method: "DELETE" }),
  ];
  for (const answer of answers) {
    expect(await refusal(answer)).toEqual({ status: 409, code: "offers_in_configuration" });
  }
  anArk();
  const { submits } = await aCustomer();
  expect(await pricedBy(bindings, await submits(bindings))).toEqual({ credits: 60, name: "video" });
  expect(calls).toEqual([]);
});

/** Makes the object with the offers count as many offers and bytes as `totals` says. */
async function count(stub: DurableObjectStub<OfferBookObject>, totals: object): Promise<void> {
  await runInDurableObject(stub, (_, { storage: { kv } }) => {
    kv.put("totals", { ...kv.get<object>("totals"), ...totals });
  });
}

it.each([
  ["5,000 offers", { offers: 5_000 }],
  ["8 MB of offers", { bytes: 8 * 1024 * 1024 }],
])(
  "with %s a further one is 409 offers_full, and one that gets smaller is not",
  async (_, totals) => {
    const { bindings, stub } = aBook();
    await putOffer(bindings, "video", { ...OFFER, title: "Video" });
    await count(stub, totals);
    const further = await putOffer(bindings, "audio");
    expect(await refusal(further)).toEqual({ status: 409, code: "offers_full" });
    expect((await putOffer(bindings, "video", OFFER)).status).toBe(200);
  },
);

it("when a connection was removed, its offers alone are disabled: they are listed as such, nothing is submitted by them, and other offers hold", async () => {
  const CONNECTIONS = JSON.stringify({ "ark-b": { provider: "ark", key: "test-only-key" } });
  const { bindings: without } = aBook();
  const bindings = { ...without, CONNECTIONS };
  await putOffer(bindings, "gone", { ...OFFER, connection: "ark-b" });
  await putOffer(bindings, "kept");
  expect(await namesIn(without, "?disabled=true")).toEqual({ names: ["gone"], next: null });
  expect(await (await callWith(without, "/v1/offers/gone")).json()).toMatchObject({
    disabled: { path: "/connection", message: "must be a connection of the relay" },
    offer: { connection: "ark-b" },
  });
  anArk();
  const { submits } = await aCustomer();
  expect((await submits(without)).status).toBe(200);
  const renamed = await putOffer(without, "gone", OFFER);
  expect(await renamed.json()).toMatchObject({ disabled: null });
});

it("a connection that gets the name of an offer disables the offer", async () => {
  const { bindings } = aBook();
  await putOffer(bindings, "ark-b");
  const CONNECTIONS = JSON.stringify({ "ark-b": { provider: "ark", key: "test-only-key" } });
  const answer = await callWith({ ...bindings, CONNECTIONS }, "/v1/offers/ark-b");
  expect(await answer.json()).toMatchObject({ disabled: { path: "/name" } });
});

it("an account pays by its own offer before the one for all, and the task shows the offer and its version to the operator alone", async () => {
  const { bindings } = aBook();
  anArk();
  const [acme, globex] = [await aCustomer(), await aCustomer()];
  const general = await offerFor(bindings, "general", 60);
  const own = await offerFor(bindings, "own", 50, { accounts: [acme.account] });
  const [byAcme, byGlobex] = [await acme.submits(bindings), await globex.submits(bindings)];
  expect(await pricedBy(bindings, byAcme)).toEqual({ credits: 50, name: "own", version: own });
  expect(await pricedBy(bindings, byGlobex)).toEqual({
    credits: 60,
    name: "general",
    version: general,
  });
  const id = byAcme.headers.get("Relay-Task-Id") ?? "";
  const seen = await callWith(bindings, `/v1/tasks/${id}`, { key: acme.key });
  expect(await seen.text()).not.toContain("offer");
});

it("a submission that is repeated under its Idempotency-Key after a change of the price stays the one task at the first price", async () => {
  const { bindings } = aBook();
  anArk();
  const { submits } = await aCustomer();
  const version = await offerFor(bindings, "video", 60);
  const headers = { "Idempotency-Key": "order-1" };
  const first = await submits(bindings, { headers });
  await offerFor(bindings, "video", 70);
  const second = await submits(bindings, { headers });
  expect(second.headers.get("Relay-Task-Id")).toBe(first.headers.get("Relay-Task-Id"));
  expect(await pricedBy(bindings, second)).toEqual({ credits: 60, name: "video", version });
});

const Tried = z.looseObject({ try: z.unknown() });

/** Tries a submission with an offer that is not stored. */
async function tried(bindings: object, name: string, offer: object, trial: object) {
  const answer = await callWith(bindings, `/v1/offers/${name}?dry_run=true`, {
    method: "PUT",
    body: { ...offer, try: trial },
  });
  return Tried.parse(await answer.json()).try;
}

const SHORT = { model: MODEL, duration: 5 };

it("a dry run says which offer an account would pay, why this one, and how much, and stores nothing", async () => {
  const { bindings } = aBook();
  await offerFor(bindings, "general", 60);
  await offerFor(bindings, "own", 50, { accounts: ["acme"] });
  const gold = { ...OFFER, accounts: ["tag:gold"], price: { credits: 40 } };
  const trial = (more: object) => tried(bindings, "gold", gold, { body: SHORT, ...more });
  const offered = { outcome: "offered", model: MODEL };
  expect(await trial({})).toEqual({
    ...offered,
    offer: "general",
    reason: { kind: "general" },
    credits: 60,
    price: { credits: 60 },
  });
  expect(await trial({ tags: ["gold"] })).toMatchObject({
    ...offered,
    offer: "gold",
    reason: { kind: "tag", tag: "gold" },
    credits: 40,
  });
  expect(await trial({ account: "acme", tags: ["gold"] })).toMatchObject({
    offer: "own",
    reason: { kind: "account" },
  });
  expect(await namesIn(bindings)).toEqual({ names: ["general", "own"], next: null });
});

it("a dry run says what a job with a price by duration costs in the end, and why a submission would be refused", async () => {
  const { bindings } = aBook();
  const price = { hold: 120, min: 1, per: { field: "duration", units: 1, credits: 12 } };
  const offer = { ...OFFER, limits: { "/duration": { max: 10 } }, price };
  const trial = (body: object, more: object = {}) =>
    tried(bindings, "video", offer, { body, ...more });
  expect(await trial(SHORT)).toMatchObject({ credits: 120, price, final: 60 });
  expect(await trial({ ...SHORT, duration: 11 })).toEqual({
    outcome: "refused",
    code: "forbidden",
    detail: "The offer for this request limits it: /duration must be a number from 0 to 10.",
  });
  expect(await trial({ duration: 5 })).toMatchObject({
    code: "invalid_request",
    issues: [{ path: "/model" }],
  });
  expect(await trial(SHORT, { path: "/v2" })).toMatchObject({ code: "forbidden" });
  expect(await trial(SHORT, { query: "n=2" })).toMatchObject({
    detail: expect.stringContaining("?n must be left out"),
  });
});

it("a dry run of a faulty offer gets the same refusal as the change, and with OFFERS it compares with these", async () => {
  const { bindings, calls } = aBook({ OFFERS: JSON.stringify([{ ...OFFER, name: "general" }]) });
  const dry = (body: object) =>
    callWith(bindings, "/v1/offers/video?dry_run=true", { method: "PUT", body });
  expect(await refusal(await dry({ ...OFFER, models: [] }))).toEqual(invalid("/models"));
  expect(await (await dry({ ...OFFER, try: { body: SHORT } })).json()).toMatchObject({
    replaces: null,
    offer: { connection: "ark" },
    try: { offer: "general" },
  });
  expect(calls).toEqual([]);
});

const VIDEOS = "https://videos.example.org";
const VIDEOS_PATH = "/v1/videos";
const FORM_TYPE = "multipart/form-data; boundary=b";

/** Returns a form with these fields, after a file. */
function aForm(fields: Readonly<Record<string, string>>): string {
  const file = `--b\r\nContent-Disposition: form-data; name="input_reference"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n`;
  const texts = Object.entries(fields).map(
    ([name, text]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
  );
  return `${file}${texts.join("")}--b--\r\n`;
}

it("a form of a client that waits is priced by its model and within the limits of its text fields, wherever these stand, and reaches the upstream byte for byte", async () => {
  const outside = anArk();
  outside.on(VIDEOS, () => Response.json({ id: crypto.randomUUID(), object: "video" }));
  const { bindings } = aBook();
  const at = { connection: "openai-videos", path: VIDEOS_PATH };
  const limits = { "/seconds": ["4", "8"] };
  await offerFor(bindings, "pro", 90, { ...at, models: ["sora-2-pro"], limits });
  await offerFor(bindings, "small", 30, { ...at, models: ["sora-2"], limits });
  const { submits } = await aCustomer();
  const sending = (fields: Readonly<Record<string, string>>) =>
    submits(bindings, {
      path: `/v1/submit/openai-videos${VIDEOS_PATH}`,
      body: aForm(fields),
      headers: { "Content-Type": FORM_TYPE },
    });
  const form = { prompt: "a fox", model: "sora-2-pro", seconds: "4" };
  const answer = await sending(form);
  expect(await pricedBy(bindings, answer)).toMatchObject({ credits: 90, name: "pro" });
  const small = await sending({ ...form, model: "sora-2" });
  expect(await pricedBy(bindings, small)).toMatchObject({ credits: 30, name: "small" });
  const [sent] = outside.sentTo(VIDEOS);
  expect([sent?.body, sent?.headers["content-type"]]).toEqual([aForm(form), FORM_TYPE]);
  const refused = [
    await sending({ ...form, seconds: "12" }),
    await sending({ prompt: "a fox", model: "sora-2-pro" }),
    await sending({ ...form, model: "sora-3" }),
  ];
  for (const each of refused) {
    expect(await refusal(each)).toEqual({ status: 403, code: "forbidden" });
  }
  const { model: _, ...unnamed } = form;
  expect((await sending(unnamed)).status).toBe(400);
  expect(outside.sentTo(VIDEOS)).toHaveLength(2);
});

it("a form whose offers do not depend on what it says, and a form of an operator, are passed on also if the relay cannot read them", async () => {
  const outside = anArk();
  outside.on(VIDEOS, () => Response.json({ id: crypto.randomUUID(), object: "video" }));
  const { bindings } = aBook();
  const any = { connection: "openai-videos", path: VIDEOS_PATH, models: ["*"] };
  await offerFor(bindings, "any", 30, any);
  const { submits } = await aCustomer();
  const path = `/v1/submit/openai-videos${VIDEOS_PATH}`;
  const message = { path, body: "--b--", headers: { "Content-Type": FORM_TYPE } };
  const answer = await submits(bindings, message);
  expect(await pricedBy(bindings, answer)).toMatchObject({ credits: 30, name: "any" });
  await offerFor(bindings, "certain", 30, { ...any, models: ["m"] });
  expect((await submits(bindings, message)).status).toBe(400);
  expect((await submit({ ...message, bindings })).status).toBe(200);
});

it("a submission to a connection where nothing is offered gets 404, as to one that does not exist, and nothing is sent", async () => {
  const outside = anArk();
  const { bindings } = aBook();
  const { submits } = await aCustomer();
  const answer = await submits(bindings, { body: BODY });
  expect(await refusal(answer)).toEqual({ status: 404, code: "not_found" });
  expect(outside.sentTo(ARK)).toEqual([]);
});
