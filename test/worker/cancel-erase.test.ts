import { expect, it } from "vitest";
import { call, invalid, post, ProblemBody, refusal, UNKNOWN_TASK } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored, untilIdle } from "./objects.ts";
import { aReceiver, status } from "./receiver.ts";
import {
  aCompletion,
  aFailure,
  cancel,
  completed,
  erase,
  finish,
  read,
  register,
  report,
} from "./tasks.ts";

useClock();

it.each(["pending", "processing"])(
  "POST /v1/tasks/{id}/cancel makes a %s task fail with the code canceled, and the callback is sent",
  async (now) => {
    const received = aReceiver();
    const id = await register();
    if (now === "processing") await report({ id, status: now });
    pass(5000);
    const response = await cancel(id);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      id,
      status: "failed",
      error: { code: "canceled", message: expect.stringMatching(/./) },
      failure: { category: "canceled", retryable: false },
    });
    await untilIdle(id);
    expect(received.map(({ headers }) => headers["x-event"])).toEqual(["task.failed"]);
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({
      id,
      status: "failed",
      model: "seedance",
      created_at: START_S,
      error: { code: "canceled", message: expect.any(String) },
    });
    expect(await read(id)).toMatchObject({ status: "failed", callback: { status: "delivered" } });
  },
);

it("POST /v1/tasks/{id}/cancel answers 409 task_settled with the task when the task has completed, failed or been canceled", async () => {
  const received = aReceiver(status(500));
  const [failed, canceled] = [await register(), await register()];
  await finish(aFailure(failed));
  await cancel(canceled);
  await untilIdle(canceled);
  for (const id of [await completed(), failed, canceled]) {
    await expectUnchanged(id, async () => {
      const response = await cancel(id);
      const problem = ProblemBody.parse(await response.json());
      expect([response.status, problem.code]).toEqual([409, "task_settled"]);
      expect(problem["task"]).toEqual(await read(id));
    });
  }
  expect(received).toHaveLength(3);
});

it("POST /v1/tasks/{id}/cancel with a body that has fields is rejected and cancels nothing", async () => {
  const id = await register();
  await expectUnchanged(id, async () => {
    const response = await post(`/v1/tasks/${id}/cancel`, { reason: "late" });
    expect(await refusal(response)).toEqual(invalid("/reason"));
  });
});

async function versionOf(id: string): Promise<number> {
  const tag = (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "";
  return parseInt(tag.slice(1), 10);
}

it("DELETE /v1/tasks/{id} answers 204 for an ended task whose callback was delivered, and nothing of the task is left", async () => {
  aReceiver();
  const id = await completed();
  const response = await erase(id.toUpperCase());
  expect([response.status, await response.text()]).toEqual([204, ""]);
  expect(await stored(id)).toEqual(NOTHING);
  expect((await call(`/v1/tasks/${id}`)).status).toBe(404);
  for (const each of [id, "42"]) expect(await refusal(await erase(each))).toEqual(UNKNOWN_TASK);
});

it.each([
  ["task_open", "a task that has not ended", register],
  ["series_running", "a task with callback attempts left", completed],
])("DELETE /v1/tasks/{id} answers 409 %s for %s, and erases nothing", async (code, _, make) => {
  aReceiver(status(500));
  const id = await make();
  await expectUnchanged(id, async () => {
    const response = await erase(id);
    expect([response.status, await response.json()]).toMatchObject([409, { code, task: { id } }]);
  });
});

it("after DELETE /v1/tasks/{id}, a new task may use the same id, and its ETag has a higher version than that of the erased task", async () => {
  aReceiver();
  const id = await completed();
  const before = await versionOf(id);
  await erase(id);
  pass(1000);
  await report(aCompletion(id, { model: "again" }));
  expect(await versionOf(id)).toBeGreaterThan(before);
});
