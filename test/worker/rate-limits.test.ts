import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import { PAGES } from "../../src/console/console-pages.ts";
import { isForAccounts } from "../../src/security/roles.ts";
import { aKey, anAccount } from "./accounts.ts";
import { logIn, submit, visit } from "./browser.ts";
import { answerTo, aRequest, callWith, type Message, refusal } from "./client.ts";
import { pass, useClock } from "./clock.ts";
import { loggedBy } from "./logged.ts";
import { aRateLimit, LIMITED, sendFrom } from "./rate-limits.ts";
import { answerFrom, started } from "./started.ts";

useClock();

const MINUTE_MS = 60_000;

const limitedRoutes = ROUTES.flatMap(({ method, path, rateLimit }) =>
  rateLimit === undefined ? [] : [{ method, path, rateLimit }],
);

/** Returns an IPv4 address that no other test uses. */
function anAddress(): string {
  const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint8Array(3));
  return `10.${a}.${b}.${c}`;
}

it.each(limitedRoutes)(
  "once an account has reached $rateLimit, $method $path answers the account with 429 and Retry-After, but not other accounts and the operator",
  async ({ method, path, rateLimit }) => {
    const bindings = { ...env, [rateLimit]: aRateLimit(2) };
    const account = await anAccount();
    const { key } = await aKey(account);
    const stranger = await aKey(await anAccount());
    const asked = path.replace("{account}", account).replace("{id}", crypto.randomUUID());
    const send = (by: Message) => callWith(bindings, asked, { method, ...by });
    const statuses: number[] = [];
    for (const by of [{ key }, { key }, {}, {}, {}, { key: stranger.key }]) {
      statuses.push((await send(by)).status);
    }
    expect(statuses).not.toContain(429);
    const refused = await send({ key });
    expect(refused.headers.get("Retry-After")).toBe("60");
    expect(await refusal(refused)).toEqual(LIMITED);
  },
);

it("RATE_LIMITS limits requests of each account within a minute where no rate limit is bound, and not those that a binding counts", async () => {
  const limited = {
    ...env,
    RATE_LIMITS: "LIMIT_LISTS=2 LIMIT_TESTS=1",
    LIMIT_TESTS: aRateLimit(2),
  };
  const bindings = await started(limited);
  const [{ key }, other] = [await aKey(await anAccount()), await aKey(await anAccount())];
  const statusOf = async (path: string, message: Message) =>
    (await answerFrom(bindings, aRequest(path, message))).status;
  const listed = async (by: string) => statusOf("/v1/offers", { key: by });
  expect([await listed(key), await listed(key), await listed(key)]).toEqual([200, 200, 429]);
  expect(await listed(other.key)).toBe(200);
  pass(MINUTE_MS + 1);
  expect(await listed(key)).toBe(200);
  const tested = () => statusOf("/v1/callbacks/test", { key, body: {} });
  expect([await tested(), await tested(), await tested()]).toEqual([400, 400, 429]);
});

it("beyond LIMIT_LISTS an account gets 429 for the console's front page and for redelivering or verifying a callback; the operator does not", async () => {
  const bindings = { ...env, LIMIT_LISTS: aRateLimit(0) };
  const task = `/tasks/${crypto.randomUUID()}`;
  const statusesOf = async (cookie: string) => {
    const answers = await Promise.all([
      visit("/", cookie, {}, bindings),
      submit(`${task}/redeliver`, {}, cookie, {}, bindings),
      submit(`${task}/verify`, {}, cookie, {}, bindings),
    ]);
    return answers.map(({ status }) => status);
  };
  const account = await logIn((await aKey(await anAccount())).key);
  expect(await statusesOf(account)).toEqual([429, 429, 429]);
  expect(await statusesOf(await logIn())).toEqual([200, 404, 404]);
});

it("when LIMIT_LISTS stops an account's redelivery of many callbacks in the console, the redelivery continues a minute later with the task at which it stopped", async () => {
  const bindings = { ...env, LIMIT_LISTS: aRateLimit(0) };
  const run = { run: crypto.randomUUID(), pace: "10", total: "30", started: "10" };
  const cookie = await logIn((await aKey(await anAccount())).key);
  const step = `/redeliveries?${new URLSearchParams(run).toString()}`;
  const answer = await submit(step, {}, cookie, {}, bindings);
  const held = new URL(answer.headers.get("Location") ?? "", "https://relay.example.com");
  expect(Object.fromEntries(held.searchParams)).toEqual({ ...run, wait: "60" });
  expect((await submit(`${step}&done=1`, {}, cookie, {}, bindings)).status).toBe(429);
  const ended = { ...run, done: "1" };
  expect((await submit("/redeliveries", ended, cookie, {}, bindings)).status).toBe(429);
});

