import { expect, it } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import { aKey, anAccount } from "./accounts.ts";
import { callWith, type Message } from "./client.ts";
import { useClock } from "./clock.ts";
import { ask, callTool, textOf } from "./mcp/messages.ts";
import { anArk, ARK_PATH, BINDINGS, MODEL } from "./submitted.ts";

useClock();

/** Texts of the offers of others and of the operator's configuration, of which an account must read none. */
const SECRETS =
  /43210|secret-offer|secret-title|secret-model|secret-pool|secret-tag|victim|\bfal\b|FAL_KEY|newapi|replicate/i;
const BODY = { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] };
const PRICE = { credits: 43_210 };

/** Returns a relay at which the attacker may submit one model at Ark, and the victim much more. */
async function anAttack() {
  const [attacker, victim] = [await anAccount(100), await anAccount()];
  const { key } = await aKey(attacker);
  const OFFERS = JSON.stringify([
    {
      name: "mine",
      connection: "ark",
      path: ARK_PATH,
      models: [MODEL],
      body: BODY,
      price: { credits: 60 },
    },
    {
      name: "secret-offer",
      title: "secret-title",
      accounts: [victim],
      connection: "ark",
      path: ARK_PATH,
      models: [MODEL],
      body: BODY,
      tool: "mine",
      price: PRICE,
    },
    {
      name: "secret-offer-2",
      accounts: ["tag:secret-tag"],
      connection: "ark",
      models: ["secret-model"],
      price: PRICE,
    },
    {
      name: "secret-offer-3",
      accounts: [victim],
      connection: "fal",
      path: "/fal-ai/secret-model",
      models: ["fal-ai/secret-model"],
      body: BODY,
      uploads: true,
    },
  ]);
  const bindings = { ...BINDINGS, OFFERS };
  const send = async (path: string, message: Message = {}) => {
    const headers = { "Idempotency-Key": crypto.randomUUID(), ...message.headers };
    const response = await callWith(bindings, path, { key, ...message, headers });
    return { status: response.status, text: await response.text() };
  };
  return { bindings, key, send };
}

/** Returns an answer without the name for which the caller has asked, so that answers about two names can be compared. */
function unnamed(
  { status, text }: { readonly status: number; readonly text: string },
  name: string,
) {
  return { status, text: text.replaceAll(name, "NAME") };
}

const JOB = { body: { prompt: "a fox" } };

it.each<[string, (name: string) => string, Message]>([
  ["GET /v1/offers/{name}", (name) => `/v1/offers/${name}`, {}],
  ["POST /v1/submit/{offer}", (name) => `/v1/submit/${name}`, JOB],
  ["POST /v1/submit/{offer} with a faulty body", (name) => `/v1/submit/${name}`, { body: "{" }],
  [
    "POST /v1/submit/{offer} with a faulty header",
    (name) => `/v1/submit/${name}`,
    { ...JOB, headers: { "Relay-Metadata": "{" } },
  ],
  ["PUT /v1/offers/{name}", (name) => `/v1/offers/${name}`, { method: "PUT", body: {} }],
  [
    "PUT /v1/offers/{name}?dry_run=true",
    (name) => `/v1/offers/${name}?dry_run=true`,
    { method: "PUT", body: {} },
  ],
  ["DELETE /v1/offers/{name}", (name) => `/v1/offers/${name}`, { method: "DELETE" }],
  ["GET /v1/offers/{name}/versions", (name) => `/v1/offers/${name}/versions`, {}],
  [
    "restoring a version",
    (name) => `/v1/offers/${name}/versions/1/restore`,
    { method: "POST", body: {} },
  ],
])(
  "%s answers an account about an offer for others exactly as about an offer that does not exist",
  async (_, pathOf, message) => {
    const { send } = await anAttack();
    const nobody = unnamed(await send(pathOf("nobody"), message), "nobody");
    for (const name of ["secret-offer", "secret-offer-2", "secret-offer-3"]) {
      const answer = await send(pathOf(name), message);
      expect(unnamed(answer, name)).toEqual(nobody);
    }
    expect(nobody.status).toBeGreaterThanOrEqual(400);
  },
);

