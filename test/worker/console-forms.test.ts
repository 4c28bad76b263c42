import { expect, it } from "vitest";
import { PAGES } from "../../src/console/console-pages.ts";
import { aKey, anAccount, balanceOf } from "./accounts.ts";
import { logIn, outcome, submit } from "./browser.ts";
import { call } from "./client.ts";
import { useClock } from "./clock.ts";
import { ENDPOINT_URL, endpointPath, HEADER_SECRET, putEndpoint } from "./endpoints.ts";
import { untilIdle } from "./objects.ts";
import { aReceiver, requestAt, status } from "./receiver.ts";
import { CALLBACK_URL, completed } from "./tasks.ts";

useClock();

/** Sends a form of the console as the operator, and returns the status and the address of the redirect. */
async function outcomeOf(path: string, fields: Readonly<Record<string, string>>) {
  return outcome(await submit(path, fields, await logIn()));
}

it.each([
  ["/accounts/{account}/grant", { amount: "0", reference: "r<1" }, ['value="r&lt;1"', "must be"]],
  [
    "/accounts/{account}/keys",
    { sha256: "12", label: "l<1", role: "read" },
    ['value="l&lt;1"', "must be"],
  ],
  ["/accounts", { id: "a b" }, ['value="a b"', "must "]],
  ["/test", { callback_url: "nowhere", status: "failed" }, ['value="nowhere"', "must be a valid"]],
] as const)(
  "a refused console form of %s with the fields %j is shown again with the typed values, the fault next to the field, and status 400",
  async (path, fields, texts) => {
    const account = await anAccount();
    const response = await submit(path.replace("{account}", account), fields, await logIn());
    expect(response.status).toBe(400);
    const page = await response.text();
    const [, described = "none"] =
      /aria-describedby="([^" ]+)[^"]*" aria-invalid="true"/.exec(page) ?? [];
    expect(page).toContain(`id="${described}" class="field-error"`);
    for (const text of texts) expect(page).toContain(text);
  },
);

it.each(["0x10", "1e3", "0b11", "0o7", "1.0", "+5", "-5", " 5", "Infinity", ""])(
  "a grant of %j credits in the console is refused with a message next to the field and not booked, because an amount must be in decimal digits",
  async (amount) => {
    const account = await anAccount(20);
    const fields = { amount, reference: "order" };
    const response = await submit(`/accounts/${account}/grant`, fields, await logIn());
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('id="amount-issue" class="field-error">must be');
    expect(await balanceOf(account)).toBe(20);
  },
);

it("the console refuses every form that a page of another site sends, even when the operator is logged in", async () => {
  const cookie = await logIn();
  const forms = PAGES.filter(({ method }) => method === "POST").map(({ path }) => path);
  expect(forms.length).toBeGreaterThan(10);
  for (const path of forms) {
    const target = path.replaceAll(/\{\w+\}/g, "a");
    const answers = ["cross-site", "same-site"].map(async (site) => {
      return [path, (await submit(target, {}, cookie, { "Sec-Fetch-Site": site })).status];
    });
    expect(await Promise.all(answers)).toEqual([
      [path, 403],
      [path, 403],
    ]);
  }
});

it("after the import of an API key, the console does not show the key, because the relay gets only its hash", async () => {
  const account = await anAccount();
  const fields = { sha256: "ab".repeat(32), label: "imported", role: "read" };
  expect(await outcomeOf(`/accounts/${account}/keys`, fields)).toEqual([
    303,
    `/accounts/${account}?done=imported`,
  ]);
});

it("a grant of 16 credits in the console is booked", async () => {
  const account = await anAccount(20);
  const fields = { amount: "16", reference: "order" };
  expect(await outcomeOf(`/accounts/${account}/grant`, fields)).toEqual([
    303,
    `/accounts/${account}?done=granted`,
  ]);
  expect(await balanceOf(account)).toBe(36);
});

it("the console refuses to rotate a callback secret, or to redeliver, when the number in the form is not in decimal digits", async () => {
  aReceiver(status(200));
  const id = await completed({ callback_url: CALLBACK_URL });
  await untilIdle(id);
  const account = await anAccount();
  for (const text of ["0x1", "1e0", "1.0", ""]) {
    const rotated = await outcomeOf(`/accounts/${account}/rotate`, { generation: text });
    const sent = await outcomeOf(`/tasks/${id}/redeliver`, { attempts: text });
    expect([rotated, sent]).toEqual([
      [400, null],
      [400, null],
    ]);
  }
});

it("the search field of the console takes 4,096 characters, and refuses one more with a message that names the field", async () => {
  const cookie = await logIn();
  const longest = await submit("/search", { q: "ä".repeat(4_096) }, cookie);
  expect(longest.status).toBe(303);
  for (const length of [4_097, 150_000]) {
    const refused = await submit("/search", { q: `a${" ".repeat(length - 2)}b` }, cookie);
    expect(refused.status).toBe(400);
    const page = await refused.text();
    const shown = page.replaceAll(/<[^>]*>/g, "");
    expect(shown).toContain(
      `The search has ${length} characters.q must have at most 4096 characters`,
    );
  }
});

