import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { type Client, completedEvent, LOCAL_VARS, SECRETS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { type Vars, Workerd } from "../harness/workerd.ts";
import { Canary } from "./canary.ts";
import { DISGUISED, ITSELF, LIKE_FAL, LOOPBACK, PRIVATE, UNSPECIFIED } from "./forbidden-urls.ts";

// These relays can reach private addresses, so that only the rules for URLs protect these.
const PRODUCTION: Vars = { ...SECRETS, PUBLIC_URL: "https://relay.example.com" };
const FORBIDDEN = [...LOOPBACK, ...UNSPECIFIED, ...PRIVATE, ...DISGUISED, ...ITSELF];

const Refusal = z.object({
  code: z.literal("invalid_request"),
  detail: z.string(),
  issues: z.tuple([z.object({ path: z.literal("/callback_url"), message: z.string() })]),
});

const canary = await forThisFile(Canary.start());
const production = await forThisFile(Workerd.start({ vars: PRODUCTION }));
const development = await forThisFile(Workerd.start({ vars: LOCAL_VARS }));

/** Creates a task that has completed without a callback. */
async function settledTask(client: Client): Promise<string> {
  const id = randomUUID();
  const { callback_url: _none, ...event } = completedEvent(id, "");
  expect((await client.ask("POST", "/v1/events", event)).status).toBe(202);
  return id;
}

/** Expects every route that takes a URL to refuse this one, to name the field and to store nothing. */
async function expectRefused(
  client: Client,
  settledId: string,
  callback_url: string,
): Promise<void> {
  const [registered, reported] = [randomUUID(), randomUUID()];
  const requests: readonly (readonly [string, object])[] = [
    ["/v1/tasks", { id: registered, model: "m", callback_url }],
    ["/v1/events", completedEvent(reported, callback_url)],
    [`/v1/tasks/${settledId}/redeliver`, { callback_url }],
    ["/v1/callbacks/test", { callback_url }],
  ];
  for (const [path, body] of requests) {
    const answer = await client.ask("POST", path, body);
    expect({ path, status: answer.status }).toEqual({ path, status: 400 });
    const { detail, issues } = Refusal.parse(answer.json);
    // A callback_url may carry a token, and the caller may log the refusal.
    expect(`${detail} ${issues[0].message}`).not.toMatch(/planted-token|canary|127\.0|:\/\//);
  }
  for (const id of [registered, reported]) {
    expect((await client.ask("GET", `/v1/tasks/${id}`)).status).toBe(404);
  }
  expect(await client.read(settledId)).toMatchObject({ status: "completed", callback: null });
  expect(canary.hits).toEqual([]);
}

describe("a relay in production", async () => {
  const { client, url: ownUrl } = production;
  const settledId = await settledTask(client);

  it.each(FORBIDDEN)(
    "a relay in production refuses the callback_url %j on every route that takes a callback_url, and does not call it",
    async (url) => {
      await expectRefused(client, settledId, canary.aimed(url));
    },
  );

  it("a relay in production refuses a callback_url that leads to the loopback address and port on which it listens", async () => {
    const { host } = new URL(ownUrl);
    for (const own of [host, host.replace("127.0.0.1", "localhost")]) {
      await expectRefused(client, settledId, `https://${own}/v1/events`);
    }
  });

  it("a relay in production never fetches the output URLs of a completed task", async () => {
    const urls = LOOPBACK.map((url) => canary.aimed(url).replace("https:", "http:"));
    const id = randomUUID();
    const event = { id, status: "completed", model: "m", output: { urls } };
    expect((await client.ask("POST", "/v1/events", event)).status).toBe(202);
    expect(await client.read(id)).toMatchObject({ status: "completed" });
    expect(canary.hits).toEqual([]);
  });
});

describe("a connection in CONNECTIONS", () => {
  const urls = [...FORBIDDEN, ...LIKE_FAL].filter((url) => url.trim() !== "");

  it.each(["base_url", "jwks_url"])(
    "CONNECTIONS is refused when the %s of a connection to a provider does not lead to a host of that provider",
    async (field) => {
      const entries = urls.map((url, nth) => {
        const key = "process-test-fal-key";
        return [`fal-${nth}`, { provider: "fal", key, [field]: canary.aimed(url) }];
      });
      const vars = { ...PRODUCTION, CONNECTIONS: JSON.stringify(Object.fromEntries(entries)) };
      await using relay = await Workerd.start({ vars });
      const { status, json } = await relay.client.ask("GET", "/healthz");
      expect(status).toBe(503);
      const Issue = z.object({ path: z.literal("CONNECTIONS"), message: z.string() });
      const { issues } = z.object({ issues: z.array(Issue) }).parse(json);
      const named = issues.map(({ message }) => / in (fal-\d+): /.exec(message)?.[1]);
      expect(named).toEqual(entries.map(([name]) => name));
      expect(JSON.stringify(json)).not.toMatch(/canary|process-test-fal-key/);
      expect(canary.hits).toEqual([]);
    },
  );
});

describe("a relay for development", () => {
  const { client } = development;

  it("a relay for development refuses a callback_url in a private network, at 0.0.0.0, or at a disguised loopback address such as [::ffff:127.0.0.1]", async () => {
    const settledId = await settledTask(client);
    for (const url of [...UNSPECIFIED, ...PRIVATE]) {
      await expectRefused(client, settledId, canary.aimed(url));
    }
  });

  it.each(["127.0.0.1", "2130706433", "0x7f.1", "１２７。０。０。１", "localhost", "LOCALHOST"])(
    "when a relay for development sends a test callback to the loopback host %s, the server with which the tests detect forbidden requests notices it",
    async (host) => {
      for (const port of canary.ports) {
        canary.hits.length = 0;
        const callback_url = `https://${host}:${port}/`;
        const { json } = await client.ask("POST", "/v1/callbacks/test", { callback_url });
        expect(json).toMatchObject({ outcome: "unreachable" });
        expect(canary.hits.length).toBeGreaterThan(0);
        canary.hits.length = 0;
      }
    },
  );
});
