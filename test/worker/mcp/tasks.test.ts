import {
  CallToolResultV2Schema,
  CreateTaskResultV2Schema,
  DetailedTaskV2Schema,
  GetTaskResultV2Schema,
} from "@modelcontextprotocol/ext-tasks/core/v2";
import { expect, it, vi } from "vitest";
import { QueueObject } from "../../../src/objects/queue/queue-object.ts";
import { aKey, anAccount } from "../accounts.ts";
import { DAY_MS, pass, START, useClock } from "../clock.ts";
import { restart, untilIdle } from "../objects.ts";
import { submitted } from "../submitted-tasks.ts";
import { anArk, ARK, JOB } from "../submitted.ts";
import { aCompletion, aFailure, cancel, completed, finish, register, VIDEO } from "../tasks.ts";
import { ARK_TOOL, ask, askAsBefore, type Asking, callTool, CONTENT, OFFERED } from "./messages.ts";

useClock();

const RETENTION_MS = 28 * DAY_MS;
const DEADLINE_MS = 3 * DAY_MS;
const MISSING_CAPABILITY = {
  code: -32_021,
  data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
};

async function started(asking: Asking = {}) {
  anArk();
  const params = { name: ARK_TOOL, arguments: { content: CONTENT } };
  const { result } = await ask("tools/call", params, asking);
  return CreateTaskResultV2Schema.parse(result);
}

async function taskOf(taskId: string, asking: Asking = {}) {
  const { result } = await ask("tasks/get", { taskId }, asking);
  GetTaskResultV2Schema.parse(result);
  const task = DetailedTaskV2Schema.parse(result);
  if (task.status === "completed") CallToolResultV2Schema.parse(task.result);
  return task;
}

it("the MCP task of a tool call has the status working at most until the task's deadline, and can be read for RETENTION_DAYS after that", async () => {
  const created = await started();
  expect(created).toMatchObject({
    resultType: "task",
    status: "working",
    createdAt: new Date(Math.floor(START / 1000) * 1000).toISOString(),
    pollIntervalMs: 2_000,
  });
  const keptMs = created.ttlMs ?? 0;
  expect(Math.abs(keptMs - DEADLINE_MS - RETENTION_MS)).toBeLessThan(2_000);
  const { resultType: _, _meta: __, ...facts } = created;
  expect(await taskOf(created.taskId)).toMatchObject(facts);
});

it("the MCP task of a call that waits in a queue, and the tool read_task, state its position", async () => {
  const { id } = await submitted({ isCall: true, isHookless: true, queues: ["ark-a"] });
  vi.spyOn(QueueObject.prototype, "position").mockReturnValue({
    position: 3,
    cause: "no_place",
  });
  expect(await taskOf(id)).toMatchObject({
    status: "working",
    statusMessage: "The call waits to be sent to the upstream, at position 3 of its queue.",
  });
  const { structuredContent } = await callTool("read_task", { id });
  expect(structuredContent).toMatchObject({ submission: { state: "queued", position: 3 } });
});

it.each([
  [10_000, 2_000],
  [100_000, 7_000],
  [3_600_000, 60_000],
])(
  "when an MCP task is %i ms old, it tells its client to read it again after %i ms",
  async (ageMs, pollMs) => {
    const { taskId } = await started();
    pass(ageMs);
    const { pollIntervalMs = 0 } = await taskOf(taskId);
    expect(Math.abs(pollIntervalMs - pollMs)).toBeLessThan(100);
  },
);

it("a completed MCP task has the result of the tool call, with links to the outputs", async () => {
  const { taskId } = await started();
  await finish(aCompletion(taskId));
  const task = await taskOf(taskId);
  expect(task).toMatchObject({
    status: "completed",
    result: {
      content: [{ type: "text" }, { type: "resource_link", uri: VIDEO }],
      structuredContent: { id: taskId, status: "completed", output: { urls: [VIDEO] } },
    },
  });
  expect(task).not.toHaveProperty("result.isError");
  expect(Math.abs((task.ttlMs ?? 0) - RETENTION_MS)).toBeLessThan(2_000);
});

