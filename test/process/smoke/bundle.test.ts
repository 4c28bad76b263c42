import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { completedEvent, LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { bundleWithoutConsole } from "../harness/without-console.ts";
import { bundleOf, Workerd } from "../harness/workerd.ts";

const gzipKib = (script: string) => gzipSync(script).length / 1024;

it("the deployed bundle, gzipped, is smaller than 228 KiB, and smaller than 100 KiB without the parts that are evaluated when they are first asked for: console, documentation, overviews and the check of callbacks", async () => {
  const { script } = await bundleOf();
  expect(gzipKib(script)).toBeLessThan(228);
  expect(gzipKib(await bundleWithoutConsole())).toBeLessThan(100);
});

const BUNDLES = [
  ["the deployed bundle", async () => (await bundleOf()).script],
  ["a bundle in which the module of the console throws as it is loaded", bundleWithoutConsole],
] as const;

it.each(BUNDLES)(
  "%s serves a task from registration to deletion on plain workerd when only the Durable Objects TASKS and ACCOUNTS are bound",
  async (_, scriptOf) => {
    await using receiver = await Receiver.start();
    await using relay = await Workerd.start({ vars: LOCAL_VARS, script: await scriptOf() });
    const { client } = relay;
    const id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff";
    const callback_url = receiver.at("/done", { kind: "answer", status: 204 });
    const status = async (method: string, path: string, body?: object) =>
      (await client.ask(method, path, body)).status;

    const registration = { id, model: "seedance-1-pro", callback_url, metadata: { order: "17" } };
    expect(await status("POST", "/v1/tasks", registration)).toBe(201);
    const waiting = { status: "waiting", attempts: [] };
    expect(await client.read(id)).toMatchObject({ status: "pending", callback: waiting });

    const event = completedEvent(id, callback_url);
    expect(await status("POST", "/v1/events", event)).toBe(202);
    expect(await status("POST", "/v1/events", event)).toBe(200);
    expect(await client.settled(id)).toMatchObject({
      status: "completed",
      callback: { status: "delivered", attempts: [{ number: 1, series: 1, status_code: 204 }] },
    });

    expect(await status("POST", `/v1/tasks/${id}/redeliver`)).toBe(202);
    expect((await client.settled(id)).callback?.attempts).toMatchObject([
      { number: 1, series: 1, outcome: "delivered" },
      { number: 2, series: 2, outcome: "delivered" },
    ]);
    expect(receiver.posts.map(await client.verifier())).toMatchObject([{ id }, { id }]);

    expect(await status("DELETE", `/v1/tasks/${id}`)).toBe(204);
    expect(await status("GET", `/v1/tasks/${id}`)).toBe(404);
  },
);

it("the module of the console is loaded when a browser first asks for a page, and not before", async () => {
  await using relay = await Workerd.start({
    vars: LOCAL_VARS,
    script: await bundleWithoutConsole(),
  });
  const statusOf = async (path: string, headers = {}) =>
    (await fetch(relay.url + path, { headers })).status;
  expect(await statusOf("/healthz")).toBe(200);
  expect(await statusOf("/wp-login.php")).toBe(404);
  expect(await statusOf("/v1/nowhere", { Accept: "text/html" })).toBe(404);
  expect(await statusOf("/nowhere", { Accept: "text/html" })).toBe(500);
  expect(relay.output).toContain("evaluated");
});
