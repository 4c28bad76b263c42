import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { START, START_S, useClock } from "./clock.ts";
import { attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { restart, stored, wake } from "./objects.ts";
import { anOutside } from "./outside.ts";
import { aReceiver, status } from "./receiver.ts";
import { aCompletion, completed, finish, read, redeliver, register, taskOf } from "./tasks.ts";

useClock();

it("GET /v1/tasks/{id} and the response to a redelivery show that the callback waits because the relay is paused", async () => {
  const received = aReceiver();
  const id = await register();
  await restart(id, { ...env, PAUSED: "true" });
  await finish(aCompletion(id));
  const waiting = { callback: { status: "sending", paused: true, attempts: [] } };
  expect(await read(id)).toMatchObject(waiting);
  const response = await redeliver(id);
  expect(response.status).toBe(202);
  expect(await taskOf(response)).toMatchObject(waiting);
  expect(received).toEqual([]);
});

it("when the upstream answers polls with 503, GET /v1/tasks/{id} shows the operator since when, and the time of the next poll", async () => {
  anOutside().on("https://ark.", () => new Response(null, { status: 503 }));
  const task = await hooked({ provider: "ark", bindings: { ...env, ARK_API_KEY: "k".repeat(20) } });
  await attach(task, "cgt-1");
  const askedAt = (await stored(task.id)).alarm ?? 0;
  await wake(task.id, askedAt - START);
  const { tracking } = await readHooked(task);
  expect(tracking).toEqual({
    answer: "unanswered",
    answer_since: Math.floor(askedAt / 1000),
    asked_at: Math.floor(askedAt / 1000),
    next_poll_at: expect.any(Number),
    next_poll_reason: "schedule",
    is_extended: false,
    hooks_taken: 0,
    hooks_kept: 0,
    hooks_refused: [],
  });
});

it("GET /v1/tasks/{id} shows the operator that a hook for the task was refused because of its signature", async () => {
  const REPLICATE_WEBHOOK_SECRET = `whsec_${btoa("s".repeat(24))}`;
  const bindings = { ...env, REPLICATE_WEBHOOK_SECRET };
  const task = await hooked({ provider: "replicate", bindings });
  expect((await sendHook(task, "{}")).status).toBe(401);
  const { tracking } = await readHooked(task);
  expect(tracking).toMatchObject({ hooks_refused: [{ at: START_S, reason: "bad_signature" }] });
});

it("when the receiver answers 526, GET /v1/tasks/{id} shows the cause tls of the attempt, and the time at which the result was accepted", async () => {
  aReceiver(status(526));
  expect(await read(await completed())).toMatchObject({
    finished_at: START_S,
    callback: {
      attempts: [{ outcome: "unreachable", cause: "tls", status_code: 526 }],
      next_attempt_at: START_S + 180,
    },
  });
});
