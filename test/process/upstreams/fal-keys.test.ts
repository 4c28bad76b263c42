import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { freePort } from "../harness/child.ts";
import { Client, SECRETS } from "../harness/client.ts";
import { FalKey } from "./api.ts";
import { Workerd } from "../harness/workerd.ts";

const USER = "process-test-fal-user";
/** A key set is looked at again for an unknown key, but not sooner. */
const REFRESH_PAUSE_MS = 30_000;
const JOB = "764cabcf-b745-4b3e-ae38-1200304cf45b";
const VIDEO = "https://v3.fal.media/files/a/b.mp4";
const BODY = JSON.stringify({ request_id: JOB, status: "OK", payload: { video: { url: VIDEO } } });
const CONNECTIONS = ["valid", "pinned", "anyone", "rotated", "unasked", "down", "hanging"] as const;

type Publish =
  | "hang"
  | { readonly status: number; readonly body: string; readonly headers?: Record<string, string> };

let server: Server;
let relay: Workerd;
let client: Client;
/** What is published for each connection; nothing: the server answers 500. */
const published = new Map<string, Publish>();
const fetched: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    const name = (request.url ?? "").slice(1);
    fetched.push(name);
    const answer = published.get(name) ?? { status: 500, body: "" };
    if (answer !== "hang") response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  const port = await freePort();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const entries = CONNECTIONS.map((name) => {
    const user = name === "anyone" ? {} : { user_id: USER };
    const jwks_url = `http://127.0.0.1:${port}/${name}`;
    return [name, { provider: "fal", jwks_url, ...user }];
  });
  const vars = { ALLOW_LOCAL_CALLBACKS: "true" };
  relay = await Workerd.start({
    vars: { ...SECRETS, ...vars, CONNECTIONS: JSON.stringify(Object.fromEntries(entries)) },
  });
  client = new Client(relay);
});

afterAll(async () => {
  await relay?.stop();
  server?.closeAllConnections();
  server?.close();
});

function publish(name: string, ...keys: readonly object[]): void {
  published.set(name, { status: 200, body: JSON.stringify({ keys }) });
}

const Registered = z.object({ id: z.string(), hook_url: z.string() });

/** A task of a connection. */
async function registered(connection: (typeof CONNECTIONS)[number]) {
  const body = { id: randomUUID(), model: "m", provider: connection };
  const { json } = await client.ask("POST", "/v1/tasks", body);
  const { id, hook_url } = Registered.parse(json);
  return {
    hook: async (key: FalKey, user = USER) => {
      const headers = key.sign(JOB, user, BODY);
      const response = await fetch(hook_url, { method: "POST", headers, body: BODY });
      const text = await response.text();
      return { status: response.status, text, retryAfter: response.headers.get("Retry-After") };
    },
    status: async () => (await client.read(id)).status,
  };
}

describe.concurrent("the keys of fal's hooks", () => {
  it("are fetched once, and their signature is believed", async () => {
    const [key, other] = [new FalKey(), new FalKey()];
    const rsa = { kty: "RSA", n: "AQAB", e: "AQAB" };
    const unusable = { kty: "OKP", crv: "Ed25519", x: "_".repeat(43) };
    publish("valid", rsa, unusable, other.jwk, key.jwk);
    for (const signer of [key, other]) {
      const task = await registered("valid");
      expect(await task.hook(signer)).toMatchObject({ status: 200, text: "ok" });
      expect(await task.status()).toBe("completed");
    }
    expect(fetched.filter((name) => name === "valid")).toHaveLength(1);
  });

  it("are not enough under another account of fal's", async () => {
    const key = new FalKey();
    publish("anyone", key.jwk);
    publish("pinned", key.jwk);
    const task = await registered("pinned");
    expect(await task.hook(key, "another-user")).toMatchObject({ status: 401 });
    expect(await task.status()).toBe("pending");
    expect(await task.hook(key)).toMatchObject({ status: 200 });
    // Without an id of ours to compare with, any account's hook is as good as an unsigned one.
    const unpinned = await registered("anyone");
    expect(await unpinned.hook(key, "another-user")).toMatchObject({ status: 200 });
    expect(await unpinned.hook(new FalKey())).toMatchObject({ status: 401 });
  });

  it("are fetched again for one that is unknown, but not at once", async () => {
    const [before, after, stranger] = [new FalKey(), new FalKey(), new FalKey()];
    publish("rotated", before.jwk);
    const first = await registered("rotated");
    expect(await first.hook(before)).toMatchObject({ status: 200 });
    const fetchedAt = Date.now();
    publish("rotated", after.jwk);
    const task = await registered("rotated");
    expect(await task.hook(stranger)).toMatchObject({ status: 401 });
    expect(await task.status()).toBe("pending");
    expect(fetched.filter((name) => name === "rotated")).toHaveLength(1);
    await sleep(REFRESH_PAUSE_MS - (Date.now() - fetchedAt) + 500);
    expect(await task.hook(after)).toMatchObject({ status: 200, text: "ok" });
    expect(await task.status()).toBe("completed");
    expect(fetched.filter((name) => name === "rotated")).toHaveLength(2);
    // The one that was replaced is no key any more.
    const last = await registered("rotated");
    expect(await last.hook(before)).toMatchObject({ status: 401 });
  });

  it("are not fetched for a hook that another account signed", async () => {
    const task = await registered("unasked");
    expect(await task.hook(new FalKey(), "another-user")).toMatchObject({ status: 401 });
    expect(fetched).not.toContain("unasked");
  });
});

describe("a hook whose keys cannot be had", () => {
  it.each([
    ["answers 500", { status: 500, body: "" }],
    ["answers 404 with keys", { status: 404, body: '{"keys":[]}' }],
    ["redirects", { status: 302, body: "", headers: { Location: "/elsewhere" } }],
    ["sends no JSON", { status: 200, body: "<html>" }],
    ["sends another JSON", { status: 200, body: '{"key":1}' }],
  ] as const)("is answered 503 with Retry-After, and never taken: it %s", async (_, answer) => {
    const key = new FalKey();
    published.set("down", answer);
    const task = await registered("down");
    expect(await task.hook(key)).toMatchObject({
      status: 503,
      retryAfter: expect.stringMatching(/^[1-9]\d*$/),
    });
    expect(await task.status()).toBe("pending");
    expect(fetched).not.toContain("elsewhere");
  });
});

describe("a server of keys that never answers", () => {
  it("is given up within the time that a hook has, and the hook is taken when it is back", async () => {
    const key = new FalKey();
    published.set("hanging", "hang");
    const task = await registered("hanging");
    expect(await task.hook(key)).toMatchObject({ status: 503 });
    expect(await task.status()).toBe("pending");
    publish("hanging", key.jwk);
    expect(await task.hook(key)).toMatchObject({ status: 200, text: "ok" });
    expect(await task.status()).toBe("completed");
    // Known keys do not need it any more.
    published.set("hanging", "hang");
    expect(await (await registered("hanging")).hook(key)).toMatchObject({ status: 200 });
  });
});
