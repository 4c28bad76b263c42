import { expect, it } from "vitest";
import { anAccount } from "./accounts.ts";
import { invalid, post, refusal, UNKNOWN_TASK } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored, untilIdle } from "./objects.ts";
import { aReceiver } from "./receiver.ts";
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

it("POST /v1/events answers 202 with the task to an event with the status processing, and to a later one with the status completed", async () => {
  aReceiver();
  const id = await register();
  const first = await report({ id, status: "processing" });
  expect([first.status, await first.json()]).toEqual([202, await read(id)]);
  pass(5000);
  const second = await report(aCompletion(id));
  expect(second.status).toBe(202);
  expect(await second.json()).toMatchObject({ status: "completed", completed_at: START_S + 5 });
});

it("POST /v1/events creates the task of an event whose id is not registered, if the event has a model", async () => {
  aReceiver();
  const id = crypto.randomUUID();
  const created = { model: "kling", created_at: START_S + 86_400, account: await anAccount() };
  await finish(aCompletion(id, { ...created, callback_url: CALLBACK_URL, completed_at: 7 }));
  const callback = { url: CALLBACK_URL, status: "delivered" };
  expect(await read(id)).toMatchObject({ ...created, completed_at: 7, callback });
});

it("POST /v1/events answers 404 and stores nothing for an event without a model whose id is not registered", async () => {
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

it("POST /v1/events treats an id in upper case as that of the same task in lower case", async () => {
  aReceiver();
  const id = await register();
  const response = await report(aCompletion(id.toUpperCase()));
  expect(await response.json()).toMatchObject({ id, status: "completed" });
});

it("POST /v1/events ignores unknown fields in an event, its output and its error, and treats a field that is null as absent", async () => {
  aReceiver();
  const [done, failed] = [await register(), await register()];
  const nulls = { model: null, created_at: null, completed_at: null, error: null, account: null };
  const output = { urls: [VIDEO], metadata: null, preview: "x" };
  await report(aCompletion(done, { ...nulls, output, cost: 3 }));
  await report(aFailure(failed, { error: { code: "a", message: "b", trace: "c" } }));
  const tasks = [await read(done), await read(failed)];
  expect(tasks).toMatchObject([
    { completed_at: START_S, output: { urls: [VIDEO], metadata: {} } },
    { error: { code: "a", message: "b" } },
  ]);
  expect(JSON.stringify(tasks)).not.toMatch(/cost|preview|trace/);
});

it("a repeated event gets 200 and changes nothing, even with other times, another order of fields and additional nulls", async () => {
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

it("when the same event arrives eight times at once, the task records it once and sends one callback", async () => {
  const received = aReceiver();
  const id = await register();
  const answers = await Promise.all(Array.from({ length: 8 }, () => report(aCompletion(id))));
  const statuses = answers.map((answer) => String(answer.status));
  expect(statuses.toSorted()).toEqual([...Array<string>(7).fill("200"), "202"]);
  await untilIdle(id);
  expect(received).toHaveLength(1);
});

it("after a task has completed, an event with another output gets 409 with the task, and changes nothing", async () => {
  const received = aReceiver();
  const id = await completed();
  await expectUnchanged(id, async () => {
    const response = await report(aCompletion(id, { output: { urls: [VIDEO, VIDEO] } }));
    const problem = { code: "conflicting_result", task: await read(id) };
    expect([response.status, await response.json()]).toMatchObject([409, problem]);
  });
  expect(received).toHaveLength(1);
});

// The fuzz test of bodies compares every field with the contract; here are examples.
it.each<[string, object, string]>([
  ["an unknown status", { status: "done" }, "/status"],
  ["a completion without output", { output: undefined }, "/output"],
  ["a created_at more than a day ahead", { created_at: START_S + 86_401 }, "/created_at"],
  ["a relative output URL", { output: { urls: [VIDEO, "/video.mp4"] } }, "/output/urls/1"],
  [
    "a seed with a fraction",
    { output: { urls: [VIDEO], metadata: { seed: 1.5 } } },
    "/output/metadata/seed",
  ],
  ["an error on a completed event", { error: { code: "a", message: "b" } }, "/error"],
  [
    "a failure without error.code",
    { status: "failed", output: null, error: { message: "b" } },
    "/error/code",
  ],
])("POST /v1/events rejects %s, names the field and changes nothing", async (_, fields, path) => {
  const received = aReceiver();
  const [known, unknown] = [await register(), crypto.randomUUID()];
  await expectUnchanged(known, async () => {
    for (const id of [known, unknown]) {
      const response = await report(aCompletion(id, { model: "m", ...fields }));
      expect(await refusal(response)).toEqual(invalid(path));
    }
  });
  expect(await stored(unknown)).toEqual(NOTHING);
  expect(received).toEqual([]);
});

it.each([
  ["an empty body", "", "invalid_request"],
  ["a list", "[]", "invalid_request"],
  ["5,000 nested lists", `{"output":${"[".repeat(5000)}${"]".repeat(5000)}}`, "invalid_request"],
  ["a body that ends early", '{"id":', "invalid_json"],
  ["bytes that are not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), "invalid_json"],
])("POST /v1/events rejects %s and names exactly one fault", async (_, body, code) => {
  const problem = await refusal(await post("/v1/events", body));
  expect(problem).toEqual({ status: 400, code, paths: [expect.any(String)] });
});
