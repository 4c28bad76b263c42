import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { callWith, OPERATOR_NAME } from "./client.ts";
import { until, useClock } from "./clock.ts";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { loggedBy } from "./logged.ts";
import { restart, untilIdle, wake } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { aReceiver, refused, status } from "./receiver.ts";
import { aFailure, CALLBACK_URL, finish, register, VIDEO } from "./tasks.ts";

useClock();

const NORMAL = { ...env, LOG: "normal", ARK_API_KEY: "test-only-ark-key" };

const SETTLED = {
  event: "task.settled",
  account: null,
  connection: null,
  status: "completed",
  failure: null,
  callback: "delivered",
  attempts: 1,
  series: 1,
  hooks: 0,
  polls: 0,
  refunded: null,
  open_ms: expect.any(Number),
  settling_ms: expect.any(Number),
  registered_by: OPERATOR_NAME,
  attached_by: null,
  reported_by: null,
};

it("the log has one line for a task that a hook ends and whose callback arrives, without LOG=all", async () => {
  const outside = anOutside();
  const job = { id: "cgt-quiet", status: "succeeded", content: { video_url: VIDEO } };
  outside.on("https://ark.", answering(job));
  outside.on(CALLBACK_URL, answering({}));
  let id = "";
  const logged = await loggedBy(async () => {
    const task = await hooked({ provider: "ark", bindings: NORMAL });
    ({ id } = task);
    await attach(task, job.id);
    await sendHook(task, JSON.stringify({ ...job, status: "queued" }));
    await sendHook(task, JSON.stringify(job));
    await until(async () => (await readHooked(task)).status === "completed");
    await untilIdle(id);
    await sendHook(task, JSON.stringify(job));
  });
  expect(logged).toEqual([
    { ...SETTLED, task_id: id, connection: "ark", attached_by: OPERATOR_NAME, hooks: 2, polls: 1 },
  ]);
});

it("without LOG=all the log has one line for each failed callback attempt, and task.settled as a warning after the last", async () => {
  aReceiver(status(500), refused, status(500));
  const id = await register();
  await restart(id, NORMAL);
  const logged = await loggedBy(async () => {
    await finish(aFailure(id));
    for (const wait of [180_000, 600_000]) await wake(id, wait);
  });
  expect(logged).toMatchObject([
    { event: "callback.attempt", number: 1, outcome: "rejected" },
    { event: "callback.attempt", number: 2, outcome: "unreachable" },
    {
      ...SETTLED,
      task_id: id,
      status: "failed",
      callback: "failed",
      attempts: 3,
      reported_by: OPERATOR_NAME,
    },
    { event: "callback.attempt", number: 3, outcome: "rejected" },
  ]);
});

it.each([
  ["no line for a request for a path that does not exist", "/wp-login.php", { key: null }, 0],
  ["no line for a request without a key", "/v1/tasks", { key: null, body: {} }, 0],
  [
    "no line for a request with a method that the path does not support",
    "/v1/tasks",
    { key: null, method: "PUT" },
    0,
  ],
  [
    "no line for a request for a hook URL that the relay did not make",
    "/hooks/ark/x/y",
    { key: null, body: {} },
    0,
  ],
  ["one line for a request of the operator with an invalid body", "/v1/tasks", { body: {} }, 1],
  ["one line for a request of the operator for an unknown task", "/v1/tasks/x", {}, 1],
])("the log of a relay without LOG=all has %s: %s", async (_what, path, message, count) => {
  expect(await loggedBy(() => callWith(NORMAL, path, message))).toHaveLength(count);
});