it("when its job has failed, an MCP task is completed with an error as its result, because failed is for errors of the protocol", async () => {
  const { taskId } = await started();
  await finish(aFailure(taskId));
  expect(await taskOf(taskId)).toMatchObject({
    status: "completed",
    statusMessage: "moderation: Refused.",
    result: { isError: true, structuredContent: { error: { code: "moderation" } } },
  });
});

it("a task that was canceled through the HTTP API has the MCP status cancelled", async () => {
  anArk();
  const taskId = await register();
  await cancel(taskId);
  await untilIdle(taskId);
  expect(await taskOf(taskId)).toMatchObject({ status: "cancelled" });
});

it("the MCP method tasks/cancel makes the relay cancel the job at the upstream, and is acknowledged even when the task has already ended", async () => {
  const { taskId } = await started();
  const outside = anArk(({ method }) =>
    method === "DELETE" ? Response.json({}) : Response.json({ id: JOB, status: "queued" }),
  );
  await restart(taskId, OFFERED);
  expect(await ask("tasks/cancel", { taskId })).toMatchObject({
    status: 200,
    result: { resultType: "complete" },
  });
  await untilIdle(taskId);
  expect(outside.sentTo(ARK).map(({ method }) => method)).toContain("DELETE");
  const ended = await completed();
  expect(await ask("tasks/cancel", { taskId: ended })).toMatchObject({ status: 200, result: {} });
  expect(await taskOf(ended)).toMatchObject({ status: "completed" });
});

it("the MCP method tasks/update is acknowledged and changes nothing, because no MCP task of the relay asks for input", async () => {
  const { taskId } = await started();
  const before = await taskOf(taskId);
  const params = { taskId, inputResponses: { name: { action: "accept" } } };
  expect((await ask("tasks/update", params)).result).toMatchObject({ resultType: "complete" });
  expect(await taskOf(taskId)).toEqual(before);
});

it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
  "the MCP method %s gets the same error for an unknown task and for one of another account, and changes neither",
  async (method) => {
    const account = await anAccount(100);
    const { key } = await aKey(account);
    const { taskId } = await started({ key });
    const stranger = await aKey(await anAccount());
    const asked = async (id: string) =>
      (await ask(method, { taskId: id, inputResponses: {} }, { key: stranger.key })).error;
    const [foreign, unknown] = [await asked(taskId), await asked(crypto.randomUUID())];
    expect(foreign).toMatchObject({ code: -32_602, data: { code: "unknown_task" } });
    expect(foreign).toEqual(unknown);
    expect(await taskOf(taskId, { key })).toMatchObject({ status: "working" });
  },
);

it("the MCP method tasks/cancel for a task that the account may not cancel gets an error that says why", async () => {
  const account = await anAccount();
  const { key } = await aKey(account);
  const taskId = await register({ account });
  const { error } = await ask("tasks/cancel", { taskId }, { key });
  expect(error).toMatchObject({ code: -32_602, data: { code: "not_cancelable" } });
});

it.each(["tasks/get", "tasks/update", "tasks/cancel"])(
  "a call of %s by an MCP client that does not declare tasks gets an error that names the missing capability",
  async (method) => {
    const taskId = await register();
    const params = { taskId, inputResponses: {} };
    const { error } = await ask(method, params, { hasTasks: false });
    expect(error).toMatchObject(MISSING_CAPABILITY);
  },
);

it("an MCP client that does not declare tasks gets an error when it subscribes to tasks", async () => {
  const params = { notifications: { taskIds: [await register()] } };
  const { status, error } = await ask("subscriptions/listen", params, { hasTasks: false });
  expect([status, error]).toMatchObject([400, MISSING_CAPABILITY]);
});

it("an MCP client of an earlier revision cannot use the methods for tasks, because tasks have another form in that revision", async () => {
  const taskId = await register();
  const { error } = await askAsBefore("tasks/get", { taskId });
  expect(error).toMatchObject({ code: -32_601 });
});