const forms = PAGES.filter(({ method, access }) => method === "POST" && access !== "anyone");

it.each(forms)(
  "once an account has reached all rate limits, the console refuses its POST to $path without reading the form, but still reads it from an operator",
  async ({ path, access }) => {
    const none = aRateLimit(0);
    const lists = { LIMIT_TESTS: none, LIMIT_BULK: none, LIMIT_LISTS: none };
    const bindings = { ...env, ...lists, LIMIT_SUBMITS: none };
    const sent = async (cookie: string) => {
      const headers = { Cookie: cookie, "Sec-Fetch-Site": "same-origin", Accept: "text/html" };
      const named = path
        .replace(/\{(?:id|key)\}/g, crypto.randomUUID())
        .replace(/\{\+?\w+\}/g, "a.example");
      const request = aRequest(named, { key: null, headers, body: "a=b" });
      const { status } = await answerTo(request, bindings);
      return { status, isRead: request.bodyUsed };
    };
    const account = await logIn((await aKey(await anAccount())).key);
    const isAllowed = access !== "anyone" && isForAccounts(access);
    expect(await sent(account)).toEqual({ status: isAllowed ? 429 : 403, isRead: false });
    expect(await sent(await logIn())).toMatchObject({ isRead: true });
  },
);

it("a console form with which an account redelivers a callback is counted once under LIMIT_LISTS", async () => {
  const limit = vi.fn(async () => ({ success: true }));
  const cookie = await logIn((await aKey(await anAccount())).key);
  const form = `/tasks/${crypto.randomUUID()}/redeliver`;
  const fields = { idempotency_key: crypto.randomUUID() };
  const answer = await submit(form, fields, cookie, {}, { ...env, LIMIT_LISTS: { limit } });
  expect(answer.status).toBe(404);
  expect(limit).toHaveBeenCalledTimes(1);
});

it("while LIMIT_REFUSALS refuses requests from an address, the log has one line a minute for the address, and none per request", async () => {
  const bindings = { ...env, LOG: "normal", LIMIT_REFUSALS: aRateLimit(0) };
  const [address, other] = [anAddress(), anAddress()];
  const sent = { path: "/hooks/ark/x/y", body: {}, key: null };
  const lines = await loggedBy(async () => {
    for (const from of [address, address, other, address]) await sendFrom(from, bindings, sent);
    pass(MINUTE_MS + 1);
    await sendFrom(address, bindings, sent);
  });
  const line = { event: "limit.reached", limit: "LIMIT_REFUSALS" };
  expect(lines).toEqual([address, other, address].map((each) => ({ ...line, address: each })));
});

it("while LIMIT_TESTS refuses requests of an account, the log has one line a minute for the account, and none per request", async () => {
  const bindings = { ...env, LOG: "normal", LIMIT_TESTS: aRateLimit(0) };
  const account = await anAccount();
  const { key } = await aKey(account);
  const lines = await loggedBy(async () => {
    for (const wait of [0, 0, MINUTE_MS + 1]) {
      pass(wait);
      await callWith(bindings, "/v1/callbacks/test", { body: {}, key });
    }
  });
  const line = { event: "limit.reached", limit: "LIMIT_TESTS", account };
  expect(lines).toEqual([line, line]);
});

it.each([
  ["fails", () => Promise.reject(new Error("away")), "Error: away"],
  ["does not answer", () => new Promise<never>(() => undefined), null],
])(
  "when the binding of a rate limit %s, no request is refused, and at most one log line a minute says that the binding failed",
  async (_, limit, error) => {
    const bindings = { ...env, LOG: "normal", LIMIT_REFUSALS: { limit } };
    const sent = { path: "/hooks/ark/x/y", body: {}, key: null };
    const statuses: number[] = [];
    const lines = await loggedBy(async () => {
      const answers = [sent, sent].map((each) => sendFrom(anAddress(), bindings, each));
      for (const answer of answers) statuses.push((await answer).status);
    });
    expect(statuses).toEqual([404, 404]);
    const line = { event: "call.unanswered", what: "LIMIT_REFUSALS", error };
    expect(lines).toEqual(error === null ? [] : [line]);
  },
);
