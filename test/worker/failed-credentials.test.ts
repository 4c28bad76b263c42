import { env } from "cloudflare:workers";
import { Webhook } from "standardwebhooks";
import { expect, it, vi } from "vitest";
import { aForeignKey, aKey, anAccount, anImportedKey, calledAccountObjects } from "./accounts.ts";
import { call, refusal } from "./client.ts";
import { START_S, useClock } from "./clock.ts";
import { hooked } from "./hooked.ts";
import { aRateLimit, LIMITED, type Sent, sendFrom } from "./rate-limits.ts";
import { secretsOf } from "./secrets.ts";
import { register } from "./tasks.ts";

useClock();

/** Requests with a wrong credential, and the status of the answer to each while no limit is reached. */
const FAILED: readonly (readonly [string, number, () => Promise<Sent>])[] = [
  [
    "a bearer token that is no key",
    401,
    async () => ({ path: "/v1/signing-secrets", key: aForeignKey() }),
  ],
  [
    "a bearer token that is too short to be a key",
    401,
    async () => ({ path: "/v1/signing-secrets", key: "short" }),
  ],
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
  [
    "an event whose body is too large to verify its signature",
    413,
    async () => {
      const headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": `${START_S}`,
        "webhook-signature": `v1,${"A".repeat(43)}=`,
      };
      return { path: "/v1/events", body: "x".repeat(300_000), headers, key: null };
    },
  ],
];

it.each(FAILED)(
  "once failures from an IP address reach the rate limit LIMIT_REFUSALS, %s from there gets 429 instead of %i, and from another address the usual status",
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

/** Requests with a credential that LIMIT_REFUSALS does not count, and the answer to each. */
const UNCOUNTED: readonly (readonly [string, number, () => Promise<Sent>])[] = [
  ["an operator key", 200, async () => ({ path: "/v1/signing-secrets" })],
  [
    "a key that the relay has generated",
    200,
    async () => {
      const account = await anAccount();
      return { path: `/v1/accounts/${account}`, key: (await aKey(account)).key };
    },
  ],
  [
    "a revoked key that the relay has generated",
    401,
    async () => {
      const account = await anAccount();
      const { id, key } = await aKey(account);
      await call(`/v1/accounts/${account}/keys/${id}`, { method: "DELETE" });
      return { path: `/v1/accounts/${account}`, key };
    },
  ],
  [
    "an imported key that was used within the last minute",
    200,
    async () => {
      const account = await anAccount();
      const sent = { path: `/v1/accounts/${account}`, key: (await anImportedKey(account)).key };
      await call(sent.path, sent);
      return sent;
    },
  ],
  [
    "a hook URL with a right token",
    200,
    async () => {
      const { hookUrl } = await hooked({ provider: "ark" });
      const body = { id: "cgt-1", status: "running" };
      return { path: new URL(hookUrl).pathname, body, key: null };
    },
  ],
  [
    "an event with a right signature",
    202,
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

it.each(UNCOUNTED)(
  "while the rate limit LIMIT_REFUSALS refuses an IP address, %s from there is answered with %i, and does not count as a failure",
  async (_, status, make) => {
    const limit = vi.fn<RateLimit["limit"]>(async () => ({ success: false }));
    const bindings = { ...env, LIMIT_REFUSALS: { limit } };
    const response = await sendFrom("192.0.2.1", bindings, await make());
    expect(response.status).toBe(status);
    expect(limit).not.toHaveBeenCalled();
  },
);

it("with the rate limit LIMIT_REFUSALS at 1, an IP address that uses two valid imported keys gets 429 for the second key, and can go on using the first", async () => {
  const bindings = { ...env, LIMIT_REFUSALS: aRateLimit(1) };
  const account = await anAccount();
  const [first, second] = [await anImportedKey(account), await anImportedKey(account)];
  const statuses: number[] = [];
  for (const { key } of [first, first, second, first]) {
    const response = await sendFrom("192.0.2.1", bindings, {
      path: `/v1/accounts/${account}`,
      key,
    });
    statuses.push(response.status);
  }
  expect(statuses).toEqual([200, 200, 429, 200]);
});

it("with the rate limit LIMIT_REFUSALS at 60, only 60 of 200 guessed API keys from one IP address are looked up in Durable Objects; the others get 429", async () => {
  const bindings = { ...env, LIMIT_REFUSALS: aRateLimit(60) };
  const names = calledAccountObjects();
  const statuses: number[] = [];
  for (let count = 0; count < 200; count++) {
    const sent = { path: "/v1/tasks", key: aForeignKey() };
    statuses.push((await sendFrom("192.0.2.1", bindings, sent)).status);
  }
  expect(statuses).toEqual(statuses.map((_, index) => (index < 60 ? 401 : 429)));
  expect(names.filter((name) => name.startsWith("keys:"))).toHaveLength(60);
});