it("when a user of the console orders a redelivery to a URL that is refused, the task's page is shown with the dialog open and the fault next to the URL", async () => {
  aReceiver(status(200));
  const id = await completed({ callback_url: CALLBACK_URL });
  await untilIdle(id);
  const fields = { attempts: "2", callback_url: "ftp://a.example/<" };
  const response = await submit(`/tasks/${id}/redeliver`, fields, await logIn());
  expect(response.status).toBe(400);
  const page = await response.text();
  expect(page).toMatch(/<dialog id="redeliver"[^>]* open/);
  expect(page).toContain('value="ftp://a.example/&lt;"');
  expect(page).toMatch(/id="callback_url-issue" class="field-error">must use https:/);
});

it("the console says whether the pasted headers and body of a received callback have a valid signature, or that the headers name no task", async () => {
  const received = aReceiver(status(200));
  const cookie = await logIn();
  const test = { callback_url: CALLBACK_URL, status: "failed", account: await anAccount() };
  const sent = await (await submit("/test", test, cookie)).text();
  const { headers, body } = requestAt(received, 0);
  const hidden = Object.fromEntries(
    Array.from(sent.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g), ([, name, value]) => [
      name ?? "",
      value ?? "",
    ]),
  );
  const pasted = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
  const judge = async (fields: Readonly<Record<string, string>>) =>
    (await submit("/test/verify", fields, cookie)).text();
  expect(await judge({ ...hidden, headers: pasted, body })).toContain("The signature is valid");
  expect(await judge({ ...hidden, headers: pasted, body: ` ${body}` })).toContain("body_trimmed");
  const nameless = await judge({ headers: "webhook-signature: v1,<", body });
  expect(nameless).toContain("The headers name no task.");
  expect(nameless).toContain("v1,&lt;</textarea>");
});

it.each([
  ["has 256 characters", "x".repeat(256)],
  ["has a character outside ASCII", "\u{1F511}"],
])(
  "the console refuses a form that sends a callback again with 400 when its idempotency_key %s",
  async (_, key) => {
    const path = `/tasks/${crypto.randomUUID()}/redeliver`;
    const response = await submit(path, { idempotency_key: key }, await logIn());
    expect(response.status).toBe(400);
  },
);

/** Returns the fields of the form of an endpoint. */
function endpointForm(fields: Readonly<Record<string, string>>) {
  return { name: "orders", url: ENDPOINT_URL, events: "completed", ...fields };
}

it("the console shows a refused form of an endpoint again with the names of its headers and without their values, and refuses it until they are typed again", async () => {
  const path = `/accounts/${await anAccount()}/endpoints/_new`;
  const headers = `X-Token: ${HEADER_SECRET}\n${HEADER_SECRET}\nX Y: ${HEADER_SECRET}`;
  const shown = await submit(path, endpointForm({ headers }), await logIn());
  expect(shown.status).toBe(400);
  const page = await shown.text();
  expect(page).not.toContain(HEADER_SECRET);
  const [, typed = ""] = /<textarea[^>]*name="headers"[^>]*>\n([^<]*)</.exec(page) ?? [];
  expect(typed.trim()).toBe("X-Token:");
  const again = await submit(path, endpointForm({ headers: typed }), await logIn());
  expect([again.status, await again.text()]).toEqual([
    400,
    expect.stringContaining("X-Token must be"),
  ]);
});

it.each(["X-A: 1\nX-A: 2", "__proto__: 1", "X-A"])(
  "the console forgets no header of an endpoint: it refuses the headers %j with a message next to the field",
  async (headers) => {
    const account = await anAccount();
    const path = `/accounts/${account}/endpoints/_new`;
    const response = await submit(path, endpointForm({ headers }), await logIn());
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('id="headers-issue"'),
    ]);
    expect((await call(endpointPath("orders", account))).status).toBe(404);
  },
);

it("the console's form for a new endpoint replaces none that exists", async () => {
  const account = await anAccount();
  await putEndpoint("orders", { headers: { "X-A": "1" } }, { account });
  const fields = endpointForm({ url: "https://other.example.net/" });
  const response = await submit(`/accounts/${account}/endpoints/_new`, fields, await logIn());
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining('id="name-issue"'),
  ]);
  const kept = await call(endpointPath("orders", account));
  expect(await kept.json()).toMatchObject({ url: ENDPOINT_URL, headers: ["X-A"] });
});

it("an account that sends a test to an endpoint of another account from the console gets 404, and nothing is sent, also when it has an endpoint of that name", async () => {
  const [account, other] = [await anAccount(), await anAccount()];
  await putEndpoint("orders", {}, { account });
  await putEndpoint("orders", {}, { account: other });
  const received = aReceiver(status(204));
  const cookie = await logIn((await aKey(account)).key);
  const test = (id: string) => {
    const path = `/accounts/${id}/endpoints/orders/test`;
    return submit(path, { status: "completed" }, cookie);
  };
  expect((await test(other)).status).toBe(404);
  expect(received).toEqual([]);
  expect((await test(account)).status).toBe(200);
  expect(requestAt(received, 0).url).toBe(ENDPOINT_URL);
});

it.each([
  ["/endpoints/orders", "/endpoints/orders"],
  ["//other.example.net/", "/"],
  ["https://other.example.net/", "/"],
])(
  "after a pause and its end that were ordered with the page %j, the console shows the page %j, and no other host",
  async (returnTo, shown) => {
    for (const order of ["pause", "resume"]) {
      const path = `/hosts/client.example.net/${order}`;
      expect(await outcomeOf(path, { return_to: returnTo })).toEqual([303, shown]);
    }
  },
);
