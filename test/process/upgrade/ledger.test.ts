import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import * as z from "zod";
import { Client, SECRETS } from "../harness/client.ts";
import { bundleOf, Workerd } from "../harness/workerd.ts";
import { keptBundle } from "./releases.ts";

const Entries = z.object({ data: z.array(z.looseObject({ kind: z.string(), amount: z.int() })) });

it("an account's ledger and balance, also a negative one, survive an upgrade from the release 1-accounts and a downgrade back to it", async () => {
  const earlier = await keptBundle("1-accounts");
  await using relay = await Workerd.start({ vars: SECRETS, script: earlier });
  const client = new Client(relay);
  // The answers of the earlier release are not those that openapi.json describes, so `client.ask` is not used.
  const ask = async (method: string, path: string, body?: object) => {
    const response = await client.send(method, path, body);
    return { status: response.status, json: await response.json() };
  };
  const post = (path: string, body: object) => ask("POST", path, body);
  const books = async () => {
    const { json } = await ask("GET", "/v1/accounts/acme/entries");
    return Entries.parse(json).data.map(({ kind, amount }) => `${kind} ${amount}`);
  };
  const id = randomUUID();
  const task = { id, model: "m", account: "acme", credits: 4 };
  expect((await post("/v1/accounts", { id: "acme" })).status).toBe(201);
  await post("/v1/accounts/acme/grants", { reference: "invoice", amount: 10 });
  expect((await post("/v1/tasks", task)).status).toBe(201);

  await relay.restart("kept", (await bundleOf()).script);
  const restored = await post("/v1/accounts", { id: "acme" });
  expect(restored).toMatchObject({ status: 200, json: { balance: 6 } });
  expect((await post("/v1/accounts/acme/keys", {})).status).toBe(201);
  expect((await post("/v1/tasks", task)).status).toBe(200);
  const order = { reference: "audit", amount: -15, reason: "Counted twice" };
  expect(await post("/v1/accounts/acme/adjustments", order)).toMatchObject({
    status: 201,
    json: { balance: -9 },
  });
  expect((await post(`/v1/tasks/${id}/cancel`, {})).status).toBe(200);
  expect((await post("/v1/tasks", { ...task, id: randomUUID() })).status).toBe(402);
  expect(await books()).toEqual(["refund 4", "adjustment -15", "charge 4", "grant 10"]);

  await relay.restart("kept", earlier);
  const granted = await post("/v1/accounts/acme/grants", { reference: "second", amount: 10 });
  expect(granted).toMatchObject({ status: 201, json: { balance: 5 } });
  expect(await books()).toHaveLength(5);
});
