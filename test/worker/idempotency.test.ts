import { describe, expect, it } from "vitest";
import { post, refusal } from "./client.ts";
import { useClock } from "./clock.ts";
import { stored } from "./objects.ts";
import { CALLBACK_URL, taskOf } from "./tasks.ts";

useClock();

function registerWith(key: string, fields: object = {}): Promise<Response> {
  return post("/v1/tasks", { model: "m", ...fields }, { headers: { "Idempotency-Key": key } });
}

describe("Idempotency-Key of POST /v1/tasks", () => {
  it("derives the id, a UUIDv8, so that a repeat is the same task, marked as replayed", async () => {
    const first = await registerWith("order 1");
    const second = await registerWith("order 1");
    expect([first.status, second.status]).toEqual([201, 200]);
    expect(first.headers.get("Idempotent-Replayed")).toBeNull();
    expect(second.headers.get("Idempotent-Replayed")).toBe("true");
    const task = await taskOf(first);
    expect(task.id).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(await second.json()).toEqual(task);
  });

  it("gives other keys other tasks, also when they differ in case only", async () => {
    const [a, b] = [await registerWith("order a"), await registerWith("order A")];
    expect([a.status, b.status]).toEqual([201, 201]);
    expect((await taskOf(a)).id).not.toBe((await taskOf(b)).id);
  });

  it("answers 422 to another body under the same key, with the task that has it", async () => {
    const { id } = await taskOf(await registerWith("order 2"));
    const before = await stored(id);
    const response = await registerWith("order 2", { callback_url: CALLBACK_URL });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ code: "idempotency_key_reused", task: { id } });
    expect(await stored(id)).toEqual(before);
  });

  it("lets a given id win over the key", async () => {
    const id = crypto.randomUUID();
    const first = await registerWith("order 3", { id });
    expect((await taskOf(first)).id).toBe(id);
    const second = await registerWith("order 3", { id });
    expect(second.status).toBe(200);
    expect(second.headers.get("Idempotent-Replayed")).toBe("true");
    const other = await registerWith("order 3", { id, model: "other" });
    expect(await refusal(other)).toEqual({ status: 409, code: "task_exists" });
  });

  it("is the same whichever operator key the operator uses", async () => {
    await registerWith("order 4");
    const headers = { "Idempotency-Key": "order 4" };
    const body = { model: "m" };
    const response = await post("/v1/tasks", body, {
      key: "test-only-older-operator-key",
      headers,
    });
    expect(response.status).toBe(200);
  });

  it.each([
    ["an empty one", ""],
    ["one beyond 255 characters", "x".repeat(256)],
    ["one beyond ASCII", "é"],
    ["one with a control character", "a\tb"],
  ])("refuses %s", async (_, key) => {
    const response = await registerWith(key);
    const paths = ["/Idempotency-Key"];
    expect(await refusal(response)).toEqual({ status: 400, code: "invalid_request", paths });
  });

  it("accepts 255 printable characters", async () => {
    const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i)).join("");
    const key = `x${printable.repeat(3)}`.slice(0, 254) + "x";
    expect((await registerWith(key)).status).toBe(201);
  });
});
