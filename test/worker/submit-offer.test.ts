import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount, balanceOf, booksOf } from "./accounts.ts";
import { aRequest, answerTo, callWith, invalid, type Message, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { answering } from "./outside.ts";
import { anArk, ARK_PATH, BINDINGS, MODEL, readSubmitted, sentToArk } from "./submitted.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const PRICE = 60;
const OFFER = {
  name: "video",
  connection: "ark",
  path: ARK_PATH,
  models: [MODEL],
  limits: { "/duration": { max: 10 } },
  price: { credits: PRICE },
  body: {
    type: "object",
    properties: {
      content: { type: "array", items: { type: "object", additionalProperties: true } },
      duration: { type: "integer", minimum: 1, maximum: 12, default: 5 },
    },
    required: ["content"],
  },
};
const ARGUMENTS = { content: [{ type: "text", text: "a fox" }] };
const Started = z.looseObject({ id: z.string(), status: z.string(), model: z.string() });

/** Returns a customer with this balance, who submits by offers. */
async function aCustomer({
  credits = 100,
  role = "full",
  offersFor = (): readonly object[] => [OFFER],
}: {
  credits?: number;
  role?: string;
  offersFor?: (account: string) => readonly object[];
} = {}) {
  const account = await anAccount(credits);
  const { key } = await aKey(account, role);
  const bindings = { ...BINDINGS, OFFERS: JSON.stringify(offersFor(account)) };
  const submit = ({ headers, ...message }: Message = {}, name = "video") =>
    callWith(bindings, `/v1/submit/${name}`, {
      key,
      body: ARGUMENTS,
      ...message,
      headers: { "Idempotency-Key": crypto.randomUUID(), ...headers },
    });
  return { account, key, bindings, submit };
}

it("POST /v1/submit/{offer} submits the job once, with the model of the offer and the defaults of its schema, charges the account, and answers 202 with the task", async () => {
  const outside = anArk();
  const { account, key, bindings, submit } = await aCustomer();
  const headers = { "Relay-Callback-Url": CALLBACK_URL, "Relay-Metadata": '{"order":"7"}' };
  const response = await submit({ headers });
  expect(response.status).toBe(202);
  const { id, ...task } = Started.parse(await response.json());
  expect(task).toMatchObject({ status: "pending", model: MODEL, metadata: { order: "7" } });
  expect(response.headers.get("Location")).toBe(`/v1/tasks/${id}`);
  expect(response.headers.get("Relay-Task-Id")).toBe(id);
  expect(response.headers.get("Relay-Status-Url")).toContain(id);
  expect(response.headers.has("Preference-Applied")).toBe(false);
  expect(JSON.parse(sentToArk(outside).body)).toMatchObject({
    ...ARGUMENTS,
    model: MODEL,
    duration: 5,
  });
  expect(sentToArk(outside).headers["authorization"]).toBe("Bearer test-only-ark-key");
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`]);
  const read = await callWith(bindings, `/v1/tasks/${id}`, { key });
  expect(await read.json()).toMatchObject({ id, callback: { url: CALLBACK_URL } });
});

it("a submission by an offer that is repeated under its Idempotency-Key gets the same task, and charges and sends nothing again", async () => {
  const outside = anArk();
  const { account, submit } = await aCustomer();
  const headers = { "Idempotency-Key": "order-7" };
  const first = Started.parse(await (await submit({ headers })).json());
  const again = await submit({ headers });
  expect(again.headers.get("Idempotent-Replayed")).toBe("true");
  expect(Started.parse(await again.json()).id).toBe(first.id);
  expect(outside.sentTo("https://ark")).toHaveLength(1);
  expect(await balanceOf(account)).toBe(100 - PRICE);
  const other = { ...ARGUMENTS, duration: 7 };
  expect(await refusal(await submit({ headers, body: other }))).toEqual({
    status: 422,
    code: "idempotency_key_reused",
  });
});

it("with Prefer: respond-async the relay makes the call of an offer itself, and answers at once that it does", async () => {
  anArk();
  const { bindings, submit } = await aCustomer();
  const response = await submit({ headers: { Prefer: "respond-async" } });
  expect(response.status).toBe(202);
  expect(response.headers.get("Preference-Applied")).toBe("respond-async");
  const { id } = Started.parse(await response.json());
  expect(await readSubmitted(id, bindings)).toMatchObject({ submission: { state: "queued" } });
});

it.each<[string, unknown, string]>([
  ["a member that the schema does not name", { ...ARGUMENTS, model: "other" }, "/model"],
  ["no member that the schema demands", {}, "/content"],
  ["a value outside the schema", { ...ARGUMENTS, duration: 13 }, "/duration"],
  ["no object", [], ""],
])(
  "a submission by an offer with %s gets 400 with the place of the fault, and nothing is sent or charged",
  async (_, body, path) => {
    const outside = anArk();
    const { account, submit } = await aCustomer();
    expect(await refusal(await submit({ body }))).toEqual(invalid(path));
    expect(outside.sentTo("https://ark")).toEqual([]);
    expect(await balanceOf(account)).toBe(100);
  },
);

it.each<[string, Message, object]>([
  ["a body that is not JSON", { body: "{" }, { status: 400, code: "invalid_json", paths: [""] }],
  [
    "a value outside the limits",
    { body: { ...ARGUMENTS, duration: 11 } },
    { status: 403, code: "forbidden" },
  ],
  ["a parameter in the query", { headers: {} }, invalid("/seed")],
  ["a customer's own key", { headers: { "Relay-Key": "k".repeat(20) } }, invalid("/Relay-Key")],
  [
    "an account of its own choice",
    { headers: { "Relay-Account": "acme" } },
    { status: 403, code: "forbidden" },
  ],
  ["an unknown Relay- header", { headers: { "Relay-Colour": "red" } }, invalid("/relay-colour")],
])(
  "a submission by an offer with %s is refused, and nothing is sent",
  async (name, message, expected) => {
    const outside = anArk();
    const { submit } = await aCustomer();
    const query = name === "a parameter in the query" ? "?seed=1" : "";
    expect(await refusal(await submit(message, `video${query}`))).toEqual(expected);
    expect(outside.sentTo("https://ark")).toEqual([]);
  },
);

it("a submission by an offer with a price needs an Idempotency-Key", async () => {
  anArk();
  const { key, bindings } = await aCustomer();
  const request = aRequest("/v1/submit/video", { key, body: ARGUMENTS });
  expect(await refusal(await answerTo(request, bindings))).toEqual(invalid("/Idempotency-Key"));
});

it("an account without enough credits gets 402 with its price, and a key that only reads gets 403", async () => {
  const outside = anArk();
  const poor = await aCustomer({ credits: 59 });
  const response = await poor.submit();
  expect(response.status).toBe(402);
  expect(await response.json()).toMatchObject({ balance: 59, price: PRICE });
  const reader = await aCustomer({ role: "read" });
  expect((await reader.submit()).status).toBe(403);
  expect(outside.sentTo("https://ark")).toEqual([]);
});

it("when the upstream refuses a job of an offer, its answer is passed on, the task is gone and the price is back", async () => {
  anArk(answering({ error: { code: "InvalidParameter", message: "no foxes" } }, 400));
  const { account, key, bindings, submit } = await aCustomer();
  const response = await submit();
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { message: "no foxes" } });
  const id = response.headers.get("Relay-Task-Id");
  expect((await callWith(bindings, `/v1/tasks/${id}`, { key })).status).toBe(404);
  await expect.poll(() => balanceOf(account)).toBe(100);
});

it("when the upstream's answer to a job of an offer is lost, the client gets 424 with the task, also when it repeats the submission", async () => {
  const outside = anArk(() => {
    throw new Error("connection reset");
  });
  const { submit } = await aCustomer();
  const headers = { "Idempotency-Key": "order-8" };
  for (let i = 0; i < 2; i++) {
    const response = await submit({ headers });
    expect(response.status).toBe(424);
    expect(await response.json()).toMatchObject({ code: "submit_unknown", task: { model: MODEL } });
  }
  expect(outside.sentTo("https://ark")).toHaveLength(1);
});

it("after an account has got an offer of its own, the name of the general offer submits its jobs at its own price", async () => {
  anArk();
  const special = { ...OFFER, name: "special", price: { credits: 45 } };
  const { account, submit } = await aCustomer({
    offersFor: (id) => [OFFER, { ...special, accounts: [id] }],
  });
  expect((await submit()).status).toBe(202);
  expect((await submit({}, "special")).status).toBe(202);
  expect(await booksOf(account)).toEqual(["grant 100", "charge 45", "charge 45"]);
});

it("a body of an offer may have MAX_SUBMIT_MB, as that of an upstream's own call", async () => {
  const outside = anArk();
  const { submit } = await aCustomer();
  const image = { type: "image_url", url: `data:image/png;base64,${"A".repeat(1_000_000)}` };
  expect((await submit({ body: { content: [image] } })).status).toBe(202);
  expect(sentToArk(outside).body.length).toBeGreaterThan(1_000_000);
  const large = { content: [{ text: "a".repeat(20 * 1024 * 1024) }] };
  expect((await submit({ body: large })).status).toBe(413);
});

it("an operator submits by every offer, for the account and at the price that its headers state", async () => {
  anArk();
  const { account, submit, bindings } = await aCustomer({
    offersFor: () => [{ ...OFFER, accounts: ["somebody-else"] }],
  });
  const headers = { "Relay-Account": account, "Relay-Credits": "5" };
  const response = await callWith(bindings, "/v1/submit/video", {
    body: ARGUMENTS,
    headers: { ...headers, "Idempotency-Key": "order-9" },
  });
  expect(response.status).toBe(202);
  expect(await booksOf(account)).toEqual(["grant 100", "charge 5"]);
  expect((await submit()).status).toBe(404);
});