it.each<[string, (name: string) => string, Message]>([
  ["a submission", (name) => `/v1/submit/${name}/fal-ai/secret-model`, JOB],
  ["a submission at a path that starts no job", (name) => `/v1/submit/${name}/v1/none`, JOB],
  [
    "a submission with a key of the customer",
    (name) => `/v1/submit/${name}/fal-ai/secret-model`,
    { ...JOB, headers: { Authorization: "Key abcdefghijklmnop" } },
  ],
  ["a submission by the name of the connection alone", (name) => `/v1/submit/${name}`, JOB],
  ["a read of a job", (name) => `/v1/submit/${name}/fal-ai/x/requests/1/status`, {}],
  ["a read of something else", (name) => `/v1/submit/${name}/v1/none`, {}],
  ["a cancellation", (name) => `/v1/submit/${name}/fal-ai/x/requests/1/cancel`, { method: "PUT" }],
  ["a deletion", (name) => `/v1/submit/${name}/v1/none/1`, { method: "DELETE" }],
  ["an upload", (name) => `/v1/submit/${name}/v1/files`, { method: "POST", body: "file" }],
  [
    "an upload of fal",
    (name) => `/v1/submit/${name}/storage/upload/initiate`,
    { method: "POST", body: "{}" },
  ],
])(
  "%s at a connection with offers for others alone, or with none, is answered as at one that does not exist",
  async (_, pathOf, message) => {
    anArk();
    const { key, send } = await anAttack();
    const headers =
      message.headers === undefined ? {} : { headers: { ...message.headers, "Relay-Key": key } };
    const asked = { ...message, ...headers };
    const nobody = unnamed(await send(pathOf("nobody"), asked), "nobody");
    expect(nobody.status).toBe(404);
    for (const name of ["fal", "replicate", "newapi", "openai-videos", "sandbox"]) {
      expect([name, unnamed(await send(pathOf(name), asked), name)]).toEqual([name, nobody]);
    }
  },
);

it("the list of offers, the tools of MCP and the refusals at a connection of its own tell an account nothing of the offers for others", async () => {
  anArk();
  const { bindings, key, send } = await anAttack();
  const list = await send("/v1/offers");
  expect(list.text).toContain('"mine"');
  const tools = await ask("tools/list", {}, { bindings, key });
  const refusals = [
    await send(`/v1/submit/ark${ARK_PATH}`, { body: { model: "other" } }),
    await send("/v1/submit/ark/v1/nowhere", { body: { model: MODEL } }),
    await send("/v1/submit/ark/v1/files", { method: "POST", body: "file" }),
    await send("/v1/offers?disabled=true"),
    await send("/v1/accounts"),
    await send("/healthz"),
  ];
  const texts = [list, ...refusals].map(({ text }) => text);
  for (const text of [...texts, JSON.stringify(tools)]) expect(text).not.toMatch(SECRETS);
});

it("a call of a tool of MCP that is only for others is answered as for a tool that does not exist", async () => {
  const { bindings, key } = await anAttack();
  const answers = await Promise.all(
    ["secret-offer-3", "nobody"].map(async (name) => {
      const { status, error } = await ask("tools/call", { name, arguments: {} }, { bindings, key });
      return unnamed({ status, text: JSON.stringify(error) }, name);
    }),
  );
  expect(answers[0]).toEqual(answers[1]);
});

it("an account pays and is refused by its own price alone, whatever others pay for the same tool", async () => {
  anArk();
  const { bindings, key, send } = await anAttack();
  const text = textOf(await callTool("mine", {}, { bindings, key }));
  expect(text).toContain("/prompt");
  const first = await send("/v1/submit/mine", JOB);
  expect(first.status).toBe(202);
  const poor = await send("/v1/submit/mine", JOB);
  expect(poor.status).toBe(402);
  expect(JSON.parse(poor.text)).toMatchObject({ balance: 40, price: 60 });
  expect(`${first.text}${poor.text}`).not.toMatch(SECRETS);
});

it("the refusal of a large body, which is made before the offer is chosen, does not tell an account the lower price of the general offer", async () => {
  const account = await anAccount(3);
  const { key } = await aKey(account);
  const offer = { connection: "ark", path: ARK_PATH, models: [MODEL] };
  const OFFERS = JSON.stringify([
    { ...offer, price: { credits: 777 } },
    { ...offer, accounts: [account], price: { credits: 888 } },
  ]);
  const response = await callWith({ ...BINDINGS, OFFERS }, `/v1/submit/ark${ARK_PATH}`, {
    key,
    headers: { "Idempotency-Key": crypto.randomUUID() },
    body: { model: MODEL, content: [{ type: "text", text: "a".repeat(100_000) }] },
  });
  expect(response.status).toBe(402);
  expect(await response.text()).not.toMatch(/777/);
});

it("a task that an account reads names neither the offer, nor its version, nor the connection", async () => {
  anArk();
  const { send } = await anAttack();
  const { id }: { id: string } = JSON.parse((await send("/v1/submit/mine", JOB)).text);
  const { text } = await send(`/v1/tasks/${id}`);
  expect(text).not.toMatch(/mine|offer|version|"ark"|provider/);
});

it("no route of offers that changes or lists versions of them is open to a key of an account", () => {
  const open = ROUTES.filter(({ path }) => path.startsWith("/v1/offers"))
    .filter(({ access }) => access === "read" || access === "submit")
    .map(({ method, path }) => `${method} ${path}`);
  expect(open).toEqual(["GET /v1/offers", "GET /v1/offers/{name}"]);
});
