import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { cookieIn, HTML, logIn, outcome, submit, visit } from "./browser.ts";
import { call, callWith, OPERATOR_KEY } from "./client.ts";
import { useClock } from "./clock.ts";

useClock();

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
])(
  "a login to the console with the parameter return_to %j redirects to %j",
  async (returnTo, location) => {
    const fields = { key: OPERATOR_KEY, return_to: returnTo };
    expect(outcome(await submit("/login", fields))).toEqual([303, location]);
    const path = `/login?return_to=${encodeURIComponent(returnTo)}`;
    expect(outcome(await visit(path, await logIn()))).toEqual([303, location]);
  },
);

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

it("a login form without Sec-Fetch-Site is accepted when its Origin is that of the relay", async () => {
  const headers = { ...HTML, Origin: "https://relay.example.com" };
  const message = { key: null, body: `key=${OPERATOR_KEY}`, headers };
  expect((await callWith(env, "/login", message)).status).toBe(303);
});

it.each([
  ["has 256 characters", "x".repeat(256)],
  ["has a character outside ASCII", "\u{1F511}"],
])(
  "a form of the console that sends a callback again is refused with 400 when its idempotency_key %s",
  async (_, key) => {
    const path = `/tasks/${crypto.randomUUID()}/redeliver`;
    const response = await submit(path, { idempotency_key: key }, await logIn());
    expect(response.status).toBe(400);
  },
);

it("the API answers 401 to a request with the session cookie of the console and no key", async () => {
  const headers = { Cookie: await logIn() };
  for (const path of ["/v1/tasks", "/v1/accounts", "/metrics"]) {
    expect((await call(path, { key: null, headers })).status).toBe(401);
  }
});

it("a link on another site opens a console page that reloads itself to send the session cookie; without a session the login follows", async () => {
  const elsewhere = { "Sec-Fetch-Site": "cross-site" };
  const first = await visit("/?a=1;b='2", null, elsewhere);
  expect([first.status, first.headers.get("Refresh")]).toEqual([200, "0; url=/?a=1;b=%272"]);
  const again = await visit("/?a=1", cookieIn(first), elsewhere);
  expect(outcome(again)).toEqual([303, "/login?return_to=%2F%3Fa%3D1"]);
  expect((await visit("/", await logIn(), elsewhere)).status).toBe(200);
});

it("the error page for a path with two slashes, such as //evil.example/, has no link to the host evil.example", async () => {
  const bindings = { ...env, RELAY_SECRET: "" };
  const page = await (
    await visit("https://relay.example.com//evil.example/", null, {}, bindings)
  ).text();
  expect(page).not.toContain('"//evil');
});

it("when the session has ended, the request with which an open page of the console refreshes its data gets 401 and a notice with a link to the login", async () => {
  const response = await visit("/?a=1", null, { "X-Refresh": "1" });
  expect(response.status).toBe(401);
  const text = await response.text();
  expect(text).toContain('id="login-ended"');
  expect(text).toContain("/login?return_to=%2F%3Fa%3D1");
  expect(text).not.toContain("<html");
});

it("the login, its answer, the answer to a logout and the pages of a logged-in user have Cache-Control: no-store", async () => {
  const cookie = await logIn();
  const answers = await Promise.all([
    submit("/login", { key: OPERATOR_KEY }),
    visit("/", cookie),
    visit("/login"),
    submit("/logout", {}, cookie),
  ]);
  for (const { headers } of answers) expect(headers.get("Cache-Control")).toBe("no-store");
});
