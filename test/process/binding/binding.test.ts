import { join } from "node:path";
import { expect, it } from "vitest";
import { EXPECTED } from "../client/expected.ts";
import { PackedClient } from "../client/packed-client.ts";
import { scenarioInput } from "../client/scenario-input.ts";
import { LOCAL_VARS } from "../harness/client.ts";
import { DocumentedWorker } from "../harness/documented-worker.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";

const client = await forThisFile(PackedClient.install());
const receiver = await forThisFile(Receiver.start());
const vars = {
  ...LOCAL_VARS,
  PUBLIC_URL: "https://relay.example.com",
  SANDBOX: "true",
  FAL_KEY: "test-key",
  ARK_API_KEY: "test-key",
};

it("over a service binding, a Worker that has the client's npm package and no key submits, registers, reports, awaits, redelivers, cancels and erases tasks", async () => {
  await using relay = await Workerd.start({ vars, boundScript: await client.workerScript() });
  const input = await scenarioInput(relay, receiver);
  const body = JSON.stringify({ ...input, key: "not sent" });
  const response = await fetch(relay.boundUrl, { method: "POST", body });
  expect(await response.json()).toEqual(EXPECTED);
});

it("the example Worker in docs/binding.md type-checks, and submits a job once, however often it gets the same order", async () => {
  await using worker = await DocumentedWorker.create(
    "binding.md",
    join(client.directory, "node_modules"),
  );
  expect(await worker.typeErrors()).toBe("");
  const answer = { kind: "answer", status: 200, body: '{"id":"cgt-1"}' } as const;
  receiver.at("/contents/generations/tasks", answer);
  const ark = { ...vars, ARK_BASE_URL: receiver.origin };
  await using relay = await Workerd.start({ vars: ark, boundScript: worker.script });
  const callback_url = receiver.at("/documented", { kind: "answer", status: 204 });
  const order = { order: crypto.randomUUID(), prompt: "a fox", callback_url };
  const send = () => fetch(relay.boundUrl, { method: "POST", body: JSON.stringify(order) });
  const [first, again] = [await send(), await send()];
  expect([first.status, await first.text(), await again.text()]).toEqual([
    200,
    answer.body,
    answer.body,
  ]);
  const [post, ...others] = receiver.postsAt("/contents/generations/tasks");
  expect([post?.headers["authorization"], others]).toEqual(["Bearer test-key", []]);
  const id = first.headers.get("Relay-Task-Id") ?? "";
  expect(JSON.parse(post?.body ?? "")).toMatchObject({
    content: [{ type: "text", text: "a fox" }],
    callback_url: expect.stringContaining(`https://relay.example.com/hooks/ark/${id}/`),
  });
  const { json } = await relay.client.ask("GET", `/v1/tasks/${id}`);
  expect(json).toMatchObject({ id, callback: { url: callback_url }, upstream: { id: "cgt-1" } });
});
