import { expect, it } from "vitest";
import { aKey, anAccount, booksOf } from "./accounts.ts";
import { refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { anUpstream, callJob, RELAY } from "./job-calls.ts";
import { answering, type Outside, type Site } from "./outside.ts";
import { aRateLimit, LIMITED } from "./rate-limits.ts";

useClock();

const API = "https://api.replicate.com";
const VERSION = "5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa";
const PATH = `/v1/models/acme/fox/versions/${VERSION}`;
const SCHEMA = { components: { schemas: { Output: { type: "string" } } } };
const FOUND = { id: VERSION, cog_version: "0.16.0", openapi_schema: SCHEMA };
const MODEL_STUDIO = "https://dashscope.aliyuncs.com";
const POLICY_PATH = "/api/v1/uploads?action=getPolicy&model=wan2.6-i2v";
const POLICY = {
  request_id: "r1",
  data: { upload_host: "https://files.example.com", policy: "p" },
};
const DASHSCOPE = { ...RELAY, DASHSCOPE_API_KEY: "test-only-dashscope-key" };

/** Returns bindings with one offer of a connection, with these further members. */
function offering(connection: string, more: object = {}): object {
  const offer = { connection, models: ["acme/*"], price: { credits: 60 }, ...more };
  return { ...DASHSCOPE, OFFERS: JSON.stringify([offer]) };
}
const OFFERED = offering("replicate");

/** Replaces the network by a Replicate and a Model Studio, which answer all lookups like `site`. */
function upstreams(site?: Site): Outside {
  const outside = anUpstream(API, site ?? answering(FOUND));
  outside.on(MODEL_STUDIO, site ?? answering(POLICY));
  return outside;
}

async function aFullKey() {
  const account = await anAccount(100);
  return { account, ...(await aKey(account)) };
}

it("an account with any offer of Replicate reads a version of a model, which the relay requests with its own key for the upstream, and is charged nothing", async () => {
  const outside = upstreams();
  const { account, key } = await aFullKey();
  const response = await callJob("replicate", PATH, { key }, OFFERED);
  expect([response.status, await response.json()]).toEqual([200, FOUND]);
  const sent = outside.sentTo("https://");
  expect(sent).toMatchObject([{ method: "GET", url: `${API}${PATH}`, redirect: "manual" }]);
  expect(sent[0]?.headers["authorization"]).toBe(`Bearer ${RELAY.REPLICATE_API_TOKEN}`);
  expect(await booksOf(account)).toEqual(["grant 100"]);
});

it("the operator reads a version of a model of Replicate without any offer, and the upstream does not get the caller's query", async () => {
  const outside = upstreams();
  const response = await callJob("replicate", `${PATH}?limit=1`, {}, { ...RELAY, OFFERS: "[]" });
  expect(await response.json()).toEqual(FOUND);
  expect(outside.sentTo("https://").map(({ url }) => url)).toEqual([`${API}${PATH}`]);
});

it("when the only offer is one for customers' own keys, an account's lookup at Replicate gets 403 in Replicate's form, and nothing is sent", async () => {
  const outside = upstreams();
  const { key } = await aFullKey();
  const bindings = offering("replicate", { key: "customer" });
  const refused = await callJob("replicate", PATH, { key }, bindings);
  expect(refused.status).toBe(403);
  expect(await refused.json()).toEqual({
    status: 403,
    detail: "Calls to replicate are not offered to accounts with this key of the upstream.",
  });
  expect(outside.sentTo("https://")).toEqual([]);
});

it("when the only offer is one of another connection, an account's lookup at Replicate gets 404, as at a connection that does not exist, and nothing is sent", async () => {
  const outside = upstreams();
  const { key } = await aFullKey();
  const refused = await callJob("replicate", PATH, { key }, offering("fal"));
  expect(refused.status).toBe(404);
  expect(await refused.json()).toMatchObject({ detail: 'There is no connection "replicate".' });
  expect(outside.sentTo("https://")).toEqual([]);
});

it("with a customer's own key of Replicate, a lookup is sent with this key where an offer is for such keys", async () => {
  const outside = upstreams();
  const { key } = await aFullKey();
  const bindings = offering("replicate", { key: "customer" });
  const message = { key: "test-only-customer-key", headers: { "Relay-Key": key } };
  expect((await callJob("replicate", PATH, message, bindings)).status).toBe(200);
  const [sent] = outside.sentTo("https://");
  expect(sent?.headers["authorization"]).toBe("Bearer test-only-customer-key");
});

it("Model Studio's permission to upload a file is passed to an account only where its offer has uploads", async () => {
  const outside = upstreams();
  const { key } = await aFullKey();
  const ask = (more: object) =>
    callJob("dashscope", POLICY_PATH, { key }, offering("dashscope", more));
  const refused = await ask({});
  expect(refused.status).toBe(403);
  expect(await refused.json()).toEqual({
    code: "AccessDenied",
    message: "Uploads to dashscope are not offered to accounts with this key of the upstream.",
    request_id: "",
  });
  expect(outside.sentTo("https://")).toEqual([]);
  expect(await (await ask({ uploads: true })).json()).toEqual(POLICY);
  expect(outside.sentTo("https://")).toMatchObject([
    {
      method: "GET",
      url: `${MODEL_STUDIO}${POLICY_PATH}`,
      headers: { authorization: `Bearer ${DASHSCOPE.DASHSCOPE_API_KEY}` },
    },
  ]);
});

it("an account's lookups are counted by LIMIT_SUBMITS, and a key with the role read cannot make them", async () => {
  const outside = upstreams();
  const { account, key } = await aFullKey();
  const bindings = { ...OFFERED, LIMIT_SUBMITS: aRateLimit(1) };
  expect((await callJob("replicate", PATH, { key }, bindings)).status).toBe(200);
  expect(await refusal(await callJob("replicate", PATH, { key }, bindings))).toEqual(LIMITED);
  const { key: reading } = await aKey(account, "read");
  const refused = await refusal(await callJob("replicate", PATH, { key: reading }, OFFERED));
  expect(refused).toEqual({ status: 403, code: "forbidden" });
  expect(outside.sentTo("https://")).toHaveLength(1);
});

it("the upstream's refusal of a lookup is passed on to an account, except one about the operator's key or balance, which becomes 503", async () => {
  const { key } = await aFullKey();
  for (const [status, shown] of [
    [404, 404],
    [401, 503],
    [402, 503],
  ] as const) {
    upstreams(answering({ detail: "acme owes $3" }, status));
    const response = await callJob("replicate", PATH, { key }, OFFERED);
    expect(response.status).toBe(shown);
    expect((await response.text()).includes("owes")).toBe(shown === status);
  }
});

it("the response to an account's lookup does not show the relay's key for the upstream", async () => {
  upstreams(({ headers }) => Response.json({ echo: headers["authorization"] }));
  const { key } = await aFullKey();
  const text = await (await callJob("replicate", PATH, { key }, OFFERED)).text();
  expect(text).toContain("echo");
  expect(text).not.toContain(RELAY.REPLICATE_API_TOKEN);
});

it("when the upstream does not answer a lookup, the response is 504 in the upstream's own form", async () => {
  upstreams(() => {
    throw new Error("the connection was lost");
  });
  const response = await callJob("replicate", PATH, {}, OFFERED);
  expect(response.status).toBe(504);
  expect(await response.json()).toMatchObject({ status: 504, detail: expect.any(String) });
});

it.each([
  ["replicate", "GET", "/v1/models/acme/fox"],
  ["replicate", "GET", "/v1/models/acme/fox/versions"],
  ["replicate", "GET", `${PATH}/..%2f..`],
  ["replicate", "GET", `/v1/models/../account/versions/${VERSION}`],
  ["replicate", "GET", `/v1/models/acme/.fox/versions/${VERSION}`],
  ["replicate", "DELETE", PATH],
  ["replicate", "PUT", PATH],
  ["dashscope", "GET", "/api/v1/uploads"],
  ["dashscope", "GET", "/api/v1/uploads?action=list&model=wan2.6-i2v"],
  ["dashscope", "GET", "/api/v1/uploads/u1?action=getPolicy&model=wan2.6-i2v"],
])(
  "for %s, the call %s %s looks nothing up: it gets 400 or 404, and no request is sent",
  async (connection, method, path) => {
    const outside = upstreams();
    const { key } = await aFullKey();
    const bindings = offering(connection, { uploads: true });
    const response = await callJob(connection, path, { method, key }, bindings);
    expect([400, 404]).toContain(response.status);
    expect(outside.sentTo("https://")).toEqual([]);
  },
);
