import { expect, it } from "vitest";
import { aReceiver, status } from "./receiver.ts";
import { invalid, post, ProblemBody, refusal } from "./client.ts";
import { pass, START_S, useClock } from "./clock.ts";
import { expectUnchanged, untilIdle } from "./objects.ts";
import {
  aCompletion,
  aFailure,
  cancel,
  completed,
  finish,
  read,
  register,
  report,
} from "./tasks.ts";

useClock();

it.each(["pending", "processing"])(
  "POST /v1/tasks/{id}/cancel fails a %s task with the code canceled and calls back",
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

it("POST /v1/tasks/{id}/cancel answers 409 task_settled with the task when it has completed, failed or been canceled", async () => {
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

it("POST /v1/tasks/{id}/cancel makes the task final: later reports of the upstream change nothing", async () => {
  aReceiver();
  const id = await register();
  await cancel(id);
  await untilIdle(id);
  await expectUnchanged(id, async () => {
    const conflict = { status: 409, code: "conflicting_result" };
    expect(await refusal(await report(aCompletion(id)))).toEqual(conflict);
    expect((await report({ id, status: "processing" })).status).toBe(200);
  });
});

it("POST /v1/tasks/{id}/cancel rejects a body with fields and cancels nothing", async () => {
  const id = await register();
  await expectUnchanged(id, async () => {
    const response = await post(`/v1/tasks/${id}/cancel`, { reason: "late" });
    expect(await refusal(response)).toEqual(invalid("/reason"));
  });
});
