import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { Client, completedEvent, SECRETS } from "../harness/client.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { Canary } from "./canary.ts";
import { FalKey } from "../upstreams/api.ts";
import { until } from "../upstreams/fake-upstream.ts";
import { Workerd } from "../harness/workerd.ts";

const POLLED_WITHIN_MS = 60_000;
const TAKEN = { kind: "answer", status: 204 } as const;

const Registered = z.object({ id: z.string(), hook_url: z.string() });

let canary: Canary;
let receiver: Receiver;
let relay: Workerd;
let client: Client;

// Loopback is allowed here, so nothing but the relay's own restraint keeps it from the canary.
beforeAll(async () => {
  canary = await Canary.start();
  receiver = await Receiver.start();
  const origin = new URL(receiver.at("/", TAKEN)).origin;
  const connections = {
    replicate: { provider: "replicate" },
    polled: { provider: "replicate", key: "process-test-replicate-token", base_url: origin },
    keyset: { provider: "fal", jwks_url: receiver.at("/keyset", leadingAway(302)) },
  };
  const { replicate, ...rest } = connections;
  relay = await Workerd.start({
    vars: {
      ...SECRETS,
      ALLOW_LOCAL_CALLBACKS: "true",
      CALLBACK_SCHEDULE_S: "0",
      SETTLEMENT_URL: receiver.at("/settlement", leadingAway(307), TAKEN),
      OPERATOR_CALLBACK_URL: receiver.at("/operator", leadingAway(308)),
      CONNECTIONS: JSON.stringify({ ...rest, plain: replicate }),
    },
  });
  client = new Client(relay);
});

afterAll(async () => {
  await relay?.stop();
  await receiver?.stop();
  await canary?.[Symbol.asyncDispose]();
});

function canaryUrl(): string {
  return canary.aimed("http://127.0.0.1:PORT/canary");
}

/** An answer with every header that a follower of links might follow. */
function leadingAway(status: number): Behaviour {
  const url = canaryUrl();
  const headers = {
    Location: url,
    "Content-Location": url,
    Refresh: `0; url=${url}`,
    Link: `<${url}>; rel="preload", <${url}>; rel="next"`,
  };
  const body = `<meta http-equiv="refresh" content="0; url=${url}">`;
  return { kind: "answer", status, headers, body };
}

describe("a receiver that sends the relay elsewhere", () => {
  it.each([300, 301, 302, 303, 304, 305, 307, 308])("is not followed: %i", async (status) => {
    const answer = status === 304 ? { ...leadingAway(304), body: "" } : leadingAway(status);
    const callback_url = receiver.at(`/test/${status}`, answer);
    const { json } = await client.ask("POST", "/v1/callbacks/test", { callback_url });
    expect(json).toMatchObject({ outcome: "redirected", status_code: status });

    const automatic = receiver.at(`/automatic/${status}`, answer);
    const { callback } = await client.settled(await client.finish(automatic));
    expect(callback).toMatchObject({
      status: "failed",
      attempts: [{ outcome: "redirected", status_code: status }],
    });
    expect(receiver.postsAt(`/automatic/${status}`)).toHaveLength(1);
    expect(canary.hits).toEqual([]);
  });

  it("is not followed either when it says that all is well", async () => {
    const { callback } = await client.settled(
      await client.finish(receiver.at("/well", leadingAway(200))),
    );
    expect(callback).toMatchObject({ status: "delivered" });
    expect(canary.hits).toEqual([]);
  });
});

/** What Replicate posts, with every URL in it the canary's. */
const prediction = (id: string) => {
  const [get, cancel, stream, web] = Array.from({ length: 4 }, canaryUrl);
  const urls = { get, cancel, stream, web };
  return { id, status: "succeeded", output: [canaryUrl()], urls, webhook: canaryUrl() };
};

async function registered(provider: string, fields: object = {}) {
  const body = { id: randomUUID(), model: "m", provider, ...fields };
  return Registered.parse((await client.ask("POST", "/v1/tasks", body)).json);
}

async function hook(url: string, body: object): Promise<number> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  await response.arrayBuffer();
  return response.status;
}

describe("an upstream that names URLs", () => {
  it("is believed about a result, which is handed on and not fetched", async () => {
    const callback_url = receiver.at("/result", TAKEN);
    const { id, hook_url } = await registered("plain", { callback_url });
    const job = { provider: "plain", id: "job-plain" };
    await client.ask("POST", `/v1/tasks/${id}/upstream`, job);
    expect(await hook(hook_url, prediction("job-plain"))).toBe(200);
    expect(await client.settled(id)).toMatchObject({ callback: { status: "delivered" } });
    expect(receiver.postsAt("/result")[0]?.body).toContain("/canary");
    expect(canary.hits).toEqual([]);
  });

  it("is asked under its own address, never under one that a hook names", async () => {
    const { id, hook_url } = await registered("polled");
    await client.ask("POST", `/v1/tasks/${id}/upstream`, { provider: "polled", id: "job-polled" });
    expect(await hook(hook_url, prediction("job-polled"))).toBe(200);
    const poll = "/v1/predictions/job-polled";
    await until(() => receiver.postsAt(poll).length > 0, POLLED_WITHIN_MS);
    expect(canary.hits).toEqual([]);
  });

  it.each([
    ["id", "../../canary"],
    ["id", "@127.0.0.1/canary"],
    ["id", "a?url=http://127.0.0.1"],
    ["id", "a#b"],
    ["id", "a/b"],
    ["id", "..%2f"],
    ["endpoint", "//127.0.0.1/canary"],
    ["endpoint", "a/../../b"],
    ["endpoint", "http://127.0.0.1/canary"],
    ["endpoint", "a@b"],
    ["endpoint", "a\\b"],
  ])("has no job whose %s leads out of its place: %s", async (field, value) => {
    const { id } = await registered("polled");
    const job = { provider: "polled", id: "job", [field]: value };
    const { status, json } = await client.ask("POST", `/v1/tasks/${id}/upstream`, job);
    expect({ status, json }).toMatchObject({
      status: 400,
      json: { issues: [{ path: `/${field}` }] },
    });
  });

  it("has its keys where they are configured, or none", async () => {
    const { hook_url } = await registered("keyset");
    const body = JSON.stringify({ request_id: "job", status: "OK", payload: {} });
    const headers = new FalKey().sign("job", "user", body);
    const response = await fetch(hook_url, { method: "POST", headers, body });
    await response.arrayBuffer();
    expect(response.status).toBe(503);
    expect(receiver.postsAt("/keyset").length).toBeGreaterThan(0);
    expect(canary.hits).toEqual([]);
  });
});

describe("the operator's own addresses", () => {
  it("are not left by a redirect: no refund and no notice goes elsewhere", async () => {
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
    // The redirect was no "yes": the order to refund came again, to the same place.
    const orders = receiver.postsAt("/settlement").map(({ answeredStatus }) => answeredStatus);
    expect(orders).toEqual([307, 204]);
    await until(() => receiver.postsAt("/operator").length > 0, POLLED_WITHIN_MS);
    expect(canary.hits).toEqual([]);
  });
});
