import { expect, it } from "vitest";
import * as z from "zod";
import { aKey, anAccount, balanceOf, booksOf, breakLedger } from "./accounts.ts";
import { useClock } from "./clock.ts";
import { logIn, visit } from "./browser.ts";
import { OPERATOR_NAME, refusal } from "./client.ts";
import { NOTHING, stored, untilIdle, wake } from "./objects.ts";
import { answering } from "./outside.ts";
import { aRateLimit, LIMITED } from "./rate-limits.ts";
import {
  anArk,
  ARK,
  ARK_PATH,
  BINDINGS,
  BODY,
  JOB,
  named,
  readSubmitted,
  sentToArk,
  submit,
} from "./submitted.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const PRICE = 60;
const OFFERS = JSON.stringify([
  {
    connection: "ark",
    models: ["doubao-seedance-*"],
    limits: { "/duration": { max: 10, optional: true } },
    price: { credits: PRICE },
  },
]);
const OFFERED = { ...BINDINGS, OFFERS };

/** Submits as an account with this balance. */
async function asAccount(credits: number, submission: Parameters<typeof submit>[0] = {}) {
  const account = await anAccount(credits);
  const { key } = await aKey(account);
  const headers = { "Idempotency-Key": crypto.randomUUID(), ...submission.headers };
  const response = await submit({ bindings: OFFERED, key, ...submission, headers });
  return { account, key, headers, response };
}

const idIn = (response: Response) => response.headers.get("Relay-Task-Id") ?? "";

it("an account may submit what OFFERS lists, and is charged the price in OFFERS before the call is sent to the upstream", async () => {
  const books: (readonly string[])[] = [];
  const account = await anAccount(100);
  const { key } = await aKey(account);
  anArk(async () => {
    books.push(await booksOf(account));
    return Response.json({ id: JOB });
  });
  const headers = { "Idempotency-Key": "order-1", "Relay-Callback-Url": CALLBACK_URL };
  const response = await submit({ bindings: OFFERED, key, headers });
  expect(response.status).toBe(200);
  expect(books).toEqual([["grant 100", `charge ${PRICE}`]]);
  expect(await readSubmitted(idIn(response), OFFERED)).toMatchObject({
    account,
    credits: { amount: PRICE, state: "charged" },
  });
});

it("the console's ledger names the account's key that has submitted a job as its list of keys does, to the operator and to the account", async () => {
  anArk();
  const { account, key } = await asAccount(100);
  for (const viewer of [undefined, key]) {
    const cookie = await logIn(viewer, OFFERED);
    const html = await (await visit(`/accounts/${account}`, cookie, {}, OFFERED)).text();
    const [, prefix = "none"] = /id="key-[^>]*>.*?<code>([^<]*)…/s.exec(html) ?? [];
    expect(key.startsWith(prefix)).toBe(true);
    const [charge = ""] = /<tr id="entry-2".*?<\/tr>/s.exec(html) ?? [];
    expect(charge).toContain(`<code>${prefix}…</code>`);
    const [granted = ""] = /<tr id="entry-1".*?<\/tr>/s.exec(html) ?? [];
    expect(granted.includes(OPERATOR_NAME)).toBe(viewer === undefined);
  }
});

it.each(["nobody", "sandbox"])(
  "an account that submits to the unknown connection %s is not told which connections there are or what is configured",
  async (name) => {
    const { response } = await asAccount(0, {
      path: `/v1/submit/${name}/jobs`,
      bindings: { ...OFFERED, SANDBOX: "false" },
    });
    expect(await response.json()).toMatchObject({
      status: 404,
      detail: `There is no connection "${name}".`,
    });
  },
);

it("a submission of an account that has too few credits gets 402, and nothing is sent", async () => {
  const outside = anArk();
  const { response, account } = await asAccount(PRICE - 1);
  expect(await refusal(response)).toEqual({ status: 402, code: "insufficient_credits" });
  expect([outside.sentTo(ARK), await balanceOf(account)]).toEqual([[], PRICE - 1]);
});

