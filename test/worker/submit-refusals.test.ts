import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { NOT_SERVED } from "../../src/core/record/refusal.ts";
import { ADAPTERS, baseUrlIn } from "../providers/adapters.ts";
import { EXAMPLES } from "../providers/examples.ts";
import { REFUSAL_CASES, type RefusalCase, titleOf } from "../providers/refusal-cases.ts";
import { GATEWAY } from "../../src/providers/shared/examples/report-examples.ts";
import { aKey, anAccount, booksOf } from "./accounts.ts";
import { useClock } from "./clock.ts";
import { refusal } from "./client.ts";
import { NOTHING, stored } from "./objects.ts";
import { anOutside } from "./outside.ts";
import { keyVarsOf } from "./senders.ts";
import { anArk, BINDINGS, named, readSubmitted, type Submission, submit } from "./submitted.ts";

useClock();

const PRICE = 4;
const KEY_VARS = Object.assign(
  {},
  ...REFUSAL_CASES.map(([provider]) => keyVarsOf(provider, `test-only-${provider}-key`)),
);
const OFFERS = JSON.stringify(
  [...new Set(REFUSAL_CASES.map(([provider]) => provider))].map((connection) => ({
    connection,
    models: ["*"],
    price: { credits: PRICE },
  })),
);
const OFFERED = { ...env, ...KEY_VARS, OFFERS };
const RETRY = { "Retry-After": "7" };

/** Returns the documented call of a provider whose answer is tested. */
function callOf(provider: string) {
  const submits = EXAMPLES.find((each) => each.provider === provider)?.submits;
  const call = submits?.calls.find(({ path }) => path === submits.accepted.path);
  if (call === undefined) throw new Error(`no call of ${provider}`);
  // Offers that state no limits do not permit members that can contain any parameter.
  const { metadata: _, ...plain } = call.body;
  const body = JSON.stringify(call.isListOfOne === true ? [plain] : plain);
  return { path: `/v1/submit/${provider}${call.path}`, body };
}

/** Submits the documented call of a provider that answers so. */
async function submitTo([provider, status, body]: RefusalCase, message: Submission) {
  const outside = anOutside();
  const baseUrl = baseUrlIn(provider, GATEWAY);
  outside.on(baseUrl, () =>
    body === undefined
      ? new Response("a page", { status, headers: RETRY })
      : Response.json(body, { status, headers: RETRY }),
  );
  const response = await submit({ ...callOf(provider), bindings: OFFERED, ...message });
  return { response, sent: outside.sentTo(baseUrl) };
}

/** The first answer of each provider and class; test/providers/submit-refusal.test.ts has the class of all. */
const FIRST = new Map(REFUSAL_CASES.toReversed().map((each) => [`${each[0]} ${each[3]}`, each]));
const titled = [...FIRST.values()].map((given) => ({ given, title: titleOf(given) }));
const REFUSED = titled.filter(({ given: [, , , refused] }) => refused !== null);
const UNPROVED = titled.filter(({ given: [, , , refused] }) => refused === null);

describe("an answer that refuses a submission", () => {
  it.each(REFUSED)(
    "an upstream's refusal of a submission is passed on, unless it concerns the operator's own account there, and the price is returned: $title",
    async ({ given }) => {
      const [provider, status, body, refused] = given;
      const account = await anAccount(10);
      const { key } = await aKey(account);
      const headers = { "Idempotency-Key": crypto.randomUUID() };
      const { response, sent } = await submitTo(given, { key, headers });
      const isHidden = refused === "funds" || refused === "key";
      expect(response.status).toBe(isHidden ? 503 : status);
      expect(response.headers.get("Retry-After")).toBe("7");
      expect(response.headers.get("x-should-retry")).toBe(isHidden ? "false" : null);
      const text = await response.text();
      const hidden = ADAPTERS.get(provider)?.jobCalls?.errorBody(503, NOT_SERVED);
      const passed = body === undefined ? "a page" : JSON.stringify(body);
      expect(text).toBe(isHidden ? JSON.stringify(hidden) : passed);
      const books = ["grant 10", `charge ${PRICE}`, `refund ${PRICE}`];
      expect(await booksOf(account)).toEqual(books);
      expect(sent).toHaveLength(1);
    },
  );
});

describe("an answer that does not prove that no job was started", () => {
  it.each(UNPROVED)(
    "an upstream's response that does not prove that no job was started leaves the outcome of the submission unknown: $title",
    async ({ given }) => {
      const { id, headers } = named();
      const { response } = await submitTo(given, { headers });
      expect(await refusal(response)).toEqual({ status: 424, code: "submit_unknown" });
      const task = { submission: { state: "unknown", status_code: given[1] } };
      expect(await readSubmitted(id, OFFERED)).toMatchObject(task);
    },
  );
});

