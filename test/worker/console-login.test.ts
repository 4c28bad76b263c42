import { runInDurableObject } from "cloudflare:test";
import { env } from "../../src/startup.ts";
import { expect, it, vi } from "vitest";
import { deploymentObject } from "../../src/objects/object-names.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/core/time.ts";
import { forgetKey } from "../../src/api/http/key-owner.ts";
import { sha256Hex } from "../../src/security/encoding.ts";
import { aKey, anAccount, anImportedKey } from "./accounts.ts";
import { cookieIn, HTML, logIn, outcome, submit, visit } from "./browser.ts";
import { call, callWith, OPERATOR_KEY, OPERATOR_NAME } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { aRateLimit } from "./rate-limits.ts";
import { holdTimers } from "./timers.ts";

useClock();

const TO_LOGIN = [303, "/login"];

it("a login with an operator key sets a cookie that is sent only to this host and only over HTTPS, and that no script can read", async () => {
  const response = await submit("/login", { key: ` ${OPERATOR_KEY}\n` });
  expect(outcome(response)).toEqual([303, "/"]);
  expect(response.headers.get("Set-Cookie")).toMatch(
    /^__Host-task-relay-session=[\w-]{22}\.\d{13}\.\d{13}\.[0-9a-f]{64}\.\.[\w-]{43}; Path=\/; Max-Age=3600; HttpOnly; Secure; SameSite=Strict$/,
  );
  expect(await (await visit("/", cookieIn(response))).text()).toContain(OPERATOR_NAME);
});

it("the log names the key and the account of a login to the console, but does not contain the key itself", async () => {
  const written = vi.spyOn(console, "log").mockImplementation(() => {});
  const account = await anAccount();
  const { key, name } = await aKey(account);
  await logIn();
  await logIn(key);
  const lines = written.mock.calls.map(([text]) => String(text)).join("\n");
  expect(lines).toContain(`{"event":"console.login","by":"${OPERATOR_NAME}","account":null`);
  expect(lines).toContain(`{"event":"console.login","by":"${name}","account":"${account}"`);
  expect(lines).not.toContain(key);
  expect(lines).not.toContain(OPERATOR_KEY);
});

it.each([
  ["http://localhost:8787", /^task-relay-session-8787=.*HttpOnly; SameSite=Strict$/],
  ["http://127.0.0.1", /^task-relay-session-80=.*HttpOnly; SameSite=Strict$/],
])(
  "the console's session cookie at %s has the port in its name and no attribute Secure",
  async (origin, cookie) => {
    const response = await submit(`${origin}/login`, { key: OPERATOR_KEY });
    expect(response.headers.get("Set-Cookie")).toMatch(cookie);
    expect((await visit(`${origin}/`, cookieIn(response))).status).toBe(200);
  },
);

it("a login to the console over http:// is refused, unless PUBLIC_URL, with https://, says that a proxy encrypts the connection", async () => {
  const key = OPERATOR_KEY;
  const url = "http://relay.example.com/login";
  const unknown = { ...env, PUBLIC_URL: "" };
  expect((await submit(url, { key }, null, {}, unknown)).status).toBe(403);
  expect((await submit(url, { key })).status).toBe(303);
});

it("a login with a wrong key gets 401 and no cookie, and 429 after too many wrong keys from one address", async () => {
  const bindings = { ...env, LIMIT_REFUSALS: aRateLimit(2) };
  const tries = [];
  for (const key of ["wrong", "trk_acme_1", ""]) {
    const response = await submit("/login", { key, return_to: "/tasks" }, null, {}, bindings);
    expect(response.headers.has("Set-Cookie")).toBe(false);
    tries.push(response.status);
  }
  expect(tries).toEqual([401, 401, 429]);
});

it("someone without a session who opens a console page is redirected to the login, and after it back to the page", async () => {
  expect(outcome(await visit("/"))).toEqual(TO_LOGIN);
  const login = await visit("/login?return_to=%2Ftasks%3Fa%3D%22%3Cb%3E");
  expect(await login.text()).toContain('value="/tasks?a=%22%3Cb%3E"');
});

