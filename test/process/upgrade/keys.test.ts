import { createHash, randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import * as z from "zod";
import { Client, SECRETS } from "../harness/client.ts";
import { bundleOf, Workerd } from "../harness/workerd.ts";
import { keptBundle } from "../../kept-release/bundle.ts";

const Key = z.looseObject({ id: z.string(), key: z.string().optional() });
const Keys = z.object({ data: z.array(z.looseObject({ id: z.string(), label: z.unknown() })) });
const ACCOUNT = "/v1/accounts/acme";
const IMPORTED = "a-key-of-an-earlier-system";
const IMPORT = { sha256: createHash("sha256").update(IMPORTED).digest("hex"), label: "imported" };

/** Returns the requests of these tests to a relay, whichever release runs; answers are not compared with openapi.json. */
function callerOf(relay: Workerd) {
  const client = new Client(relay);
  const ask = async (method: string, path: string, body?: object) => {
    const response = await client.send(method, path, body);
    const text = await response.text();
    return { status: response.status, json: text === "" ? null : JSON.parse(text) };
  };
  /** Returns the status of the answer to a request with a key of an account. */
  const statusWith = async (key: string, id: string) => {
    const headers = { Authorization: `Bearer ${key}` };
    const response = await fetch(`${relay.url}/v1/tasks/${id}`, { headers });
    await response.body?.cancel();
    return response.status;
  };
  return { ask, statusWith };
}

it("API keys, callback secrets and the balance survive an upgrade from the previous release; after they are changed, they also survive a downgrade to it", async () => {
  const earlier = await keptBundle();
  await using relay = await Workerd.start({ vars: SECRETS, script: earlier });
  const { ask, statusWith } = callerOf(relay);
  const id = randomUUID();
  expect((await ask("POST", "/v1/accounts", { id: "acme" })).status).toBe(201);
  expect((await ask("POST", "/v1/accounts", { id: "other" })).status).toBe(201);
  const generated = Key.parse((await ask("POST", `${ACCOUNT}/keys`, {})).json);
  const imported = Key.parse((await ask("POST", `${ACCOUNT}/keys`, IMPORT)).json);
  const rotate = async () => (await ask("POST", `${ACCOUNT}/signing-secrets`, {})).json;
  const earlierSecrets = await rotate();
  await ask("POST", `${ACCOUNT}/grants`, { reference: "invoice", amount: 10 });
  const task = { id, model: "m", account: "acme", credits: 4 };
  expect((await ask("POST", "/v1/tasks", task)).status).toBe(201);
  const listed = async () => Keys.parse((await ask("GET", `${ACCOUNT}/keys`)).json).data;
  const before = (await listed()).map((key) => key.id);
  const usable = async () => [
    await statusWith(generated.key ?? "", id),
    await statusWith(IMPORTED, id),
  ];

  const expectAllKept = async (secrets: unknown, balance: number) => {
    expect(await usable()).toEqual([200, 200]);
    expect((await listed()).map((key) => key.id)).toEqual(before);
    expect((await ask("GET", `${ACCOUNT}/signing-secrets`)).json).toEqual(secrets);
    expect((await ask("GET", ACCOUNT)).json).toMatchObject({ balance });
  };

  await relay.restart("kept", (await bundleOf()).script);
  await expectAllKept(earlierSecrets, 6);
  const secrets = await rotate();
  await ask("POST", `${ACCOUNT}/grants`, { reference: "second invoice", amount: 5 });
  expect((await ask("POST", "/v1/accounts/other/keys", IMPORT)).status).toBe(409);

  await relay.restart("kept", earlier);
  await expectAllKept(secrets, 11);

  await relay.restart("kept", (await bundleOf()).script);
  expect((await ask("DELETE", `${ACCOUNT}/keys/${imported.id}`)).status).toBe(204);
  expect(await usable()).toEqual([200, 401]);
  expect((await ask("POST", "/v1/accounts/other/keys", IMPORT)).status).toBe(201);
  expect(await statusWith(IMPORTED, id)).toBe(404);
});
