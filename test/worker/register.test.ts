import { expect, it } from "vitest";
import { anAccount } from "./accounts.ts";
import { aReceiver } from "./receiver.ts";
import { call, invalid, ORIGIN, post, refusal } from "./client.ts";
import { START, START_S, useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored } from "./objects.ts";
import { aCompletion, CALLBACK_URL, read, register, report, taskOf } from "./tasks.ts";

useClock();

const DEADLINE_S = START_S + 72 * 3600;

it("POST /v1/tasks answers 201 with the whole task and its Location", async () => {
  const account = await anAccount();
  const id = crypto.randomUUID();
  const response = await post("/v1/tasks", {
    id,
    model: "seedance",
    callback_url: CALLBACK_URL,
    account,
    parameters: { prompt: "a cat" },
    metadata: { order: 7 },
    deadline_at: START_S + 60,
  });
  expect(response.status).toBe(201);
  expect(response.headers.get("Location")).toBe(`/v1/tasks/${id}`);
  expect(await response.json()).toEqual({
    id,
    status: "pending",
    model: "seedance",
    created_at: START_S,
    callback: { url: CALLBACK_URL, status: "waiting", attempts: [] },
    account,
    metadata: { order: 7 },
    deadline_at: START_S + 60,
  });
  expect(await read(id)).toMatchObject({ id, metadata: { order: 7 } });
});

it("POST /v1/tasks generates an id and sets the default deadline when both are missing", async () => {
  const response = await post("/v1/tasks", { model: "seedance" });
  const { id, ...rest } = await taskOf(response);
  expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(rest).toEqual({
    status: "pending",
    model: "seedance",
    created_at: START_S,
    callback: null,
    deadline_at: DEADLINE_S,
  });
  expect((await stored(id)).alarm).toBe(START + 72 * 3_600_000);
});

it("POST /v1/tasks answers 200 to an equal body in another spelling and changes nothing", async () => {
  const id = crypto.randomUUID();
  await post("/v1/tasks", `{"id":"${id}","model":"m","metadata":{"a":1,"b":[1,2]}}`);
  const again = `{ "metadata": {"b": [1, 2], "a": 1.0}, "account": null, "model": "m", "id": "${id.toUpperCase()}" }`;
  await expectUnchanged(id, async () => {
    const response = await post("/v1/tasks", again);
    expect(response.status).toBe(200);
    expect(response.headers.get("Idempotent-Replayed")).toBeNull();
  });
});

it.each([
  ["model", { model: "other" }],
  ["callback_url", { callback_url: null }],
  ["account", { account: "acme" }],
  ["parameters", { parameters: { prompt: "b" } }],
  ["metadata", { metadata: { a: [2, 1] } }],
  ["deadline_at", { deadline_at: START_S + 5 }],
  ["credits", { account: "acme", credits: 1 }],
])(
  "POST /v1/tasks answers 409 task_exists with the task to a registration with another %s",
  async (_, change) => {
    await post("/v1/accounts", { id: "acme" });
    const id = await register({ metadata: { a: [1, 2] } });
    const body = { id, model: "seedance", callback_url: CALLBACK_URL, metadata: { a: [1, 2] } };
    await expectUnchanged(id, async () => {
      const response = await post("/v1/tasks", { ...body, ...change });
      const problem = { code: "task_exists", task: { id, status: "pending" } };
      expect([response.status, await response.json()]).toMatchObject([409, problem]);
    });
  },
);

it("POST /v1/tasks answers 409 task_exists for an id that an event created", async () => {
  aReceiver();
  const id = crypto.randomUUID();
  await report(aCompletion(id, { model: "seedance" }));
  const response = await post("/v1/tasks", { id, model: "seedance" });
  expect(await refusal(response)).toEqual({ status: 409, code: "task_exists" });
});

it("POST /v1/tasks answers 200 to the same body after the end of the task", async () => {
  aReceiver();
  const id = await register();
  await report(aCompletion(id));
  const response = await post("/v1/tasks", { id, model: "seedance", callback_url: CALLBACK_URL });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ id, status: "completed" });
});

it("POST /v1/tasks accepts any 8-4-4-4-12 hex as an id, in either case", async () => {
  const id = "ABCDEF00-0000-0000-0000-00000000000F";
  const response = await post("/v1/tasks", { id, model: "m" });
  expect(response.status).toBe(201);
  expect((await taskOf(response)).id).toBe(id.toLowerCase());
  const lower = await (await call(`/v1/tasks/${id.toLowerCase()}`)).text();
  const upper = await (await call(`/v1/tasks/${id}`)).text();
  expect(upper).toBe(lower);
});

it("POST /v1/tasks treats null as absent in every optional field", async () => {
  const nulls = { id: null, callback_url: null, account: null, deadline_at: null };
  const body = { ...nulls, model: "m", parameters: null, metadata: null };
  const response = await post("/v1/tasks", body);
  expect(response.status).toBe(201);
  const fields = ["id", "status", "model", "created_at", "callback", "deadline_at"];
  expect(Object.keys(await taskOf(response))).toEqual(fields);
});

it.each([
  ["a misspelt field", { calback_url: CALLBACK_URL }, "/calback_url"],
  ["a field with a slash and a tilde", { "a/b~c": 1 }, "/a~1b~0c"],
  ["a missing model", { model: undefined }, "/model"],
  ["a model that is a number", { model: 1 }, "/model"],
  ["an id that is no UUID", { id: "task-1" }, "/id"],
  ["an id with braces", { id: `{${crypto.randomUUID()}}` }, "/id"],
  ["a deadline in milliseconds", { deadline_at: START }, "/deadline_at"],
  ["a deadline with a fraction", { deadline_at: START_S + 60.5 }, "/deadline_at"],
  ["a negative deadline", { deadline_at: -1 }, "/deadline_at"],
  ["a deadline that has passed", { deadline_at: START_S - 1 }, "/deadline_at"],
  ["a deadline as text", { deadline_at: "2050-01-01" }, "/deadline_at"],
  ["metadata that is a list", { metadata: [1] }, "/metadata"],
  ["metadata over 4 KB", { metadata: { a: "ä".repeat(2048) } }, "/metadata"],
  ["parameters that are text", { parameters: "x" }, "/parameters"],
  ["an account with a slash", { account: "a/b" }, "/account"],
  ["a callback_url on the relay", { callback_url: `${ORIGIN}/x` }, "/callback_url"],
  ["a private callback_url", { callback_url: "https://0x7f.1/x" }, "/callback_url"],
  ["an empty callback_url", { callback_url: "" }, "/callback_url"],
])("POST /v1/tasks rejects %s, names the field and stores nothing", async (_, fields, path) => {
  const id = crypto.randomUUID();
  const response = await post("/v1/tasks", { id, model: "m", ...fields });
  expect(await refusal(response)).toEqual(invalid(path));
  expect(await stored(id)).toEqual(NOTHING);
});

it("POST /v1/tasks accepts metadata of exactly 4 KB", async () => {
  const id = await register({ metadata: { a: "x".repeat(4096 - '{"a":""}'.length) } });
  expect(await stored(id)).toMatchObject({ keys: ["task"] });
});
