import { expect, it } from "vitest";
import { callWith, refusal, UNKNOWN_TASK } from "./client.ts";
import { until } from "./clock.ts";
import { aScene, type HookCase, hookOf, polled, type Scene } from "./hook-cases.ts";
import { answerOf, readHooked } from "./hooked.ts";
import { expectUnchanged } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

const OK = [200, "ok"];

function urlsOf(means: unknown): unknown {
  return Reflect.get(Object(means), "urls");
}

/** Waits until the task has ended and its callback is delivered; returns the task. */
async function ended({ task, outside }: Scene) {
  await until(async () => {
    const { callback } = await readHooked(task);
    return Reflect.get(Object(callback), "status") === "delivered";
  });
  const calls = outside.sentTo(CALLBACK_URL);
  const end = await readHooked(task);
  expect(calls.map(({ headers }) => headers["x-event"])).toEqual([`task.${end.status}`]);
  return end;
}

/** Returns a task whose upstream has finished the job. */
async function finished(hookCase: HookCase): Promise<Scene> {
  const scene = await aScene(hookCase);
  scene.answers(hookCase.sender.done);
  return scene;
}

/**
 * Tests how hooks end a task: at once when the relay trusts the hook, otherwise by the poll that the hook
 * causes.
 */
export function testAcceptedHooks(hookCase: HookCase): void {
  const { sender, isTrusted } = hookCase;
  const success = hookOf(hookCase, "completed");
  const urls = isTrusted ? urlsOf(success.means) : urlsOf(sender.done.means);

  it(`${hookCase.name} that arrives before its job was attached to the task completes the task`, async () => {
    const scene = await finished(hookCase);
    expect(await answerOf(await scene.post(success))).toEqual(OK);
    if (!isTrusted) {
      expect(await readHooked(scene.task)).toMatchObject({ status: "pending" });
      expect(scene.polls()).toBe(0);
      expect((await scene.attach()).status).toBe(200);
    }
    expect(await ended(scene)).toMatchObject({ status: "completed", output: { urls } });
    expect(scene.polls() > 0).toBe(!isTrusted);
    expect((await scene.attach()).status).toBe(isTrusted ? 409 : 200);
  });

  it(`${hookCase.name} about the job attached to the task completes the task, and gets 404 once the task is erased`, async () => {
    const scene = await finished(hookCase);
    await scene.attach();
    expect(await answerOf(await scene.post(success))).toEqual(OK);
    expect(await ended(scene)).toMatchObject({ status: "completed", output: { urls } });
    expect(scene.polls() > 0).toBe(!isTrusted);
    const { id, bindings } = scene.task;
    await callWith(bindings, `/v1/tasks/${id}`, { method: "DELETE" });
    expect(await refusal(await scene.post(success))).toEqual(UNKNOWN_TASK);
  });

  it(`${hookCase.name} that reports a failure ${isTrusted ? "fails the task" : "only causes a poll, because it is not trusted"}`, async () => {
    const scene = await aScene(hookCase);
    const failure = hookOf(hookCase, "failed");
    await scene.attach();
    expect(await answerOf(await scene.post(failure))).toEqual(OK);
    if (isTrusted) {
      expect(await ended(scene)).toMatchObject({ status: "failed", ...Object(failure.means) });
    } else {
      await polled(scene);
      expect(await readHooked(scene.task)).not.toHaveProperty("error");
      expect(scene.outside.sentTo(CALLBACK_URL)).toEqual([]);
    }
    expect(scene.polls() > 0).toBe(!isTrusted);
  });
}

/** Tests that repeated, late and outdated hooks do not change the task. */
export function testIgnoredHooks(hookCase: HookCase): void {
  const { sender } = hookCase;
  const success = hookOf(hookCase, "completed");

  it(`${hookCase.name} that arrives after the end of the task changes nothing, whatever it reports`, async () => {
    const scene = await finished(hookCase);
    await scene.attach();
    await scene.post(success);
    await ended(scene);
    const polls = scene.polls();
    await expectUnchanged(scene.task.id, async () => {
      for (const hook of sender.hooks.filter(({ jobId }) => jobId === sender.done.jobId)) {
        expect(await answerOf(await scene.post(hook))).toEqual(OK);
      }
    });
    expect(scene.polls()).toBe(polls);
    expect(scene.outside.sentTo(CALLBACK_URL)).toHaveLength(1);
  });
}