it("a console session and its cookie end after an hour without use, and in any case exactly twelve hours after the login", async () => {
  const first = await logIn();
  pass(HOUR_MS - 1);
  const renewed = await visit("/", first);
  expect(renewed.status).toBe(200);
  pass(1);
  expect(outcome(await visit("/", first))).toEqual(TO_LOGIN);
  let cookie = cookieIn(renewed);
  for (let halfHours = 2; halfHours < 24; halfHours++) {
    const response = await visit("/", cookie);
    expect(response.status).toBe(200);
    const expiry = `Max-Age=${halfHours === 23 ? 1800 : 3600};`;
    // The first of these visits comes at the moment of the renewal before.
    if (halfHours > 2) expect(response.headers.get("Set-Cookie")).toContain(expiry);
    cookie = cookieIn(response) || cookie;
    pass(HOUR_MS / 2 - 1);
    expect((await visit("/", cookie)).status).toBe(200);
    pass(1);
  }
  expect(outcome(await visit("/", cookie))).toEqual(TO_LOGIN);
});

it("a visit to the console renews the session cookie for an hour if the login was at least five minutes ago, and otherwise not", async () => {
  const cookie = await logIn();
  pass(5 * MINUTE_MS - 1);
  expect((await visit("/", cookie)).headers.has("Set-Cookie")).toBe(false);
  pass(1);
  const { headers } = await visit("/", cookie);
  expect(headers.get("Set-Cookie")).toContain("Max-Age=3600;");
});

const CHANGED: readonly (readonly [string, (cookie: string) => string])[] = [
  ["a changed MAC", (cookie) => cookie.replace(/.$/, (end) => (end === "A" ? "E" : "A"))],
  ["a later time of the login", (cookie) => cookie.replace(/\.2/, ".3")],
  [
    "another session id",
    (cookie) => cookie.replace(/=./, (start) => (start === "=a" ? "=b" : "=a")),
  ],
  [
    "the hash of another key",
    (cookie) => cookie.replace(/\.[0-9a-f]{64}\./, `.${"a".repeat(64)}.`),
  ],
  ["an added account", (cookie) => cookie.replace("..", ".acme.")],
  ["no MAC", (cookie) => cookie.replace(/\.[\w-]*$/, "")],
  ["another cookie name", (cookie) => cookie.replace("__Host-", "")],
];

it.each(CHANGED)(
  "a session cookie of the console with %s is refused with a redirect to the login",
  async (_, change) => {
    expect(outcome(await visit("/", change(await logIn())))).toEqual(TO_LOGIN);
  },
);

it("a session cookie made with another RELAY_SECRET is refused with a redirect to the login", async () => {
  const other = { ...env, RELAY_SECRET: "another-test-only-relay-secret-0123456789" };
  expect(outcome(await visit("/", await logIn(OPERATOR_KEY, other)))).toEqual(TO_LOGIN);
});

it("a console session with an operator key ends when the key is removed from OPERATOR_KEYS, and until then has the key's present role", async () => {
  const keys = `read:${OPERATOR_KEY} another-test-only-key`;
  const cookie = await logIn(OPERATOR_KEY, { ...env, OPERATOR_KEYS: OPERATOR_KEY });
  expect((await visit("/", cookie, {}, { ...env, OPERATOR_KEYS: keys })).status).toBe(200);
  const metrics = { ...env, OPERATOR_KEYS: `metrics:${OPERATOR_KEY}` };
  expect((await visit("/", cookie, {}, metrics)).status).toBe(403);
  const without = { ...env, OPERATOR_KEYS: "another-test-only-key" };
  expect(outcome(await visit("/", cookie, {}, without))).toEqual(TO_LOGIN);
});

it.each([
  ["a generated", aKey],
  ["an imported", anImportedKey],
] as const)(
  "a console session with %s account key ends when the key is revoked",
  async (_, make) => {
    const account = await anAccount();
    const { id, key } = await make(account);
    const cookie = await logIn(key);
    expect(await (await visit("/", cookie)).text()).toContain(account);
    // The isolate is treated as one that has never seen the key.
    forgetKey(await sha256Hex(key));
    expect((await visit("/", cookie)).status).toBe(200);
    await call(`/v1/accounts/${account}/keys/${id}`, { method: "DELETE" });
    expect(outcome(await visit("/", cookie))).toEqual(TO_LOGIN);
  },
);

