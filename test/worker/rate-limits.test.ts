import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, it, vi } from "vitest";
import { ROUTES } from "../../src/api/routes.ts";
import { aKey, anAccount } from "./accounts.ts";
import { callWith, type Message, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { hooked } from "./hooked.ts";
import { aRateLimit } from "./rate-limits.ts";
import { secretsOf } from "./secrets.ts";
import { register } from "./tasks.ts";

useClock();

const LIMITED = { status: 429, code: "rate_limited" };
const MINUTE_MS = 60_000;

const limitedRoutes = ROUTES.flatMap(({ method, path, rateLimit }) =>
  rateLimit === undefined ? [] : [{ method, path, rateLimit }],
);

/** Returns an IPv4 address that no other test uses. */
function anAddress(): string {
  const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint8Array(3));
  return `10.${a}.${b}.${c}`;
}

/** Returns what the relay logs meanwhile, without the id of the version. */
async function loggedBy(work: () => Promise<unknown>): Promise<readonly object[]> {
  const lines: object[] = [];
  for (const level of ["log", "warn", "error"] as const) {
    vi.spyOn(console, level).mockImplementation((text) => {
      const { version: _, ...line } = JSON.parse(String(text));
      lines.push(line);
    });
  }
  await work();
  return lines;
}

it.each(limitedRoutes)(
  "$method $path answers 429 with Retry-After once an account has reached $rateLimit, and still answers other accounts and the operator",
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

interface Sent extends Message {
  readonly path: string;
}

/** Requests with a credential that fails, and the answer to each while no limit is reached. */
const FAILED: readonly (readonly [string, number, () => Promise<Sent>])[] = [
  [
    "a hook URL with a wrong token",
    404,
    async () => ({ path: `/hooks/ark/${crypto.randomUUID()}/x`, body: {}, key: null }),
  ],
  [
    "an event with a wrong signature",
    401,
    async () => {
      const headers = { "webhook-signature": "v1,x" };
      return { path: "/v1/events", body: {}, headers, key: null };
    },
  ],
];

async function sendFrom(address: string | null, bindings: object, { path, ...message }: Sent) {
  const from = address === null ? {} : { "CF-Connecting-IP": address };
  return callWith(bindings, path, { ...message, headers: { ...message.headers, ...from } });
}

it.each(FAILED)(
  "%s is answered with 429 instead of %i once LIMIT_REFUSALS is reached from the same address, and not from another address",
  async (_, usual, make) => {
    const bindings = { ...env, LIMIT_REFUSALS: aRateLimit(1) };
    const sent = await make();
    for (const [first, same, other] of [
      ["192.0.2.1", "192.0.2.1", "192.0.2.2"],
      ["2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"],
      [null, "no address", "192.0.2.3"],
    ] as const) {
      expect((await sendFrom(first, bindings, sent)).status).toBe(usual);
      const refused = await sendFrom(same, bindings, sent);
      expect(refused.headers.get("Retry-After")).toBe("60");
      expect(await refusal(refused)).toEqual(LIMITED);
      expect((await sendFrom(other, bindings, sent)).status).toBe(usual);
    }
  },
);

/** Requests with a valid credential, which no limit of failed credentials may refuse. */
const VALID: readonly (readonly [string, () => Promise<Sent>])[] = [
  ["an operator key", async () => ({ path: "/v1/signing-secrets" })],
  [
    "a hook URL with a right token",
    async () => {
      const { hookUrl } = await hooked({ provider: "ark" });
      const body = { id: "cgt-1", status: "running" };
      return { path: new URL(hookUrl).pathname, body, key: null };
    },
  ],
  [
    "an event with a right signature",
    async () => {
      const body = JSON.stringify({ id: await register(), status: "processing" });
      const { events } = await secretsOf();
      const signature = new Webhook(events[0] ?? "").sign("evt_1", new Date(Date.now()), body);
      const headers = {
        "webhook-id": "evt_1",
        "webhook-timestamp": String(START_S),
        "webhook-signature": signature,
      };
      return { path: "/v1/events", body, headers, key: null };
    },
  ],
];

it.each(VALID)(
  "%s is accepted and not counted while LIMIT_REFUSALS refuses its address",
  async (_, make) => {
    const limit = vi.fn<RateLimit["limit"]>(async () => ({ success: false }));
    const bindings = { ...env, LIMIT_REFUSALS: { limit } };
    const response = await sendFrom("192.0.2.1", bindings, await make());
    expect(response.status).toBeLessThan(300);
    expect(limit).not.toHaveBeenCalled();
  },
);

it("LIMIT_REFUSALS logs an address once a minute when it refuses requests from it, and no refused request", async () => {
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

it("LIMIT_TESTS logs an account once a minute when it refuses its requests, and no refused request", async () => {
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
  "a rate limit whose binding %s refuses no request, and is logged at most once a minute",
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
