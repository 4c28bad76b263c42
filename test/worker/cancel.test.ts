import { describe, expect, it } from "vitest";
import { aReceiver, status } from "./receiver.ts";
import {
  aCompletion,
  aFailure,
  atRest,
  call,
  completed,
  NOTHING,
  pass,
  post,
  ProblemBody,
  read,
  refusal,
  register,
  START_S,
  stored,
  useClock,
} from "./support.ts";

useClock();

const cancel = (id: string, body: unknown = "") => post(`/v1/tasks/${id}/cancel`, body);

describe("POST /v1/tasks/{id}/cancel", () => {
  it.each(["pending", "processing"])(
    "fails a %s task, and says so to its receiver",
    async (now) => {
      const received = aReceiver();
      const id = await register();
      if (now === "processing") await post("/v1/events", { id, status: now });
      pass(5000);
      const response = await cancel(id);
      expect(response.status).toBe(200);
      const task = await response.json();
      expect(task).toMatchObject({
        id,
        status: "failed",
        error: { code: "canceled", message: expect.stringMatching(/./) },
        failure: { category: "canceled", retryable: false },
      });
      await atRest(id);
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

  it("answers 409 task_settled with the task when it has ended, however, and changes nothing", async () => {
    const received = aReceiver(status(500));
    const failed = await register();
    await post("/v1/events", aFailure(failed));
    await atRest(failed);
    const canceled = await register();
    await cancel(canceled);
    await atRest(canceled);
    const sent = received.length + 1;
    for (const id of [await completed(), failed, canceled]) {
      const before = await stored(id);
      const response = await cancel(id);
      const problem = ProblemBody.parse(await response.json());
      expect([response.status, problem.code]).toEqual([409, "task_settled"]);
      expect(problem["task"]).toEqual(await read(id));
      expect(await stored(id)).toEqual(before);
    }
    expect(received).toHaveLength(sent);
  });

  it("is final: what the upstream reports later changes nothing", async () => {
    aReceiver();
    const id = await register();
    await cancel(id);
    await atRest(id);
    const before = await stored(id);
    const response = await post("/v1/events", aCompletion(id));
    expect(await refusal(response)).toEqual({ status: 409, code: "conflicting_result" });
    expect((await post("/v1/events", { id, status: "processing" })).status).toBe(200);
    expect(await stored(id)).toEqual(before);
  });

  it("answers 404 for an unknown id and for what is no id, and leaves nothing", async () => {
    const id = crypto.randomUUID();
    for (const each of [id, "42"]) {
      expect(await refusal(await cancel(each))).toEqual({ status: 404, code: "unknown_task" });
    }
    expect(await stored(id)).toEqual(NOTHING);
  });

  it("takes no fields, and is a POST", async () => {
    const id = await register();
    const before = await stored(id);
    expect(await refusal(await cancel(id, { reason: "late" }))).toMatchObject({
      status: 400,
      paths: ["/reason"],
    });
    const response = await call(`/v1/tasks/${id}/cancel`);
    expect([response.status, response.headers.get("Allow")]).toEqual([405, "POST"]);
    expect(await stored(id)).toEqual(before);
  });
});
