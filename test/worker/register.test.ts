import { expect, it } from "vitest";
import { anAccount } from "./accounts.ts";
import { call, invalid, ORIGIN, post, refusal } from "./client.ts";
import { START, START_S, useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored } from "./objects.ts";
import { CALLBACK_URL, read, register, taskOf } from "./tasks.ts";

useClock();

const DEADLINE_S = START_S + 72 * 3600;

it("POST /v1/tasks answers 201 with the whole task, and with its URL in the header Location", async () => {
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
    status_url: expect.any(String),
  });
  expect(await read(id)).toMatchObject({ id, metadata: { order: 7 } });
});

it("when id and deadline are missing, POST /v1/tasks generates an id and sets the default deadline", async () => {
  const response = await post("/v1/tasks", { model: "seedance" });
  const { id, ...rest } = await taskOf(response);
  expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(rest).toEqual({
    status: "pending",
    model: "seedance",
    created_at: START_S,
    callback: null,
    deadline_at: DEADLINE_S,
    status_url: expect.any(String),
  });
  expect((await stored(id)).alarm).toBe(START + 72 * 3_600_000);
});

it("a repeated POST /v1/tasks with other white space, order of fields or case of the id gets 200 and changes nothing", async () => {
  const id = crypto.randomUUID();
  await post("/v1/tasks", `{"id":"${id}","model":"m","metadata":{"a":1,"b":[1,2]}}`);
  const again = `{ "metadata": {"b": [1, 2], "a": 1.0}, "account": null, "model": "m", "id": "${id.toUpperCase()}" }`;
  await expectUnchanged(id, async () => {
    const response = await post("/v1/tasks", again);
    expect(response.status).toBe(200);
    expect(response.headers.get("Idempotent-Replayed")).toBeNull();
  });
});

it("POST /v1/tasks with the id of a registered task but other metadata answers 409 task_exists with the task", async () => {
  const id = await register({ metadata: { a: [1, 2] } });
  const body = { id, model: "seedance", callback_url: CALLBACK_URL, metadata: { a: [2, 1] } };
  await expectUnchanged(id, async () => {
    const response = await post("/v1/tasks", body);
    const problem = { code: "task_exists", task: { id, status: "pending" } };
    expect([response.status, await response.json()]).toMatchObject([409, problem]);
  });
});

it("POST /v1/tasks accepts as an id any hex digits in the form of a UUID, in upper and lower case", async () => {
  const id = "ABCDEF00-0000-0000-0000-00000000000F";
  const response = await post("/v1/tasks", { id, model: "m" });
  expect(response.status).toBe(201);
  expect((await taskOf(response)).id).toBe(id.toLowerCase());
  const lower = await (await call(`/v1/tasks/${id.toLowerCase()}`)).text();
  const upper = await (await call(`/v1/tasks/${id}`)).text();
  expect(upper).toBe(lower);
});

// The fuzz test of bodies compares every field with the contract; here are examples.
it.each([
  ["an unknown field whose name contains a slash and a tilde", { "a/b~c": 1 }, "/a~1b~0c"],
  ["a missing model", { model: undefined }, "/model"],
  ["a model with a lone surrogate", { model: "\udc00a" }, "/model"],
  ["a model with U+0000", { model: "a\0" }, "/model"],
  ["metadata with U+0000", { metadata: { a: "\0" } }, "/metadata"],
  [
    "a callback_url with a lone surrogate",
    { callback_url: "https://client.example.net/\ud83d" },
    "/callback_url",
  ],
  ["metadata with a lone surrogate in a text", { metadata: { a: [{ b: "\ud800" }] } }, "/metadata"],
  ["metadata with a lone surrogate in a key", { metadata: { a: { "\udfff": 1 } } }, "/metadata"],
  ["a deadline that has passed", { deadline_at: START_S - 1 }, "/deadline_at"],
  ["metadata over 4 KB", { metadata: { a: "ä".repeat(2048) } }, "/metadata"],
  ["a callback_url on the relay's own origin", { callback_url: `${ORIGIN}/x` }, "/callback_url"],
  [
    "a callback_url with a private IP address",
    { callback_url: "https://0x7f.1/x" },
    "/callback_url",
  ],
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

const UUID_V8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function registerWith(idempotencyKey: string, fields: object = {}, key?: string) {
  const headers = { "Idempotency-Key": idempotencyKey };
  return post("/v1/tasks", { model: "m", ...fields }, { headers, ...(key && { key }) });
}

it("POST /v1/tasks with an Idempotency-Key derives the task's id, a UUIDv8, from it; a repeat with any operator key is marked as replayed", async () => {
  const first = await registerWith("order 1");
  expect([first.status, first.headers.get("Idempotent-Replayed")]).toEqual([201, null]);
  const task = await taskOf(first);
  expect(task.id).toMatch(UUID_V8);
  for (const key of ["test-only-operator-key", "test-only-older-operator-key"]) {
    const again = await registerWith("order 1", {}, key);
    expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
    expect(await again.json()).toEqual(task);
  }
});

it("POST /v1/tasks creates different tasks for two Idempotency-Keys that differ only in case", async () => {
  const [a, b] = [await registerWith("order a"), await registerWith("order A")];
  expect([a.status, b.status]).toEqual([201, 201]);
  expect((await taskOf(a)).id).not.toBe((await taskOf(b)).id);
});

it("POST /v1/tasks with a used Idempotency-Key and another body answers 422 with the existing task", async () => {
  const { id } = await taskOf(await registerWith("order 2"));
  await expectUnchanged(id, async () => {
    const response = await registerWith("order 2", { callback_url: CALLBACK_URL });
    const problem = { code: "idempotency_key_reused", task: { id } };
    expect([response.status, await response.json()]).toMatchObject([422, problem]);
  });
});

it("POST /v1/tasks with an Idempotency-Key and an id in the body uses that id and derives none", async () => {
  const id = crypto.randomUUID();
  expect((await taskOf(await registerWith("order 3", { id }))).id).toBe(id);
  const second = await registerWith("order 3", { id });
  expect([second.status, second.headers.get("Idempotent-Replayed")]).toEqual([200, "true"]);
  const other = await registerWith("order 3", { id, model: "other" });
  expect(await refusal(other)).toEqual({ status: 409, code: "task_exists" });
});

it.each([
  ["an empty key", ""],
  ["a key of 256 characters", "x".repeat(256)],
  ["a key beyond ASCII", "é"],
  ["a key with a control character", "a\tb"],
])("POST /v1/tasks answers 400 to %s as its Idempotency-Key", async (_, key) => {
  expect(await refusal(await registerWith(key))).toEqual(invalid("/Idempotency-Key"));
});

it("POST /v1/tasks accepts an Idempotency-Key of 255 printable ASCII characters", async () => {
  const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("");
  const key = `x${printable.repeat(3)}`.slice(0, 254) + "x";
  expect((await registerWith(key)).status).toBe(201);
});
