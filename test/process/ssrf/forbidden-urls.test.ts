import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { Client, completedEvent, SECRETS } from "../harness/client.ts";
import { Canary } from "./canary.ts";
import {
  DISGUISED,
  ITSELF,
  LIKE_A_PROVIDER,
  LOOPBACK,
  PRIVATE,
  UNSPECIFIED,
} from "./forbidden-urls.ts";
import { type Vars, Workerd } from "../harness/workerd.ts";

// The network of these relays reaches private addresses, so it is the policy alone that holds.
const PRODUCTION: Vars = { ...SECRETS, PUBLIC_URL: "https://relay.example.com" };
const DEVELOPMENT: Vars = { ...SECRETS, ALLOW_LOCAL_CALLBACKS: "true" };

const NEVER = [...LOOPBACK, ...UNSPECIFIED, ...PRIVATE, ...DISGUISED, ...ITSELF];

const Refusal = z.object({
  code: z.literal("invalid_request"),
  detail: z.string(),
  issues: z.tuple([z.object({ path: z.literal("/callback_url"), message: z.string() })]),
});

/** Posts a URL by every route that takes one; throws unless each refuses it and names the field. */
class Doors {
  readonly #client: Client;
  readonly #settledId: string;

  constructor(client: Client, settledId: string) {
    this.#client = client;
    this.#settledId = settledId;
  }

  async refuse(callback_url: string): Promise<void> {
    const [registered, reported] = [randomUUID(), randomUUID()];
    const tries: readonly (readonly [string, object])[] = [
      ["/v1/tasks", { id: registered, model: "m", callback_url }],
      ["/v1/events", completedEvent(reported, callback_url)],
      [`/v1/tasks/${this.#settledId}/redeliver`, { callback_url }],
      ["/v1/callbacks/test", { callback_url }],
    ];
    for (const [path, body] of tries) {
      const answer = await this.#client.ask("POST", path, body);
      expect({ path, status: answer.status }).toEqual({ path, status: 400 });
      const { detail, issues } = Refusal.parse(answer.json);
      // A callback_url may carry a token, and a refusal is logged by whoever gets it.
      const said = `${detail} ${issues[0].message}`;
      expect(said).not.toMatch(/planted-token|canary|127\.0|:\/\//);
    }
    for (const id of [registered, reported]) {
      expect((await this.#client.ask("GET", `/v1/tasks/${id}`)).status).toBe(404);
    }
    const settled = await this.#client.read(this.#settledId);
    expect(settled).toMatchObject({ status: "completed", callback: null });
  }
}

/** A task that has completed without any callback. */
async function settledTask(client: Client): Promise<string> {
  const id = randomUUID();
  const { callback_url: _none, ...event } = completedEvent(id, "");
  const { status } = await client.ask("POST", "/v1/events", event);
  expect(status).toBe(202);
  return id;
}

let canary: Canary;

beforeAll(async () => {
  canary = await Canary.start();
});

afterAll(() => canary[Symbol.asyncDispose]());

describe("a relay as it is deployed", () => {
  let relay: Workerd;
  let doors: Doors;

  beforeAll(async () => {
    relay = await Workerd.start({ vars: PRODUCTION });
    const client = new Client(relay);
    doors = new Doors(client, await settledTask(client));
  });

  afterAll(() => relay?.stop());

  it.each(NEVER)("neither takes nor calls %j, by any route", async (spelling) => {
    await doors.refuse(canary.aimed(spelling));
    expect(canary.hits).toEqual([]);
  });

  it("does not take its own address, by which it was asked", async () => {
    const { host } = new URL(relay.url);
    await doors.refuse(`https://${host}/v1/events`);
    await doors.refuse(`https://${host.replace("127.0.0.1", "localhost")}/v1/events`);
  });

  it("never fetches a result, wherever it lies", async () => {
    const client = new Client(relay);
    const urls = LOOPBACK.map((spelling) => canary.aimed(spelling).replace("https:", "http:"));
    const id = randomUUID();
    const event = { id, status: "completed", model: "m", output: { urls } };
    expect((await client.ask("POST", "/v1/events", event)).status).toBe(202);
    expect(await client.read(id)).toMatchObject({ status: "completed" });
    expect(canary.hits).toEqual([]);
  });
});

describe("a connection in CONNECTIONS", () => {
  const spellings = [...NEVER, ...LIKE_A_PROVIDER].filter((spelling) => spelling.trim() !== "");

  it.each(["base_url", "jwks_url"])(
    "has its %s at the provider's, or nothing runs",
    async (field) => {
      const entries = spellings.map((spelling, nth) => {
        const key = "process-test-fal-key";
        return [`fal-${nth}`, { provider: "fal", key, [field]: canary.aimed(spelling) }];
      });
      const connections = JSON.stringify(Object.fromEntries(entries));
      await using relay = await Workerd.start({
        vars: { ...PRODUCTION, CONNECTIONS: connections },
      });
      const { status, json } = await new Client(relay).ask("GET", "/healthz");
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
  let relay: Workerd;
  let client: Client;

  beforeAll(async () => {
    relay = await Workerd.start({ vars: DEVELOPMENT });
    client = new Client(relay);
  });

  afterAll(() => relay?.stop());

  it("takes loopback only: not its other spellings, and no private network", async () => {
    const doors = new Doors(client, await settledTask(client));
    for (const spelling of [...UNSPECIFIED, ...PRIVATE]) await doors.refuse(canary.aimed(spelling));
    expect(canary.hits).toEqual([]);
  });

  it.each(["127.0.0.1", "2130706433", "0x7f.1", "１２７。０。０。１", "localhost", "LOCALHOST"])(
    "reaches the canary at %s, so that its silence means something",
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