it("a console session with a revoked key stays ended when another account imports that key", async () => {
  const [account, next] = [await anAccount(), await anAccount()];
  const { id, key } = await anImportedKey(account);
  const cookie = await logIn(key);
  await call(`/v1/accounts/${account}/keys/${id}`, { method: "DELETE" });
  await anImportedKey(next, key);
  expect((await call(`/v1/accounts/${next}`, { key })).status).toBe(200);
  expect(outcome(await visit("/", cookie))).toEqual(TO_LOGIN);
});

it("a logout ends this console session, including copies of its cookie, but no other session, and deletes no cookies of other sites", async () => {
  const [cookie, other] = [await logIn(), await logIn()];
  pass(10 * MINUTE_MS);
  const copy = cookieIn(await visit("/", cookie));
  const response = await submit("/logout", {}, cookie);
  expect(outcome(response)).toEqual(TO_LOGIN);
  expect(response.headers.get("Set-Cookie")).toMatch(/^__Host-task-relay-session=; .*Max-Age=0;/);
  expect(response.headers.get("Clear-Site-Data")).toBe('"cache"');
  for (const each of [cookie, copy]) expect(outcome(await visit("/", each))).toEqual(TO_LOGIN);
  expect((await visit("/", other)).status).toBe(200);
});

/** Counts the ended sessions that are stored. */
function stored(): Promise<number> {
  return runInDurableObject(
    deploymentObject(env),
    (_, { storage }) => Array.from(storage.kv.list({ prefix: "session:" })).length,
  );
}

it("the relay stores which sessions of the console a logout has ended, and forgets those that would have expired by themselves at the next logout", async () => {
  const before = await stored();
  for (let logins = 0; logins < 2; logins++) await submit("/logout", {}, await logIn());
  expect(await stored()).toBe(before + 2);
  pass(24 * HOUR_MS);
  await submit("/logout", {}, await logIn());
  expect(await stored()).toBe(1);
});

it("an account's logout beyond the rate limit LIMIT_LISTS removes the cookie but does not end copies of it; an operator's logouts have no limit", async () => {
  const bindings = { ...env, LIMIT_LISTS: aRateLimit(2) };
  const { key } = await aKey(await anAccount());
  const before = await stored();
  for (let logouts = 0; logouts < 5; logouts++) {
    const response = await submit("/logout", {}, await logIn(key), {}, bindings);
    expect(outcome(response)).toEqual(TO_LOGIN);
    expect(response.headers.get("Set-Cookie")).toMatch(/=; .*Max-Age=0;/);
  }
  expect(await stored()).toBe(before + 2);
  for (let logouts = 0; logouts < 3; logouts++) {
    await submit("/logout", {}, await logIn(), {}, bindings);
  }
  expect(await stored()).toBe(before + 5);
});

it("a logout ends a console session even after the rate limit LIMIT_LISTS has refused requests of its account, and after repeated logouts of an ended session", async () => {
  const bindings = { ...env, LIMIT_LISTS: aRateLimit(2) };
  const { key } = await aKey(await anAccount());
  const [copied, ended] = [await logIn(key), await logIn(key)];
  const answers = [];
  for (let visits = 0; visits < 3; visits++) {
    answers.push((await visit("/", copied, {}, bindings)).status);
    await submit("/logout", {}, ended, {}, bindings);
  }
  expect(answers).toEqual([200, 200, 429]);
  await submit("/logout", {}, copied, {}, bindings);
  expect(outcome(await visit("/", copied))).toEqual(TO_LOGIN);
});

it.each([
  ["fails", () => Promise.reject(Object.assign(new Error("overloaded"), { overloaded: true }))],
  ["does not answer", () => new Promise<never>(() => {})],
])(
  "while the Durable Object that stores which sessions have ended %s, a valid cookie still opens the console's pages, but forms are answered with 503",
  async (_, isSessionEnded) => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const cookie = await logIn();
    const DEPLOYMENT = { getByName: () => ({ isSessionEnded }) };
    const bindings = { ...env, DEPLOYMENT };
    const expire = holdTimers(2_000);
    const answered = async (answer: Promise<Response>) => {
      let status: number | null = null;
      void answer.then((response) => (status = response.status));
      await until(() => {
        expire();
        return status !== null;
      });
      return status;
    };
    expect(await answered(visit("/", cookie, {}, bindings))).toBe(200);
    expect(await answered(submit("/accounts", { id: "acme" }, cookie, {}, bindings))).toBe(503);
    expect(await answered(visit("/", `${cookie}x`, {}, bindings))).toBe(303);
  },
);

