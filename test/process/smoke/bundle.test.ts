import { expect, it } from "vitest";
import { completedEvent, LOCAL_VARS } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";

it("on plain workerd, with no bindings but its Durable Object classes, the deployed bundle serves a task from registration to deletion", async () => {
  await using receiver = await Receiver.start();
  await using relay = await Workerd.start({ vars: LOCAL_VARS });
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
});

it("while a Worker starts, the released workerd lets zod generate code for the compiled schemas", async () => {
  await using relay = await Workerd.start({ vars: LOCAL_VARS, entry: "generated-code.ts" });
  expect((await relay.client.send("GET", "/healthz")).status).toBe(200);
});