it.each([
  ["a model that no offer names", BODY.replace("doubao-seedance", "another"), /model/],
  ["a member beyond its limit", BODY.replace('"seed"', '"duration": 11, "seed"'), /\/duration/],
  [
    "the number of frames, which the provider prefers to the duration",
    BODY.replace('"seed"', '"frames": 2000, "seed"'),
    /\/frames/,
  ],
  [
    "a duration of -1, with which the model chooses",
    BODY.replace('"seed"', '"duration": -1, "seed"'),
    /\/duration must be a number from 0 to 10/,
  ],
  [
    "a member in other letter case than the limited one",
    BODY.replace('"seed"', '"Duration": 5, "seed"'),
    /case/,
  ],
  [
    "a parameter within its prompt",
    BODY.replace("a fox", "a fox --duration 60"),
    /--duration|text/,
  ],
])(
  "an account that submits %s gets 403 with this as the reason, and nothing is sent or charged",
  async (_, body, named_) => {
    const outside = anArk();
    const { response, account } = await asAccount(100, { body });
    expect(await response.clone().json()).toMatchObject({ detail: expect.stringMatching(named_) });
    expect(await refusal(response)).toEqual({ status: 403, code: "forbidden" });
    expect([outside.sentTo(ARK), await balanceOf(account)]).toEqual([[], 100]);
  },
);

it("when an upstream's response repeats an account's request, the account gets it, also at a repeat, without the token of the hook URL and the relay's key", async () => {
  const seen: string[] = [];
  anArk(({ body, headers: { authorization } }) => {
    const request = z.looseObject({ callback_url: z.string() }).parse(JSON.parse(body));
    seen.push(request.callback_url);
    return Response.json({ id: JOB, request, key: authorization });
  });
  const { key, headers, response } = await asAccount(100);
  const again = await submit({ bindings: OFFERED, key, headers });
  const token = seen[0]?.split("/").at(-1) ?? "";
  expect(token).toMatch(/^[\w-]+\.[\w-]+$/);
  for (const answer of [response, again]) {
    const text = await answer.text();
    expect([text.includes(token), text.includes(BINDINGS.ARK_API_KEY)]).toEqual([false, false]);
    expect(JSON.parse(text)).toMatchObject({ id: JOB, key: "Bearer …" });
  }
  expect(seen).toHaveLength(1);
});

it.each([
  ["the escapes of JSON", (key: string) => key.replace("t", "\\u0074").replaceAll("/", "\\/")],
  ["percent signs", encodeURIComponent],
  ["base64", (key: string) => btoa(`user:${key}`)],
])(
  "the relay's key for the upstream is removed from the upstream's response to an account, even where the key is written with %s",
  async (_, spelled) => {
    const key = "test/only+ark=key";
    anArk(() => new Response(`{"id": "${JOB}", "seen": "a ${spelled(key)}"}`));
    const { response } = await asAccount(100, { bindings: { ...OFFERED, ARK_API_KEY: key } });
    const { id, seen } = z
      .object({ id: z.string(), seen: z.string() })
      .parse(await response.json());
    expect([id, seen]).toEqual([JOB, expect.stringMatching(/^a .{0,8}….{0,4}$/)]);
  },
);

it("an account gets every word of an upstream's response, even one that equals the relay's key for the upstream, if the key has less than 8 characters", async () => {
  const body = { id: JOB, status: "none", error: null, note: "none of them" };
  anArk(answering(body));
  const bindings = { ...OFFERED, ARK_API_KEY: "none" };
  const { key, headers, response } = await asAccount(100, { bindings });
  const again = await submit({ bindings, key, headers });
  expect([await response.json(), await again.json()]).toEqual([body, body]);
});

