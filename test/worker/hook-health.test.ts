import { describe, expect, it } from "vitest";
import * as z from "zod";
import { answerTo, aRequest } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { attach, readHooked, sendHook } from "./hooked.ts";
import { wake } from "./objects.ts";
import {
  aConnection,
  aFinishedArk,
  attached,
  calls,
  JOB,
  lived,
  noteHooks,
  type OwnConnection,
  rowsOfConnection,
} from "./own-connection.ts";

useClock();

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const MISSING = Array.from({ length: 20 }, () => false);

async function healthOf({ name, bindings }: OwnConnection): Promise<unknown> {
  const Health = z.object({ connections: z.record(z.string(), z.unknown()) });
  const response = await answerTo(aRequest("/healthz"), bindings);
  return Health.parse(await response.json()).connections[name];
}

describe("an attachment to a connection whose hooks are expected", () => {
  it("a job is first polled after about a minute if any of its connection's last 20 expected hooks came, and after about 4 s if none came", async () => {
    const connection = aConnection();
    await noteHooks(connection, ...MISSING.slice(1));
    expect(await healthOf(connection)).toEqual({ provider: "ark", key: "set" });
    expect((await attached(connection)).waitMs).toBeGreaterThan(56 * SECOND);
    await noteHooks(connection, false);
    expect(await healthOf(connection)).toMatchObject({ hooks: "missing" });
    pass(10 * MINUTE);
    expect((await attached(connection)).waitMs).toBeLessThan(4.3 * SECOND);
  });

  it("when jobs are attached, an isolate asks the connection's Durable Object at most once in ten minutes how many hooks are missing, and not for a repeated attachment", async () => {
    const connection = aConnection();
    const asked = calls("hooklessTasks");
    const { task } = await attached(connection);
    await attached(connection);
    pass(10 * MINUTE - 1);
    await attached(connection);
    expect(asked).toHaveBeenCalledTimes(1);
    pass(1);
    await attach(task, JOB);
    expect(asked).toHaveBeenCalledTimes(1);
    await attached(connection);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it.each<[string, () => unknown]>([
    ["does not answer", () => new Promise<never>(() => undefined)],
    [
      "fails",
      () => {
        throw new Error("overloaded");
      },
    ],
  ])(
    "when the Durable Object that counts a connection's missing hooks %s, a job can still be attached, and is first polled after about a minute",
    async (_, answer) => {
      calls("hooklessTasks").mockImplementation(answer);
      const { waitMs } = await attached(aConnection());
      expect(waitMs).toBeGreaterThan(56 * SECOND);
      expect(waitMs).toBeLessThan(64 * SECOND);
    },
  );
});

describe("reports of tasks to the object of their connection about hooks", () => {
  it("a task whose expected hook did not come reports that to its connection's Durable Object, which writes one row; 41 such reports write only 20 rows", async () => {
    aFinishedArk();
    const connection = aConnection();
    const rows = await rowsOfConnection(connection);
    const noted = calls("noteHook");
    await lived(connection, 2 * MINUTE);
    await until(() => noted.mock.calls.length === 1);
    expect(rows()).toBe(1);
    await noteHooks(connection, ...MISSING, ...MISSING);
    expect(rows()).toBe(20);
  });

  it("while no expected hook of a connection is missing, a hook that arrives causes no call to the connection's Durable Object", async () => {
    aFinishedArk();
    const connection = aConnection();
    const { task } = await attached(connection);
    const noted = calls("noteHook");
    await sendHook(task, JSON.stringify({ id: JOB, status: "succeeded" }));
    await wake(task.id, 3 * MINUTE);
    expect(await readHooked(task)).toMatchObject({ status: "completed" });
    expect(noted).not.toHaveBeenCalled();
  });

  it.each<[string, string, boolean]>([
    ["says that the job runs", "running", false],
    ["says that the job has ended", "succeeded", false],
    ["comes after a poll had found the result", "succeeded", true],
  ])(
    "after a single hook that %s, /healthz no longer says that the connection's hooks are missing",
    async (_, status, isLate) => {
      aFinishedArk();
      const connection = aConnection();
      await noteHooks(connection, ...MISSING);
      const { task } = await attached(connection);
      const hook = () => sendHook(task, JSON.stringify({ id: JOB, status }));
      if (!isLate) await hook();
      await wake(task.id, 3 * MINUTE);
      expect(await readHooked(task)).toMatchObject({ status: "completed" });
      if (isLate) await hook();
      await until(async () => !JSON.stringify(await healthOf(connection)).includes("missing"));
    },
  );

  it("when a task has reported its hook as missing and then gets three hooks, it reports only the first to its connection's Durable Object, which writes one row", async () => {
    aFinishedArk();
    const connection = aConnection();
    const noted = calls("noteHook");
    const rows = await rowsOfConnection(connection);
    const task = await lived(connection, 2 * MINUTE);
    await until(() => rows() === 1);
    for (let count = 0; count < 3; count++) {
      await sendHook(task, JSON.stringify({ id: JOB, status: "succeeded" }));
      await until(() => noted.mock.calls.length === 2);
    }
    expect(noted.mock.calls).toEqual([[false], [true]]);
    expect(rows()).toBe(2);
  });

  it("a task ends even when it reports a missing hook to its connection's Durable Object and the object throws an error", async () => {
    aFinishedArk();
    calls("noteHook").mockImplementation(() => {
      throw new Error("overloaded");
    });
    await lived(aConnection(), 2 * MINUTE);
  });
});
