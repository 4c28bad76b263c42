import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import * as z from "zod";
import { queueObject } from "../../src/objects/object-names.ts";
import { env } from "../../src/startup.ts";
import { logIn, visit } from "./browser.ts";
import { callWith, ORIGIN } from "./client.ts";
import { pass, START, useClock } from "./clock.ts";
import { namespaceWith } from "./lost-calls.ts";
import { started } from "./started.ts";

useClock();

const FULL = `places-${crypto.randomUUID().slice(0, 8)}`;
const MEMBER = `${FULL}-b`;
const CONNECTIONS = JSON.stringify({
  [FULL]: { provider: "ark", key: "test-only-ark-key", in_flight: 2 },
  [MEMBER]: { provider: "ark", key: "test-only-ark-key-b" },
  "places-all": { provider: "pool", of: [FULL, MEMBER] },
  "places-none": { provider: "ark", key: "test-only-ark-key-c" },
});
const RELAY = { ...env, PUBLIC_URL: ORIGIN, CONNECTIONS };
const SINCE_S = Math.floor(START / 1000);

/** Returns the queue of a connection, with the connections of this test. */
async function aQueue(connection: string) {
  const stub = queueObject(env, connection);
  const value = await started(RELAY);
  await runInDurableObject(stub, (instance) => Object.defineProperty(instance, "env", { value }));
  const ask = (submissionId: string, account: string | null, waitedMs = 0) => {
    const order = { submissionId, taskId: crypto.randomUUID(), account, via: connection };
    return stub.ask({ ...order, attempt: 1, since: Date.now() - waitedMs, mayWait: true });
  };
  return { stub, ask };
}

const Health = z.object({ connections: z.record(z.string(), z.looseObject({})) });
const healthOf = async (bindings: object = RELAY) =>
  Health.parse(await (await callWith(bindings, "/healthz")).json()).connections;

/** Returns the texts of the cells in the row of a connection, in the table of places. */
async function rowOf(connection: string): Promise<string> {
  const page = await visit("/providers", await logIn(undefined, RELAY), {}, RELAY);
  const html = await page.text();
  const [, row = ""] = html.split(`id="places-${connection}"`)[1]?.match(/>([^]*?)<\/tr>/) ?? [];
  return row.replaceAll(/<[^>]+>/g, " ").replaceAll(/\s+/g, " ");
}

it("GET /healthz and the console's page of providers show, of each connection with a limit and each member of a pool, the places, who waits, and cool-downs", async () => {
  const { stub, ask } = await aQueue(FULL);
  await ask("a", "acme", 4_000);
  for (const id of ["b", "c"]) await ask(id, "acme");
  pass(30_000);
  await ask("d", null);
  expect(await healthOf()).toMatchObject({
    [FULL]: {
      in_flight: 2,
      places: { held: 2, waiting: 2, oldest_since: SINCE_S, wait_ms: { p50: 0, p99: 4_000 } },
    },
    [MEMBER]: { places: { held: 0, waiting: 0 } },
  });
  expect(await rowOf(FULL)).toMatch(
    /2 of 2 2, the first came 30 s ago latest waits: median 0 ms, 99 % 4 s acme : 1 first came 30 s ago , has 2 places operator: 1 first came now , has 0 places none /,
  );
  expect(await rowOf(MEMBER)).toMatch(/0, no limit .* nobody /);
  const refused = { attempt: 1, retryAfterMs: null } as const;
  await stub.refuse({ ...refused, submissionId: "a", refusal: "busy" });
  await stub.refuse({ ...refused, submissionId: "b", refusal: "key" });
  const now = Math.floor(Date.now() / 1000);
  const places = { held: 0, waiting: 2, cool_until: now + 15, out_until: now + 600 };
  expect(await healthOf()).toMatchObject({ [FULL]: { places } });
  const row = await rowOf(FULL);
  expect(row).toMatch(/Busy, or too many calls: places are given again in 15 s at the latest/);
  expect(row).toMatch(
    /Key refused, or no money left there: pools leave it out, and try it again in 10 min/,
  );
});

it("GET /healthz states no places of a connection without a limit that is in no pool, and of a queue that cannot be reached", async () => {
  const QUEUES = namespaceWith(env.QUEUES, {
    state: () => Promise.reject(new Error("unreachable")),
  });
  const connections = await healthOf({ ...RELAY, QUEUES });
  for (const name of [FULL, "places-none"]) {
    expect(connections[name]).toMatchObject({ key: "set" });
    expect(connections[name]).not.toHaveProperty("places");
  }
});

it("the console's page of providers has no table of places when no connection has a limit", async () => {
  const page = await visit("/providers", await logIn());
  expect(await page.text()).not.toContain("Places for jobs in flight");
});
