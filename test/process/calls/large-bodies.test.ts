import { createHash, randomUUID } from "node:crypto";
import { expect, it, vi } from "vitest";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { startRelay } from "../harness/relay.ts";
import { formOf } from "./form.ts";
import { Gateway } from "./gateway.ts";

const MIB = 1024 * 1024;

it("a form of 64 MiB, the largest that MAX_ASYNC_MB allows, reaches the upstream from the object of its call with the same bytes", async () => {
  await using gateway = await Gateway.start((_, response) => {
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ id: "task_1", task_id: "task_1", status: "queued" }));
  });
  await using relay = await startRelay({
    vars: { ...LOCAL_VARS, ...gateway.vars, MAX_ASYNC_MB: "64" },
  });
  const id = randomUUID();
  const { body, type } = formOf({ model: "sora-2" }, 64 * MIB);
  const response = await fetch(`${relay.url}/v1/submit/newapi/v1/videos`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${OPERATOR_KEY}`,
      "Content-Type": type,
      Prefer: "respond-async",
      "Relay-Task-Id": id,
    },
    body,
  });
  expect([response.status, await response.json()]).toMatchObject([202, { id }]);
  await vi.waitUntil(() => gateway.calls.length > 0, { timeout: 60_000 });
  expect(gateway.calls).toMatchObject([
    {
      bytes: body.length,
      digest: createHash("sha256").update(body).digest("hex"),
      headers: { "content-length": String(body.length), "content-type": type },
    },
  ]);
  const read = async () => (await relay.client.ask("GET", `/v1/tasks/${id}`)).json;
  await vi.waitFor(
    async () => expect(await read()).toMatchObject({ submission: { state: "accepted" } }),
    { timeout: 60_000, interval: 200 },
  );
});