it("when an account submits to a path that starts no job, the response names the paths in OFFERS and nothing about the operator's files", async () => {
  anArk();
  const offer = { connection: "ark", models: ["*"] };
  const path = "/v1/submit/ark/models";
  const refused = async (...offers: readonly object[]) => {
    const bindings = { ...BINDINGS, OFFERS: JSON.stringify(offers) };
    const { response } = await asAccount(0, { bindings, path });
    expect(response.status).toBe(404);
    return z.object({ detail: z.string() }).parse(await response.json()).detail;
  };
  const one = await refused({ ...offer, path: ARK_PATH }, { ...offer, path: ARK_PATH });
  expect(one).toMatch(new RegExp(`Offered to you: ${ARK_PATH}\\.$`));
  const any = await refused(offer);
  expect(any).toMatch(/The documentation of the upstream has the paths that do\.$/);
  expect(one + any).not.toMatch(/repository|\.md/);
});

it("of the headers of an account's submission, the upstream gets only those that cannot ask for anything that OFFERS limits", async () => {
  const outside = anArk();
  const passed = {
    accept: "application/json",
    "accept-language": "de",
    prefer: "wait",
    "user-agent": "sdk/1",
    "x-stainless-lang": "js",
    traceparent: "00-1-2-01",
    "x-dashscope-ossresourceresolve": "enable",
  };
  const kept = {
    "X-Fal-Queue-Priority": "normal",
    "Cancel-After": "1m",
    "X-Trace": "1",
    "X-DashScope-WorkSpace": "w1",
  };
  const { response } = await asAccount(100, { headers: { ...passed, ...kept } });
  expect(response.status).toBe(200);
  expect(sentToArk(outside).headers).toEqual({
    ...passed,
    authorization: "Bearer test-only-ark-key",
    "content-type": "application/json",
  });
});

it("an account's submission is refused when its query has any parameter except the hook URL and those that OFFERS limits; the refusal names it", async () => {
  const outside = anArk();
  outside.on("https://queue.fal.run", answering({ request_id: "req-1" }));
  const limits = { "?seed": { max: 9, optional: true } };
  const OFFERS_OF_FAL = JSON.stringify([{ connection: "fal", models: ["*"], limits }]);
  const bindings = { ...BINDINGS, OFFERS: OFFERS_OF_FAL };
  const path = `/v1/submit/fal/fal-ai/veo3?seed=1&fal_webhook=${encodeURIComponent(CALLBACK_URL)}`;
  const { response } = await asAccount(0, { bindings, path, body: "{}" });
  expect(response.status).toBe(200);
  const refused = await asAccount(0, { bindings, path: `${path}&fast=1`, body: "{}" });
  expect(await refused.response.clone().json()).toMatchObject({
    detail: expect.stringContaining("?fast"),
  });
  expect(await refusal(refused.response)).toEqual({ status: 403, code: "forbidden" });
  expect(outside.sentTo("https://queue.fal.run")).toHaveLength(1);
});

it.each(["Relay-Task-Id", "Relay-Account", "Relay-Credits", "Relay-Deadline-At"])(
  "an account's submission with the header %s is refused, and the refusal names this header",
  async (name) => {
    anArk();
    const { response } = await asAccount(100, { headers: { [name]: "1" } });
    expect(await response.clone().json()).toMatchObject({ detail: expect.stringContaining(name) });
    expect(await refusal(response)).toEqual({ status: 403, code: "forbidden" });
  },
);

it("when the upstream refuses an account's submission, the price is returned before the account gets the response, and the task is erased", async () => {
  anArk(answering({ error: "bad" }, 400));
  const { response, account } = await asAccount(100);
  expect([response.status, await balanceOf(account)]).toEqual([400, 100]);
  expect(await booksOf(account)).toEqual(["grant 100", `charge ${PRICE}`, `refund ${PRICE}`]);
  expect(await stored(idIn(response))).toEqual(NOTHING);
});

