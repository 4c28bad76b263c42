import { expect, it, vi } from "vitest";
import { ObjectPlatform } from "../../src/objects/task/object-platform.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { pass, START, START_S, until, useClock } from "./clock.ts";
import { loggedBy } from "./logged.ts";
import { evict, NOTHING, stored, untilIdle, wake } from "./objects.ts";
import { type Answer, aReceiver, never, status } from "./receiver.ts";
import { aCompletion, erase, read, register, report } from "./tasks.ts";

useClock();

const WATCHDOG_MS = 15_000;

/** Replaces the network by a receiver whose first answer comes when the test says so. */
function aSlowReceiver(...later: readonly Answer[]) {
  let answered: number | null = null;
  const slow = async () => {
    await until(() => answered !== null);
    return new Response(null, { status: answered ?? 0 });
  };
  const received = aReceiver(slow, ...later);
  return { received, answer: (code: number) => (answered = code) };
}

/** Completes a task whose receiver is slow, and evicts its object, which does not wait for the receiver. */
async function sending(fields: object = {}, id = crypto.randomUUID()): Promise<string> {
  const { mock } = vi.spyOn(ObjectPlatform.prototype, "send").mockClear();
  await register({ id, ...fields });
  await report(aCompletion(id));
  await until(() => mock.settledResults.at(-1)?.type === "fulfilled");
  expect(mock.settledResults.at(-1)?.value).toBeNull();
  await evict(id);
  return id;
}

/** Returns the log lines about attempts that are written until the condition holds. */
async function attemptLines(answer: () => void, isOver: () => Promise<boolean>) {
  const lines = await loggedBy(async () => {
    answer();
    await until(isOver);
  });
  return lines.filter((line) => "event" in line && line.event === "callback.attempt");
}

it("a slow receiver does not keep the task's object in memory: the object, which was evicted meanwhile, gets the result, and plans the next attempt from the end of this one", async () => {
  const { received, answer } = aSlowReceiver(status(204));
  const id = await sending();
  expect(await stored(id)).toMatchObject({
    record: { callback: { state: { kind: "in_flight", number: 1, startedAt: START } } },
    alarm: START + WATCHDOG_MS,
  });
  pass(7_000);
  const isPlanned = async () => (await stored(id)).alarm === START + 187_000;
  const lines = await attemptLines(() => answer(500), isPlanned);
  expect(lines).toMatchObject([{ task_id: id, number: 1, duration_ms: 7_000, recorded: true }]);
  const attempt = { number: 1, started_at: START_S, duration_ms: 7_000, outcome: "rejected" };
  const next_attempt_at = START_S + 187;
  expect(await read(id)).toMatchObject({ callback: { attempts: [attempt], next_attempt_at } });
  await wake(id, 180_000);
  expect(received.map(({ headers }) => headers["x-attempt"])).toEqual(["1", "2"]);
  expect(await read(id)).toMatchObject({ callback: { status: "delivered" } });
});

it("the end of an attempt is reported again when the task's object fails, and is stored once", async () => {
  const { answer } = aSlowReceiver();
  const id = await sending();
  const endAttempt: (typeof TaskObject.prototype)["endAttempt"] = Reflect.get(
    TaskObject.prototype,
    "endAttempt",
  );
  const ends = vi
    .spyOn(TaskObject.prototype, "endAttempt")
    .mockImplementationOnce(() => {
      pass(3_000);
      throw new Error("the object fails");
    })
    .mockImplementationOnce(function (this: TaskObject, ended) {
      Reflect.apply(endAttempt, this, [ended]);
      throw new Error("the answer is lost");
    });
  const lines = await attemptLines(
    () => answer(204),
    async () => ends.mock.calls.length === 3,
  );
  expect(lines).toMatchObject([{ outcome: "delivered", recorded: true }]);
  await untilIdle(id);
  const attempts = [{ number: 1, duration_ms: 0, outcome: "delivered" }];
  expect(await read(id)).toMatchObject({ callback: { status: "delivered", attempts } });
});

it("an end that is reported after the watchdog alarm has found the attempt interrupted changes nothing, and the next attempt follows 5 s after the alarm", async () => {
  const { received, answer } = aSlowReceiver(status(204));
  const id = await sending();
  await wake(id, WATCHDOG_MS);
  const before = await stored(id);
  expect(before).toMatchObject({ alarm: START + WATCHDOG_MS + 5_000 });
  const ends = vi.spyOn(TaskObject.prototype, "endAttempt");
  const isReported = async () => ends.mock.results.length === 1;
  const lines = await attemptLines(() => answer(204), isReported);
  expect(lines).toMatchObject([{ outcome: "delivered", recorded: false }]);
  expect(await stored(id)).toEqual(before);
  await wake(id, 5_000);
  expect(received).toHaveLength(2);
  const attempts = [{ outcome: "interrupted" }, { outcome: "delivered" }];
  expect(await read(id)).toMatchObject({ callback: { attempts } });
});

/** Reports the end of the attempt of an erased task. @returns what is stored under its id before and after. */
async function reportLate(id: string, answer: () => void) {
  const ends = vi.spyOn(TaskObject.prototype, "endAttempt");
  const before = await stored(id);
  answer();
  await until(() => ends.mock.results.length === 1);
  return [before, await stored(id)];
}

/** Completes a task whose attempt the watchdog alarm finds interrupted, and erases it. */
async function erased(): Promise<string> {
  const id = await sending({ callback_schedule_s: [0] });
  await wake(id, WATCHDOG_MS);
  expect((await erase(id)).status).toBe(204);
  return id;
}

it("an end that is reported after the task was erased creates no task", async () => {
  const { answer } = aSlowReceiver();
  const id = await erased();
  expect(await reportLate(id, () => answer(204))).toEqual([NOTHING, NOTHING]);
});

it("an end that is reported after the task was erased does not end the attempt with the same number of a later task with its id", async () => {
  const { answer } = aSlowReceiver(never);
  const id = await erased();
  await sending({ callback_schedule_s: [0] }, id);
  const [before, after] = await reportLate(id, () => answer(204));
  expect(before).toMatchObject({ record: { callback: { state: { kind: "in_flight" } } } });
  expect(after).toEqual(before);
});
