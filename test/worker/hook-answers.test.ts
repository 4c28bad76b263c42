import { describe, expect, it } from "vitest";
import { app } from "../../src/app.ts";
import { aScene, CASES, hookOf, polled, type Scene } from "./hook-cases.ts";
import { answerOf, readHooked } from "./hooked.ts";
import { aRequest, refusal } from "./client.ts";
import { until, useClock } from "./clock.ts";
import { stored } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const OK = [200, "ok"];

function urlsOf(means: unknown): unknown {
  return Reflect.get(Object(means), "urls");
}

/** Waits for the end and its callback; the task. */
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

describe.each(CASES)("$name", (it_) => {
  const { sender, hasKey, isBelieved } = it_;
  const success = hookOf(it_, "completed");
  const expected = isBelieved ? urlsOf(success.means) : urlsOf(sender.done.means);

  it("learns the end from a hook that came before the attachment", async () => {
    const scene = await aScene(it_);
    scene.answers(sender.done);
    expect(await answerOf(await scene.post(success))).toEqual(OK);
    if (!isBelieved) {
      expect(await readHooked(scene.task)).toMatchObject({ status: "pending" });
      expect(scene.polls()).toBe(0);
      expect((await scene.attach()).status).toBe(200);
    }
    expect(await ended(scene)).toMatchObject({ status: "completed", output: { urls: expected } });
    expect(scene.polls() > 0).toBe(!isBelieved);
    const late = await scene.attach();
    expect(late.status).toBe(isBelieved ? 409 : 200);
  });

  it("learns the end from a hook after the attachment", async () => {
    const scene = await aScene(it_);
    scene.answers(sender.done);
    await scene.attach();
    expect(await answerOf(await scene.post(success))).toEqual(OK);
    expect(await ended(scene)).toMatchObject({ status: "completed", output: { urls: expected } });
    expect(scene.polls() > 0).toBe(!isBelieved);
  });

  it("learns of a failure", async () => {
    const scene = await aScene(it_);
    const failure = hookOf(it_, "failed");
    await scene.attach();
    expect(await answerOf(await scene.post(failure))).toEqual(OK);
    if (isBelieved) {
      expect(await ended(scene)).toMatchObject({ status: "failed", ...Object(failure.means) });
    } else {
      // A forged hook looks just like this one.
      await polled(scene);
      expect(await readHooked(scene.task)).not.toHaveProperty("error");
      expect(scene.outside.sentTo(CALLBACK_URL)).toEqual([]);
    }
    expect(scene.polls() > 0).toBe(!isBelieved);
  });

  it("asks after a success without output, where it can", async () => {
    const scene = await aScene(it_);
    scene.answers(sender.done);
    await scene.attach();
    expect(await answerOf(await scene.post(hookOf(it_, "no_output")))).toEqual(OK);
    const message = "The upstream reported success without output.";
    expect(await ended(scene)).toMatchObject(
      hasKey
        ? { status: "completed", output: { urls: urlsOf(sender.done.means) } }
        : { status: "failed", error: { code: "upstream_error", message } },
    );
  });

  it("takes hooks after the end, contradicting and out of order, and changes nothing", async () => {
    const scene = await aScene(it_);
    scene.answers(sender.done);
    await scene.attach();
    await scene.post(success);
    await ended(scene);
    const polls = scene.polls();
    const before = await stored(scene.task.id);
    for (const hook of sender.hooks.filter(({ jobId }) => jobId === sender.done.jobId)) {
      expect(await answerOf(await scene.post(hook))).toEqual(OK);
    }
    expect(await stored(scene.task.id)).toEqual(before);
    expect(scene.polls()).toBe(polls);
    expect(scene.outside.sentTo(CALLBACK_URL)).toHaveLength(1);
  });

  // fal tells only the end.
  it.runIf(sender.provider !== "fal")(
    "takes an old state after a newer one, and changes nothing",
    async () => {
      const scene = await aScene(it_);
      await scene.attach();
      await scene.post(hookOf(it_, "processing"));
      if (isBelieved) expect(scene.polls()).toBe(0);
      else await polled(scene);
      const before = await stored(scene.task.id);
      expect(await answerOf(await scene.post(hookOf(it_, "queued")))).toEqual(OK);
      expect(await stored(scene.task.id)).toEqual(before);
      const { status } = await readHooked(scene.task);
      if (isBelieved) expect(status).toBe("processing");
    },
  );

  it("takes a hook about another job, and changes nothing", async () => {
    const scene = await aScene(it_);
    await scene.attach();
    const before = await stored(scene.task.id);
    const body = success.body.replaceAll(sender.done.jobId, "another-job");
    expect(await answerOf(await scene.post({ ...success, body }))).toEqual(OK);
    expect(await stored(scene.task.id)).toEqual(before);
    expect(scene.polls()).toBe(0);
  });

  it("answers 404 once the task is erased", async () => {
    const scene = await aScene(it_);
    scene.answers(sender.done);
    await scene.attach();
    await scene.post(success);
    await ended(scene);
    const { id, bindings } = scene.task;
    await app.fetch(aRequest(`/v1/tasks/${id}`, { method: "DELETE" }), bindings);
    const unknown = { status: 404, code: "unknown_task" };
    expect(await refusal(await scene.post(success))).toEqual(unknown);
  });
});