it.each([
  ["/tasks?status=failed&host=a.example", "/tasks?status=failed&host=a.example"],
  ["https://evil.example/", "/"],
  ["//evil.example/", "/"],
  ["/\\evil.example/", "/"],
  ["/.//evil.example/", "/"],
  ["/\t/evil.example/", "/"],
  ["/a\r\nSet-Cookie: a=b", "/aSet-Cookie:%20a=b"],
  ["javascript:alert(1)", "/"],
  ["/logout", "/"],
  ["/login?return_to=/x", "/"],
  ["", "/"],
])("a login to the console with return_to=%j redirects to %j", async (returnTo, location) => {
  const fields = { key: OPERATOR_KEY, return_to: returnTo };
  expect(outcome(await submit("/login", fields))).toEqual([303, location]);
  const path = `/login?return_to=${encodeURIComponent(returnTo)}`;
  expect(outcome(await visit(path, await logIn()))).toEqual([303, location]);
});

it.each([
  ["that a page of another site posts", { "Sec-Fetch-Site": "cross-site" }],
  ["that a page of another host of the same domain posts", { "Sec-Fetch-Site": "same-site" }],
  ["that no page posts (Sec-Fetch-Site: none)", { "Sec-Fetch-Site": "none" }],
  ["with neither Sec-Fetch-Site nor Origin", { "Sec-Fetch-Site": "" }],
  [
    "with the Origin of another site and no Sec-Fetch-Site",
    { "Sec-Fetch-Site": "", Origin: "https://evil.example" },
  ],
  ["with the Origin null and no Sec-Fetch-Site", { "Sec-Fetch-Site": "", Origin: "null" }],
])("a login or logout form %s is refused with 403", async (_, headers) => {
  const cookie = await logIn();
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== ""));
  for (const path of ["/login", "/logout"]) {
    const bare = { ...HTML, "Content-Type": "application/x-www-form-urlencoded", Cookie: cookie };
    const message = { key: null, body: `key=${OPERATOR_KEY}`, headers: { ...bare, ...sent } };
    const response = await callWith(env, path, message);
    expect([response.status, response.headers.has("Set-Cookie")]).toEqual([403, false]);
  }
});

it("a login form that comes without Sec-Fetch-Site is accepted when its Origin is the relay's", async () => {
  const headers = { ...HTML, Origin: "https://relay.example.com" };
  const message = { key: null, body: `key=${OPERATOR_KEY}`, headers };
  expect((await callWith(env, "/login", message)).status).toBe(303);
});

it("a request to the API that has the console's session cookie but no key gets 401", async () => {
  const headers = { Cookie: await logIn() };
  for (const path of ["/v1/tasks", "/v1/accounts", "/metrics"]) {
    expect((await call(path, { key: null, headers })).status).toBe(401);
  }
});

it("a console page opened by a link on another site reloads itself, so that the browser sends the session cookie; without a session, the login follows", async () => {
  const elsewhere = { "Sec-Fetch-Site": "cross-site" };
  const first = await visit("/?a=1;b='2", null, elsewhere);
  expect([first.status, first.headers.get("Refresh")]).toEqual([200, "0; url=/?a=1;b=%272"]);
  const again = await visit("/?a=1", cookieIn(first), elsewhere);
  expect(outcome(again)).toEqual([303, "/login?return_to=%2F%3Fa%3D1"]);
  expect((await visit("/", await logIn(), elsewhere)).status).toBe(200);
});

it("after the end of a console session, the request that refreshes an open page gets 401 and a message with a link to the login", async () => {
  const response = await visit("/?a=1", null, { "X-Refresh": "1" });
  expect(response.status).toBe(401);
  const text = await response.text();
  expect(text).toContain('id="login-ended"');
  expect(text).toContain("/login?return_to=%2F%3Fa%3D1");
  expect(text).not.toContain("<html");
});

it("the login page, the responses to login and logout, and the pages for a logged-in user have Cache-Control: no-store", async () => {
  const cookie = await logIn();
  const answers = await Promise.all([
    submit("/login", { key: OPERATOR_KEY }),
    visit("/", cookie),
    visit("/login"),
    submit("/logout", {}, cookie),
  ]);
  for (const { headers } of answers) expect(headers.get("Cache-Control")).toBe("no-store");
});
