import { randomUUID } from "node:crypto";
import { expect, it, vi } from "vitest";
import { completedEvent, LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { FalKey } from "../upstreams/fal-key.ts";
import { Canary } from "./canary.ts";

const POLLED_WITHIN_MS = 60_000;
const ACCEPTS = { kind: "answer", status: 204 } as const;

const canary = await forThisFile(Canary.start());
const receiver = await forThisFile(Receiver.start());
const connections = {
  plain: { provider: "replicate" },
  polled: { provider: "replicate", key: "process-test-replicate-token", base_url: receiver.origin },
  keyset: { provider: "fal", jwks_url: receiver.at("/keyset", leadingAway(302)) },
};
// Loopback addresses are allowed, so that only the relay's own rules keep it from calling the canary server.
const vars = {
  ...LOCAL_VARS,
  CALLBACK_SCHEDULE_S: "0",
  SETTLEMENT_URL: receiver.at("/settlement", leadingAway(307), ACCEPTS),
  OPERATOR_CALLBACK_URL: receiver.at("/operator", leadingAway(308)),
  CONNECTIONS: JSON.stringify(connections),
};
const { client } = await forThisFile(Workerd.start({ vars }));

function canaryUrl(): string {
  return canary.aimed("http://127.0.0.1:PORT/canary");
}

/** Builds an answer with every header, and a body, that a client might follow to the canary server. */
function leadingAway(status: number): Behaviour {
  const url = canaryUrl();
  const headers = {
    Location: url,
    "Content-Location": url,
    Refresh: `0; url=${url}`,
    Link: `<${url}>; rel="preload", <${url}>; rel="next"`,
  };
  const body = `<meta http-equiv="refresh" content="0; url=${url}">`;
  return { kind: "answer", status, headers, ...(status !== 304 && { body }) };
}

it.each([300, 301, 302, 303, 304, 305, 307, 308])(
  "when a receiver answers a callback with a redirect of the status %i, the relay does not follow it",
  async (status) => {
    const callback_url = receiver.at(`/test/${status}`, leadingAway(status));
    const { json } = await client.ask("POST", "/v1/callbacks/test", { callback_url });
    expect(json).toMatchObject({ outcome: "redirected", status_code: status });

    const automatic = receiver.at(`/automatic/${status}`, leadingAway(status));
    const { callback } = await client.settled(await client.finish(automatic));
    expect(callback).toMatchObject({
      status: "failed",
      attempts: [{ outcome: "redirected", status_code: status }],
    });
    expect(receiver.postsAt(`/automatic/${status}`)).toHaveLength(1);
    expect(canary.hits).toEqual([]);
  },
);

it("when a receiver answers a callback with 200, the relay follows no URLs in the headers or the HTML of this response", async () => {
  const id = await client.finish(receiver.at("/well", leadingAway(200)));
  expect((await client.settled(id)).callback).toMatchObject({ status: "delivered" });
  expect(canary.hits).toEqual([]);
});

/** Hook of Replicate with the canary's URL in every field. */
const prediction = (id: string) => {
  const [get, cancel, stream, web] = Array.from({ length: 4 }, canaryUrl);
  const urls = { get, cancel, stream, web };
  return { id, status: "succeeded", output: [canaryUrl()], urls, webhook: canaryUrl() };
};

async function hook(url: string, body: string, headers = {}): Promise<number> {
  const response = await fetch(url, { method: "POST", headers, body });
  await response.arrayBuffer();
  return response.status;
}

it("the relay passes the output URLs in a provider's hook on in the callback, and does not fetch them", async () => {
  const callback_url = receiver.at("/result", ACCEPTS);
  const { id, hook_url } = await client.register({ provider: "plain", callback_url });
  const job = { provider: "plain", id: "job-plain" };
  await client.ask("POST", `/v1/tasks/${id}/upstream`, job);
  expect(await hook(hook_url, JSON.stringify(prediction("job-plain")))).toBe(200);
  expect(await client.settled(id)).toMatchObject({ callback: { status: "delivered" } });
  expect(receiver.postsAt("/result")[0]?.body).toContain("/canary");
  expect(canary.hits).toEqual([]);
});

it("a provider is polled at its configured address, never at a URL from its hook, and redirects in the response to a poll are not followed", async () => {
  const { id, hook_url } = await client.register({ provider: "polled" });
  await client.ask("POST", `/v1/tasks/${id}/upstream`, { provider: "polled", id: "job-polled" });
  const poll = "/v1/predictions/job-polled";
  receiver.at(poll, leadingAway(302));
  expect(await hook(hook_url, JSON.stringify(prediction("job-polled")))).toBe(200);
  await vi.waitUntil(() => receiver.postsAt(poll).length > 0, POLLED_WITHIN_MS);
  expect(await client.read(id)).toMatchObject({ status: "pending" });
  expect(canary.hits).toEqual([]);
});

it("the relay fetches a provider's public keys from the configured URL without following redirects", async () => {
  const { hook_url } = await client.register({ provider: "keyset" });
  const body = JSON.stringify({ request_id: "job", status: "OK", payload: {} });
  expect(await hook(hook_url, body, new FalKey().sign("job", "user", body))).toBe(503);
  expect(receiver.postsAt("/keyset").length).toBeGreaterThan(0);
  expect(canary.hits).toEqual([]);
});

it("the relay follows no redirects when it sends refunds to SETTLEMENT_URL and operator events to OPERATOR_CALLBACK_URL", async () => {
  const account = `acct-${randomUUID()}`;
  await client.ask("POST", "/v1/accounts", { id: account });
  const callback_url = receiver.at("/refused", { kind: "answer", status: 500 });
  const id = randomUUID();
  const priced = { id, model: "m", account, credits: 3, callback_url };
  expect((await client.ask("POST", "/v1/tasks", priced)).status).toBe(201);
  const { output: _none, ...event } = completedEvent(id, callback_url);
  const failed = { ...event, status: "failed", error: { code: "x", message: "y" } };
  await client.ask("POST", "/v1/events", failed);
  expect(await client.settled(id)).toMatchObject({ callback: { status: "failed" } });
  // A redirect does not count as a refund, so the order was repeated at the same address.
  const orders = receiver.postsAt("/settlement").map(({ answeredStatus }) => answeredStatus);
  expect(orders).toEqual([307, 204]);
  await vi.waitUntil(() => receiver.postsAt("/operator").length > 0, POLLED_WITHIN_MS);
  expect(canary.hits).toEqual([]);
});
