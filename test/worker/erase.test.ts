import { describe, expect, it } from "vitest";
import { aReceiver, status } from "./receiver.ts";
import {
  aCompletion,
  call,
  completed,
  NOTHING,
  pass,
  post,
  refusal,
  register,
  stored,
  useClock,
} from "./support.ts";

useClock();

function erase(id: string): Promise<Response> {
  return call(`/v1/tasks/${id}`, { method: "DELETE" });
}

describe("DELETE /v1/tasks/{id}", () => {
  it("erases a settled task: 204, then nothing is left and the id is unknown", async () => {
    aReceiver();
    const id = await completed();
    const response = await erase(id.toUpperCase());
    expect([response.status, await response.text()]).toEqual([204, ""]);
    expect(await stored(id)).toEqual(NOTHING);
    expect((await call(`/v1/tasks/${id}`)).status).toBe(404);
    expect(await refusal(await erase(id))).toEqual({ status: 404, code: "unknown_task" });
  });

  it("answers 409 while the task is open or its callback is not settled, and erases nothing", async () => {
    aReceiver(status(500));
    const [open, running] = [await register(), await completed()];
    for (const [id, code] of [
      [open, "task_open"],
      [running, "series_running"],
    ] as const) {
      const before = await stored(id);
      const response = await erase(id);
      expect(response.status).toBe(409);
      expect(await response.json()).toMatchObject({ code, task: { id } });
      expect(await stored(id)).toEqual(before);
    }
  });

  it("lets the id be used again, with a higher version", async () => {
    aReceiver();
    const id = await completed();
    const before = (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "";
    await erase(id);
    pass(1000);
    await post("/v1/events", aCompletion(id, { model: "again" }));
    const after = (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "";
    expect(parseInt(after.slice(1), 10)).toBeGreaterThan(parseInt(before.slice(1), 10));
  });

  it("answers 404 for what is no id", async () => {
    expect(await refusal(await erase("42"))).toEqual({ status: 404, code: "unknown_task" });
  });
});