const LOCKED: RefusalCase = [
  "fal",
  403,
  { detail: "User is locked. Reason: Exhausted balance. Top up your balance." },
  "funds",
];

it("when the connection's balance at the upstream is used up, an operator's submission gets the upstream's own response, and no task remains", async () => {
  const { id, headers } = named();
  const { response } = await submitTo(LOCKED, { headers });
  expect([response.status, await response.json()]).toEqual([LOCKED[1], LOCKED[2]]);
  expect(await stored(id)).toEqual(NOTHING);
});

it.each<["warn" | "log", RefusalCase, number]>([
  ["warn", LOCKED, 1],
  ["log", ["fal", 429, { detail: "Rate limit exceeded" }, "rate"], 1],
  ["log", ["fal", 422, { detail: "Wrong input" }, "final"], 0],
])(
  "the log has a line at the level %s about an upstream's refusal of a submission, with connection and category, unless the request itself was wrong: %j",
  async (level, given, count) => {
    const lines: object[] = [];
    vi.spyOn(console, level).mockImplementation((text) => lines.push(JSON.parse(String(text))));
    const { id, headers } = named();
    await submitTo(given, { headers, bindings: { ...OFFERED, LOG: "normal" } });
    const [connection, status, , refused] = given;
    const facts = { task_id: id, outcome: "refused", status_code: status };
    const line = { event: "submission.ended", ...facts, connection, refusal: refused };
    const about = lines.filter((each) => "event" in each && each.event === "submission.ended");
    expect(about).toEqual(Array.from({ length: count }, () => expect.objectContaining(line)));
  },
);

it("an account that submits with its own upstream key gets the upstream's own response when the balance there is used up", async () => {
  const { key } = await aKey(await anAccount(10));
  const offers = JSON.stringify([
    { connection: "fal", models: ["*"], key: "customer", price: null },
  ]);
  const { response } = await submitTo(LOCKED, {
    key: null,
    bindings: { ...OFFERED, OFFERS: offers },
    headers: { "Relay-Key": key, Authorization: "Key own:secret" },
  });
  expect([response.status, await response.json()]).toEqual([LOCKED[1], LOCKED[2]]);
});

it("after an upstream has refused a submission because of the operator's balance there, a repeat with the same Idempotency-Key is sent to the upstream again", async () => {
  const { key } = await aKey(await anAccount(10));
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  for (let n = 0; n < 2; n += 1) {
    const { response, sent } = await submitTo(LOCKED, { key, headers });
    expect([response.status, sent.length]).toEqual([503, 1]);
    expect(response.headers.get("Idempotent-Replayed")).toBeNull();
  }
});

it("when an upstream refuses a submission because of the operator's balance there, without Retry-After, the account gets 503 with a Retry-After of 60 seconds", async () => {
  const { key } = await aKey(await anAccount(10));
  anArk(() => Response.json({ error: { code: "AccountOverdueError" } }, { status: 403 }));
  const bindings = { ...BINDINGS, OFFERS };
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const response = await submit({ bindings, key, headers });
  expect([response.status, response.headers.get("Retry-After")]).toEqual([503, "60"]);
});

it.each([521, 523, 525, 526, 530])(
  "when an upstream's host cannot be reached (HTTP %i instead of its response), a submission gets 503, its price is returned and its Idempotency-Key is free",
  async (status) => {
    const account = await anAccount(10);
    const { key } = await aKey(account);
    let sent = 0;
    anArk(() => {
      sent += 1;
      return new Response("error code: 1000", { status });
    });
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    for (let n = 1; n <= 2; n += 1) {
      const response = await submit({ bindings: { ...BINDINGS, OFFERS }, key, headers });
      expect(response.headers.get("Retry-After")).not.toBeNull();
      expect(response.headers.get("Relay-Task-Id")).toBeNull();
      expect(response.headers.get("x-should-retry")).toBeNull();
      expect(await refusal(response)).toEqual({ status: 503, code: "unavailable" });
      expect(sent).toBe(n);
    }
    expect(await booksOf(account)).toEqual([
      "grant 10",
      "charge 4",
      "refund 4",
      "charge 4",
      "refund 4",
    ]);
  },
);

it.each([520, 522, 524, 502, 504])(
  "when Ark's response to a submission is HTTP %i, which may come after a job was started, the outcome is unknown",
  async (status) => {
    anArk(() => new Response("", { status }));
    const { id, headers } = named();
    expect(await refusal(await submit({ headers }))).toMatchObject({ code: "submit_unknown" });
    expect(await readSubmitted(id)).toMatchObject({ submission: { state: "unknown" } });
  },
);
