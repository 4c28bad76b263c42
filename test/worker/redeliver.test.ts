import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { callWith, invalid, ORIGIN, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { expectUnchanged, restart, untilIdle } from "./objects.ts";
import { aReceiver, refused, status } from "./receiver.ts";
import { completed, read, redeliver, register } from "./tasks.ts";

useClock();

const REPAIRED = "https://repaired.example.net/hook";

function redeliverWith(key: string, id: string, body: unknown = ""): Promise<Response> {
  return redeliver(id, body, { headers: { "Idempotency-Key": key } });
}

it("POST /v1/tasks/{id}/redeliver sends a delivered callback again with the same webhook-id, in a new series of attempts", async () => {
  const received = aReceiver();
  const id = await completed();
  pass(60_000);
  const response = await redeliver(id);
  expect(response.status).toBe(202);
  expect(await response.json()).toMatchObject({
    callback: { status: "sending", delivered_at: START_S },
  });
  await untilIdle(id);
  expect(await read(id)).toMatchObject({
    callback: {
      status: "delivered",
      attempts: [
        { number: 1, series: 1, started_at: START_S },
        { number: 2, series: 2, started_at: START_S + 60 },
      ],
      delivered_at: START_S,
    },
  });
  const body = received[0]?.body;
  expect(received).toMatchObject(
    ["1", "2"].map((attempt) => ({
      body,
      headers: { "x-attempt": attempt, "webhook-id": `msg_${id}` },
    })),
  );
});

it("POST /v1/tasks/{id}/redeliver makes one attempt when the field attempts is missing or null", async () => {
  const received = aReceiver(status(200), refused);
  const id = await completed();
  for (const body of ["", "{}", { attempts: null, callback_url: null }]) {
    expect((await redeliver(id, body)).status).toBe(202);
    await untilIdle(id);
    expect(await read(id)).toMatchObject({ callback: { status: "failed" } });
  }
  expect(received).toHaveLength(4);
});

it("POST /v1/tasks/{id}/redeliver answers 409 no_callback for a task without a callback_url, unless the body has one", async () => {
  const received = aReceiver();
  const id = await completed({ callback_url: null });
  await expectUnchanged(id, async () => {
    expect(await refusal(await redeliver(id))).toEqual({ status: 409, code: "no_callback" });
  });
  expect((await redeliver(id, { callback_url: REPAIRED })).status).toBe(202);
  await untilIdle(id);
  expect(received.map(({ url }) => url)).toEqual([REPAIRED]);
});

it("POST /v1/tasks/{id}/redeliver sends a callback once for each Idempotency-Key, and marks the response to a repeated request as replayed", async () => {
  const received = aReceiver();
  const id = await completed();
  for (const [key, replayed] of [
    ["a", null],
    ["a", "true"],
    ["b", null],
    ["b", "true"],
  ] as const) {
    const response = await redeliverWith(key, id);
    expect(response.status).toBe(202);
    expect(response.headers.get("Idempotent-Replayed")).toBe(replayed);
    expect(await response.json()).toMatchObject({ id });
    await untilIdle(id);
  }
  expect(received).toHaveLength(3);
});

it("when POST /v1/tasks/{id}/redeliver is sent with the Idempotency-Keys K1, K2 and K1 again, the third request sends nothing", async () => {
  const received = aReceiver();
  const id = await completed();
  for (const [key, replayed] of [
    ["K1", null],
    ["K2", null],
    ["K1", "true"],
  ] as const) {
    const response = await redeliverWith(key, id);
    expect([response.status, response.headers.get("Idempotent-Replayed")]).toEqual([202, replayed]);
    await untilIdle(id);
  }
  expect(received).toHaveLength(3);
});

it("POST /v1/tasks/{id}/redeliver with a used Idempotency-Key and another callback_url answers 422 with the task, and changes nothing", async () => {
  const received = aReceiver();
  const id = await completed();
  expect((await redeliverWith("K1", id)).status).toBe(202);
  await untilIdle(id);
  await expectUnchanged(id, async () => {
    const response = await redeliverWith("K1", id, { callback_url: REPAIRED });
    const problem = { code: "idempotency_key_reused", task: await read(id) };
    expect([response.status, await response.json()]).toMatchObject([422, problem]);
  });
  expect(received).toHaveLength(2);
});

it.each([
  ["series_running", "the automatic attempts still run", completed],
  ["task_open", "the task is open", register],
])("POST /v1/tasks/{id}/redeliver answers 409 %s with the task while %s", async (code, _, make) => {
  aReceiver(status(500));
  const id = await make();
  await expectUnchanged(id, async () => {
    const response = await redeliver(id, { callback_url: REPAIRED });
    const problem = { code, task: await read(id) };
    expect([response.status, await response.json()]).toMatchObject([409, problem]);
  });
});

it("without PUBLIC_URL, POST /v1/tasks/{id}/redeliver refuses a callback_url on the origin at which the task was registered, and one on its own origin", async () => {
  aReceiver();
  const bindings = { ...env, PUBLIC_URL: "" };
  const id = await completed();
  await restart(id, bindings);
  const path = `https://other.example.com/v1/tasks/${id}/redeliver`;
  await expectUnchanged(id, async () => {
    for (const own of [ORIGIN, "https://other.example.com"]) {
      const response = await callWith(bindings, path, { body: { callback_url: `${own}/x` } });
      expect(await refusal(response)).toEqual(invalid("/callback_url"));
    }
  });
});

it.each([
  ["the number 4 in the field attempts", { attempts: 4 }, "/attempts"],
  ["a callback_url on the relay's own origin", { callback_url: `${ORIGIN}/x` }, "/callback_url"],
  ["a local callback_url", { callback_url: "https://[::1]/x" }, "/callback_url"],
  ["a list as a body", [], ""],
])("POST /v1/tasks/{id}/redeliver rejects %s and changes nothing", async (_, body, path) => {
  const received = aReceiver();
  const id = await completed();
  await expectUnchanged(id, async () => {
    expect(await refusal(await redeliver(id, body))).toEqual(invalid(path));
    expect(await refusal(await redeliverWith("é", id))).toMatchObject({ status: 400 });
  });
  expect(received).toHaveLength(1);
});