it("when the ledger does not confirm the refund of a refused submission at once, the task's alarm asks for it again", async () => {
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const broken: (() => void)[] = [];
  anArk(async () => {
    broken.push(await breakLedger(account));
    return Response.json({}, { status: 400 });
  });
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const response = await submit({ bindings: OFFERED, key, headers });
  expect(response.status).toBe(400);
  for (const mend of broken) mend();
  expect(await balanceOf(account)).toBe(100 - PRICE);
  const id = idIn(response);
  expect((await submit({ bindings: OFFERED, key, headers })).status).toBe(503);
  await wake(id, 6_000);
  expect([await balanceOf(account), await stored(id)]).toEqual([100, NOTHING]);
});

it("when the task of a submission with an unknown outcome fails, its price is returned, and then its callback is sent", async () => {
  const outside = anArk(answering("", 502));
  const { response, account } = await asAccount(100, {
    headers: { "Relay-Callback-Url": CALLBACK_URL },
  });
  expect(response.status).toBe(424);
  const { task } = await response.json<{ task: { id: string } }>();
  expect(await balanceOf(account)).toBe(100 - PRICE);
  await wake(task.id, 3_600_000);
  await untilIdle(task.id);
  expect([await balanceOf(account), outside.sentTo(CALLBACK_URL).length]).toEqual([100, 1]);
});

it.each([
  ["accepted", answering({ id: JOB }), 200],
  ["unknown", answering("", 502), 424],
])(
  "a repeat of a submission whose outcome was %s gets the same response after the price in OFFERS has changed, and the account pays only the first price",
  async (_, site, status) => {
    const outside = anArk(site);
    const { response, account, key, headers } = await asAccount(200);
    expect(response.status).toBe(status);
    for (const price of [{ credits: 2 * PRICE }, null]) {
      const [offer] = JSON.parse(OFFERS);
      const bindings = { ...BINDINGS, OFFERS: JSON.stringify([{ ...offer, price }]) };
      const again = await submit({ bindings, key, headers });
      expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([status, "true"]);
    }
    expect([outside.sentTo(ARK).length, await balanceOf(account)]).toEqual([1, 200 - PRICE]);
  },
);

it("submissions of two accounts with the same Idempotency-Key create one task for each account", async () => {
  const outside = anArk();
  const key = { "Idempotency-Key": "order-1" };
  const first = await asAccount(100, { headers: key });
  const second = await asAccount(100, { headers: key });
  expect(idIn(first.response)).not.toBe(idIn(second.response));
  expect(outside.sentTo(ARK)).toHaveLength(2);
});

it("when the ledger does not answer the charge of an account's submission, the submission gets 503, is never sent, and costs nothing in the end", async () => {
  const outside = anArk();
  const account = await anAccount(100);
  const { key } = await aKey(account);
  const mend = await breakLedger(account);
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const response = await submit({ bindings: OFFERED, key, headers });
  expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
  mend();
  expect([outside.sentTo(ARK), await balanceOf(account)]).toEqual([[], 100]);
});

it("an operator may charge any account for a submission that has a Relay-Task-Id or an Idempotency-Key", async () => {
  anArk();
  const account = await anAccount(100);
  const { headers } = named({ "Relay-Account": account, "Relay-Credits": "7" });
  expect((await submit({ headers })).status).toBe(200);
  expect(await balanceOf(account)).toBe(93);
  const nameless = { "Relay-Account": account, "Relay-Credits": "7" };
  expect(await refusal(await submit({ headers: nameless }))).toMatchObject({
    status: 400,
    paths: ["/Idempotency-Key"],
  });
});

it("LIMIT_SUBMITS counts the submissions of an account, and not those of operators", async () => {
  anArk();
  const bindings = { ...OFFERED, LIMIT_SUBMITS: aRateLimit(1) };
  const { key } = await asAccount(200, { bindings });
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  expect(await refusal(await submit({ bindings, key, headers }))).toEqual(LIMITED);
  expect((await submit({ bindings })).status).toBe(200);
  expect((await submit({ bindings })).status).toBe(200);
});
