import { expect, it } from "vitest";
import { aReceiver, status } from "./receiver.ts";
import { call, refusal, UNKNOWN_TASK } from "./client.ts";
import { pass, useClock } from "./clock.ts";
import { expectUnchanged, NOTHING, stored } from "./objects.ts";
import { aCompletion, completed, erase, register, report } from "./tasks.ts";

useClock();

async function versionOf(id: string): Promise<number> {
  const tag = (await call(`/v1/tasks/${id}`)).headers.get("ETag") ?? "";
  return parseInt(tag.slice(1), 10);
}

it("DELETE /v1/tasks/{id} answers 204 for a settled task and leaves nothing of it", async () => {
  aReceiver();
  const id = await completed();
  const response = await erase(id.toUpperCase());
  expect([response.status, await response.text()]).toEqual([204, ""]);
  expect(await stored(id)).toEqual(NOTHING);
  expect((await call(`/v1/tasks/${id}`)).status).toBe(404);
  for (const each of [id, "42"]) expect(await refusal(await erase(each))).toEqual(UNKNOWN_TASK);
});

it.each([
  ["task_open", register],
  ["series_running", completed],
])("DELETE /v1/tasks/{id} answers 409 %s with the task and erases nothing", async (code, make) => {
  aReceiver(status(500));
  const id = await make();
  await expectUnchanged(id, async () => {
    const response = await erase(id);
    expect([response.status, await response.json()]).toMatchObject([409, { code, task: { id } }]);
  });
});

it("DELETE /v1/tasks/{id} lets a new task use the id, with a higher version", async () => {
  aReceiver();
  const id = await completed();
  const before = await versionOf(id);
  await erase(id);
  pass(1000);
  await report(aCompletion(id, { model: "again" }));
  expect(await versionOf(id)).toBeGreaterThan(before);
});
