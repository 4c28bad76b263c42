import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { answerTo, aRequest } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { attach, readHooked, sendHook } from "./hooked.ts";
import {
  aConnection,
  aFinishedArk,
  aReport,
  aTask,
  attached,
  bookOf,
  calls,
  JOB,
  lived,
  type OwnConnection,
  reportTo,
  rowsOfConnection,
} from "./kinds.ts";
import { stored, stubOf, wake } from "./objects.ts";

useClock();

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const tenTimes = (ms: number) => Array.from({ length: 10 }, () => aReport(ms));
const HOOKLESS = Array.from({ length: 20 }, () => aReport(MINUTE, "m", false));

async function healthOf({ name, bindings }: OwnConnection): Promise<unknown> {
  const Health = z.object({ connections: z.record(z.string(), z.unknown()) });
  const response = await answerTo(aRequest("/healthz"), bindings);
  return Health.parse(await response.json()).connections[name];
}

describe("the durations of earlier jobs of a model", () => {
  it("when ten jobs of a model took between 37 s and 5 min, the next job of this model is first polled after 3 to 5.3 min, not after one minute", async () => {
    aFinishedArk();
    const connection = aConnection();
    const noted = calls("noteJob");
    for (let count = 0; count < 10; count++) await lived(connection, 5 * MINUTE);
    await until(() => noted.mock.calls.length === 10);
    pass(10 * MINUTE);
    const { waitMs } = await attached(connection);
    // The poll only shows that the jobs took more than 37 s, an eighth of five minutes, and less than five
    // minutes.
    expect(waitMs).toBeGreaterThan(3 * MINUTE);
    expect(waitMs).toBeLessThan(5.3 * MINUTE);
  });

  it("long durations of earlier jobs delay the first poll of a job of the same model and connection, but of no other", async () => {
    aFinishedArk();
    const connection = aConnection();
    await reportTo(connection, tenTimes(10 * MINUTE));
    const waits = await Promise.all([
      attached(connection),
      attached(connection, "other"),
      attached(aConnection()),
    ]);
    expect(waits.map(({ waitMs }) => waitMs > 2 * MINUTE)).toEqual([true, false, false]);
  });

  it("a connection's object is asked for a model's durations once in ten minutes, even when twelve jobs are attached at once", async () => {
    aFinishedArk();
    const connection = aConnection();
    await reportTo(connection, tenTimes(10 * MINUTE));
    const asked = calls("knownKind");
    const all = await Promise.all(Array.from({ length: 12 }, () => attached(connection)));
    expect(all.every(({ waitMs }) => waitMs > 8 * MINUTE)).toBe(true);
    pass(10 * MINUTE - 1);
    await attached(connection);
    expect(asked).toHaveBeenCalledTimes(1);
    pass(1);
    await attached(connection);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it("attaching the same job to a task again does not ask the Durable Object of the connection to the provider for the durations of earlier jobs", async () => {
    aFinishedArk();
    const { task } = await attached(aConnection());
    pass(10 * MINUTE);
    const asked = calls("knownKind");
    await attach(task, JOB);
    expect(asked).not.toHaveBeenCalled();
  });

  it("a job is first polled after ten seconds when a Worker of an earlier release attaches it, which does not say whether a hook is expected", async () => {
    aFinishedArk();
    const { id, provider } = await aTask(aConnection());
    const job = { id: JOB, endpoint: null };
    const operator = { kind: "operator", role: "all", key: "test" } as const;
    await stubOf(id).apply({ type: "attach", connection: provider, job }, operator);
    const { alarm } = await stored(id);
    expect(alarm).toBeLessThan(Date.now() + 11 * SECOND);
  });

  it.each<[string, () => never | Promise<never>]>([
    ["does not answer", () => new Promise<never>(() => undefined)],
    [
      "fails",
      () => {
        throw new Error("overloaded");
      },
    ],
  ])(
    "a job is attached, and first polled after about a minute, when the Durable Object that knows the durations of earlier jobs %s",
    async (_, answer) => {
      aFinishedArk();
      calls("knownKind").mockImplementation(answer);
      const { waitMs } = await attached(aConnection());
      expect(waitMs).toBeLessThan(MINUTE * 1.06);
    },
  );
});

describe("what tasks tell the object of their connection", () => {
  it("a connection's object stores the durations of a model's first 50 jobs, then of one job in 24, each with one written row", async () => {
    aFinishedArk();
    const connection = aConnection();
    await reportTo(
      connection,
      Array.from({ length: 48 }, () => aReport(MINUTE)),
    );
    const noted = calls("noteJob");
    const rows = await rowsOfConnection(connection);
    const random = vi.spyOn(Math, "random").mockReturnValue(1 / 24);
    for (let count = 0; count < 5; count++) await lived(connection, 2 * MINUTE);
    random.mockReturnValue(1 / 24 - 0.001);
    await lived(connection, 2 * MINUTE);
    await until(() => noted.mock.calls.length >= 3);
    expect([noted.mock.calls.length, rows()]).toEqual([3, 3]);
  });

  it("a connection's object keeps the durations of 200 models in 400 KB at most, and drops the model whose last job is oldest", async () => {
    const connection = aConnection();
    const kinds = Array.from({ length: 210 }, (_, index) => `${"é".repeat(190)} ${index}`);
    const wide = kinds.map((kind) => [aReport(1, kind), aReport(200_000_000, kind)]);
    await reportTo(connection, [
      ...tenTimes(5 * MINUTE),
      ...wide.slice(0, 105).flat(),
      aReport(5 * MINUTE),
      ...wide.slice(105).flat(),
    ]);
    const { kinds: count, bytes } = await bookOf(connection);
    expect(count).toBe(200);
    expect(bytes).toBeLessThan(400_000);
    expect((await attached(connection, kinds[0])).waitMs).toBeLessThan(2 * MINUTE);
    expect((await attached(connection)).waitMs).toBeGreaterThan(4 * MINUTE);
  });

  it("when a connection's object has the durations of 200 models, only one in 24 jobs of a further model sends it a duration", async () => {
    aFinishedArk();
    const connection = aConnection();
    const kinds = Array.from({ length: 200 }, (_, index) => aReport(MINUTE, `kind ${index}`));
    await reportTo(connection, kinds);
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const noted = calls("noteJob");
    await lived(connection, 2 * MINUTE);
    expect(noted).not.toHaveBeenCalled();
  });

  it("a task ends even when the Durable Object that stores the durations of jobs throws as the task sends it the duration", async () => {
    aFinishedArk();
    calls("noteJob").mockImplementation(() => {
      throw new Error("overloaded");
    });
    await lived(aConnection(), 2 * MINUTE);
  });
});

describe("hooks that do not come", () => {
  it("after 20 tasks in a row whose expected hook did not come, the next job is polled within 11 s instead of a minute, and /healthz shows hooks as missing", async () => {
    aFinishedArk();
    const connection = aConnection();
    await reportTo(connection, [...HOOKLESS.slice(1), aReport(MINUTE, "m", true)]);
    await reportTo(connection, HOOKLESS.slice(1));
    expect(await healthOf(connection)).toEqual({ provider: "ark", key: "set" });
    const { waitMs } = await attached(connection, "before");
    await reportTo(connection, HOOKLESS.slice(0, 1));
    expect(await healthOf(connection)).toMatchObject({ hooks: "missing" });
    const { waitMs: laterMs } = await attached(connection, "after");
    expect(waitMs).toBeGreaterThan(50 * SECOND);
    expect(laterMs).toBeLessThan(11 * SECOND);
  });

  it.each<[string, string, boolean]>([
    ["says that the job runs", "running", false],
    ["says that the job has ended", "succeeded", false],
    ["comes after a poll had found the result", "succeeded", true],
  ])(
    "after one hook that %s, /healthz no longer says that the connection's hooks are missing, even if the job's duration is not stored",
    async (_, status, isLate) => {
      aFinishedArk();
      const connection = aConnection();
      await reportTo(connection, [
        ...HOOKLESS,
        ...Array.from({ length: 40 }, () => aReport(MINUTE)),
      ]);
      vi.spyOn(Math, "random").mockReturnValue(0.5);
      const { task } = await attached(connection);
      const hook = () => sendHook(task, JSON.stringify({ id: JOB, status }));
      if (!isLate) await hook();
      await wake(task.id, 3 * MINUTE);
      expect(await readHooked(task)).toMatchObject({ status: "completed" });
      if (isLate) await hook();
      await until(async () => !JSON.stringify(await healthOf(connection)).includes("missing"));
    },
  );

  it("when three hooks arrive after a task reported to its connection's Durable Object that no hook came, the task corrects this report once", async () => {
    aFinishedArk();
    const connection = aConnection();
    const noted = calls("noteJob");
    const rows = await rowsOfConnection(connection);
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const task = await lived(connection, 2 * MINUTE);
    for (let count = 0; count < 3; count++) {
      await sendHook(task, JSON.stringify({ id: JOB, status: "succeeded" }));
    }
    await until(() => noted.mock.calls.length === 2);
    expect(noted.mock.calls).toMatchObject([[{ hasHook: false }], [{ end: null, hasHook: true }]]);
    expect(rows()).toBe(2);
  });
});
