import { expect, it } from "vitest";
import { anAccount } from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { post, refusal, UNKNOWN_TASK } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored, untilIdle } from "./objects.ts";
import {
  aCompletion,
  aFailure,
  CALLBACK_URL,
  completed,
  finish,
  read,
  register,
  report,
  VIDEO,
} from "./tasks.ts";

useClock();

it("POST /v1/events answers 202 with the task, first processing, then completed", async () => {
  aReceiver();
  const id = await register();
  const first = await report({ id, status: "processing" });
  expect([first.status, await first.json()]).toEqual([202, await read(id)]);
  pass(5000);
  const second = await report(aCompletion(id));
  expect(second.status).toBe(202);
  expect(await second.json()).toMatchObject({ status: "completed", completed_at: START_S + 5 });
});

it("POST /v1/events creates an unregistered task from an event with a model", async () => {
  aReceiver();
  const id = crypto.randomUUID();
  const created = { model: "kling", created_at: 1_700_000_000, account: await anAccount() };
  await finish(aCompletion(id, { ...created, callback_url: CALLBACK_URL, completed_at: 7 }));
  const callback = { url: CALLBACK_URL, status: "delivered" };
  expect(await read(id)).toMatchObject({ ...created, completed_at: 7, callback });
});

it("POST /v1/events answers 404 to an unregistered id without a model and stores nothing", async () => {
  const id = crypto.randomUUID();
  for (const event of [aCompletion(id), aFailure(id), { id, status: "processing", model: null }]) {
    expect(await refusal(await report(event))).toEqual(UNKNOWN_TASK);
  }
  expect(await stored(id)).toEqual(NOTHING);
});

it("POST /v1/events ignores model, created_at, callback_url and account of an event for a registered task", async () => {
  const received = aReceiver();
  const account = await anAccount();
  const id = await register({ account });
  await finish(
    aCompletion(id, {
      model: "other",
      created_at: 5,
      callback_url: "http://127.0.0.1/not-even-allowed",
      account: await anAccount(),
    }),
  );
  expect(await read(id)).toMatchObject({
    model: "seedance",
    created_at: START_S,
    account,
    callback: { url: CALLBACK_URL },
  });
  expect(received.map(({ url }) => url)).toEqual([CALLBACK_URL]);
});

it("POST /v1/events treats an id in upper case as the same task", async () => {
  aReceiver();
  const id = await register();
  const response = await report(aCompletion(id.toUpperCase()));
  expect(await response.json()).toMatchObject({ id, status: "completed" });
});

it("POST /v1/events drops unknown fields of the event, its output and its error", async () => {
  aReceiver();
  const [done, failed] = [await register(), await register()];
  await report({ ...aCompletion(done), cost: 3, output: { urls: [VIDEO], preview: "x" } });
  await report(aFailure(failed, { error: { code: "a", message: "b", trace: "c" } }));
  expect(await read(done)).toMatchObject({ output: { urls: [VIDEO], metadata: {} } });
  expect(JSON.stringify(await read(done))).not.toMatch(/cost|preview/);
  expect(await read(failed)).toMatchObject({ error: { code: "a", message: "b" } });
  expect(JSON.stringify(await read(failed))).not.toContain("trace");
});

it("POST /v1/events accepts a seed beyond 2^53, rounded", async () => {
  aReceiver();
  const id = await register();
  const output = `{"urls":["${VIDEO}"],"metadata":{"seed":9223372036854775807}}`;
  const body = `{"id":"${id}","status":"completed","output":${output}}`;
  expect((await post("/v1/events", body)).status).toBe(202);
  expect(await read(id)).toMatchObject({ output: { metadata: { seed: 2 ** 63 } } });
});

it("POST /v1/events treats null as absent", async () => {
  aReceiver();
  const id = await register();
  const nulls = { model: null, created_at: null, completed_at: null, error: null, account: null };
  const event = aCompletion(id, { ...nulls, output: { urls: [VIDEO], metadata: null } });
  expect((await report(event)).status).toBe(202);
  expect(await read(id)).toMatchObject({ completed_at: START_S, output: { metadata: {} } });
});

it("a repeated event is answered with 200 and changes nothing, whatever its times, spelling and nulls", async () => {
  const received = aReceiver();
  const id = await register();
  const output = { urls: [VIDEO], metadata: { seed: 1, extra: { a: 1, b: 2 } } };
  await finish(aCompletion(id, { output }));
  const again = {
    created_at: 5,
    completed_at: 9,
    output: { metadata: { extra: { b: 2, a: 1 }, ratio: null, seed: 1 }, urls: [VIDEO] },
  };
  await expectUnchanged(id, async () => {
    for (const fields of [{ output }, again]) {
      const response = await report(aCompletion(id, fields));
      expect([response.status, await response.json()]).toEqual([200, await read(id)]);
    }
  });
  expect(received).toHaveLength(1);
});

it("a repeated event is answered with 200 when it reports processing again or after the end", async () => {
  aReceiver();
  const id = await register();
  const processing = { id, status: "processing" };
  expect((await report(processing)).status).toBe(202);
  await expectUnchanged(id, async () => {
    expect((await report(processing)).status).toBe(200);
  });
  await finish(aCompletion(id));
  await expectUnchanged(id, async () => {
    const late = await report(processing);
    expect([late.status, await late.json()]).toEqual([200, await read(id)]);
  });
});

it("a repeated event is recorded once, with one callback, when eight arrive at once", async () => {
  const received = aReceiver();
  const id = await register();
  const answers = await Promise.all(Array.from({ length: 8 }, () => report(aCompletion(id))));
  const statuses = answers.map((answer) => String(answer.status));
  expect(statuses.toSorted()).toEqual([...Array<string>(7).fill("200"), "202"]);
  await untilIdle(id);
  expect(received).toHaveLength(1);
});

it.each([
  ["another URL", { output: { urls: ["https://cdn.example.net/b.mp4"] } }],
  ["a further URL", { output: { urls: [VIDEO, VIDEO] } }],
  ["other metadata", { output: { urls: [VIDEO], metadata: { seed: 1 } } }],
  ["a failure", { status: "failed", output: null, error: { code: "a", message: "b" } }],
])("a conflicting event with %s after a completion gets 409 with the task", async (_, fields) => {
  const received = aReceiver();
  const id = await completed();
  await expectUnchanged(id, async () => {
    const response = await report(aCompletion(id, fields));
    expect(response.status).toBe(409);
    const task = await read(id);
    expect(await response.json()).toMatchObject({ code: "conflicting_result", task });
  });
  expect(received).toHaveLength(1);
});
