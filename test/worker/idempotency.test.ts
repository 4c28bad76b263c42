import { expect, it } from "vitest";
import { invalid, post, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { expectUnchanged } from "./objects.ts";
import { CALLBACK_URL, taskOf } from "./tasks.ts";

useClock();

const UUID_V8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

function registerWith(idempotencyKey: string, fields: object = {}, key?: string) {
  const headers = { "Idempotency-Key": idempotencyKey };
  return post("/v1/tasks", { model: "m", ...fields }, { headers, ...(key && { key }) });
}

it("POST /v1/tasks with an Idempotency-Key derives a UUIDv8 as id and marks a repeat, under any operator key, as replayed", async () => {
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

it("POST /v1/tasks with an Idempotency-Key creates different tasks for keys that differ only in case", async () => {
  const [a, b] = [await registerWith("order a"), await registerWith("order A")];
  expect([a.status, b.status]).toEqual([201, 201]);
  expect((await taskOf(a)).id).not.toBe((await taskOf(b)).id);
});

it("POST /v1/tasks with an Idempotency-Key answers 422 with the existing task to another body under the same key", async () => {
  const { id } = await taskOf(await registerWith("order 2"));
  await expectUnchanged(id, async () => {
    const response = await registerWith("order 2", { callback_url: CALLBACK_URL });
    const problem = { code: "idempotency_key_reused", task: { id } };
    expect([response.status, await response.json()]).toMatchObject([422, problem]);
  });
});

it("POST /v1/tasks with an Idempotency-Key uses an id in the body instead of the derived one", async () => {
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
])("POST /v1/tasks with an Idempotency-Key rejects %s", async (_, key) => {
  expect(await refusal(await registerWith(key))).toEqual(invalid("/Idempotency-Key"));
});

it("POST /v1/tasks with an Idempotency-Key accepts a key of 255 printable ASCII characters", async () => {
  const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("");
  const key = `x${printable.repeat(3)}`.slice(0, 254) + "x";
  expect((await registerWith(key)).status).toBe(201);
});
