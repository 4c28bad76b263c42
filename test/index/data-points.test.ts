import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { until } from "../worker/clock.ts";
import { OPERATOR_KEY } from "../worker/client.ts";
import { hooked } from "../worker/hooked.ts";
import { answering } from "../worker/outside.ts";
import { aRateLimit } from "../worker/rate-limits.ts";
import { CALLBACK_URL, register } from "../worker/tasks.ts";
import { restartWith } from "./bindings.ts";
import { receivers } from "./operator.ts";
import { callWith, finish, useIndex, wake } from "./support.ts";

useIndex();

/** Returns a dataset of Analytics Engine, and the data points that are written to it. */
function aDataset() {
  const points: unknown[] = [];
  return { points, METRICS: { writeDataPoint: (point: unknown) => points.push(point) } };
}

/** Returns the data point of refused credentials. */
function refusal(outcome: string, connection = "") {
  return { indexes: [""], blobs: [outcome, "", connection, "credential"] };
}

it("when the dataset METRICS of Analytics Engine is bound, the relay writes a data point to it for every callback attempt", async () => {
  const outside = receivers(500);
  const { points, METRICS } = aDataset();
  const id = await register();
  await restartWith(id, { METRICS });
  await finish(id);
  outside.on(CALLBACK_URL, answering(""));
  for (let n = 0; n < 4 && points.length < 2; n++) await wake(id);
  const host = "client.example.net";
  expect(points).toEqual([
    { indexes: [""], blobs: ["rejected", host, "", "attempt"], doubles: [1, 0, 500] },
    { indexes: [""], blobs: ["delivered", host, "", "attempt"], doubles: [2, 0, 200] },
  ]);
});

it("METRICS gets a data point for each request with a wrong key or signature, also for those left unchecked beyond LIMIT_REFUSALS, but none for a request without a key", async () => {
  const { points, METRICS } = aDataset();
  const bindings = { ...env, METRICS, REPLICATE_WEBHOOK_SECRET: `whsec_${btoa("x".repeat(24))}` };
  const { hookUrl } = await hooked({ provider: "replicate", bindings });
  const hook = new URL(hookUrl).pathname;
  const submitting = "/v1/submit/replicate/v1/predictions";
  const REFUSED: readonly (readonly [string, object])[] = [
    ["/v1/stats", { key: "test-only-wrong-key-0123456789" }],
    [`/hooks/ark/${crypto.randomUUID()}/x`, { body: {}, key: null }],
    [hook, { body: {}, key: null }],
    ["/v1/events", { body: {}, key: null, headers: { "webhook-signature": "v1,x" } }],
    [submitting, { body: {}, key: "test-only-wrong-key-0123456789" }],
    [submitting, { body: {}, key: null, headers: { "x-api-key": "test-only-wrong-key-01234" } }],
  ];
  for (const [path, message] of [
    ["/v1/stats", {}],
    [submitting, { body: {} }],
  ] as const) {
    expect((await callWith(bindings, path, { ...message, key: null })).status).toBe(401);
  }
  for (const sent of REFUSED) await callWith(bindings, ...sent);
  const LIMIT_REFUSALS = aRateLimit(0);
  for (const sent of REFUSED) await callWith({ ...bindings, LIMIT_REFUSALS }, ...sent);
  expect(points).toEqual([
    ...["", "", "replicate", "", "", ""].map((connection) => refusal("refused", connection)),
    ...["limited", "limited"].map((outcome) => refusal(outcome)),
    refusal("refused", "replicate"),
    ...["limited", "limited", "limited"].map((outcome) => refusal(outcome)),
  ]);
});

it.each([
  ["the key of the connection", {}, ""],
  [
    "a customer's own key",
    { "Relay-Key": OPERATOR_KEY, Authorization: "Bearer sk-test-only-own" },
    "customer",
  ],
])(
  "for each poll with %s, METRICS gets a data point that states the connection, the answer, and whether the key is the customer's",
  async (_, keys, owner) => {
    const outside = receivers(200);
    outside.on("https://ark.", ({ method }) =>
      method === "POST"
        ? Response.json({ id: "cgt-1" })
        : Response.json({ error: "no" }, { status: 401 }),
    );
    const { points, METRICS } = aDataset();
    const bindings = { ...env, METRICS, ARK_API_KEY: "test-only-ark-key" };
    const id = crypto.randomUUID();
    await restartWith(id, bindings);
    const headers = { Authorization: `Bearer ${OPERATOR_KEY}`, "Relay-Task-Id": id, ...keys };
    const message = { body: { model: "m", content: [] }, headers, key: null };
    const path = "/v1/submit/ark/contents/generations/tasks";
    expect((await callWith(bindings, path, message)).status).toBe(200);
    while (outside.sentTo("https://ark.").length === 1) await wake(id);
    await until(() => points.length > 0);
    expect(points).toEqual([{ indexes: [""], blobs: ["unauthorized", owner, "ark", "poll"] }]);
  },
);

it.each([
  ["the connection's own key", {}, ""],
  [
    "a customer's own key",
    { "Relay-Key": OPERATOR_KEY, Authorization: "Bearer sk-test-only-own" },
    "customer",
  ],
])(
  "for a submission with %s that the upstream refuses, METRICS gets one data point that states the reason, the connection, the HTTP status, and whose key it was",
  async (_, keys, owner) => {
    const outside = receivers(200);
    const busy = { error: { code: "InflightBatchsizeExceeded" } };
    outside.on("https://ark.", () => Response.json(busy, { status: 429 }));
    const { points, METRICS } = aDataset();
    const bindings = { ...env, METRICS, ARK_API_KEY: "test-only-ark-key" };
    const id = crypto.randomUUID();
    await restartWith(id, bindings);
    const headers = { Authorization: `Bearer ${OPERATOR_KEY}`, "Relay-Task-Id": id, ...keys };
    const path = "/v1/submit/ark/contents/generations/tasks";
    const message = { body: { model: "m", content: [] }, headers, key: null };
    expect((await callWith(bindings, path, message)).status).toBe(429);
    const point = { indexes: [""], blobs: ["busy", owner, "ark", "refusal"], doubles: [429] };
    expect(points).toEqual([point]);
  },
);
