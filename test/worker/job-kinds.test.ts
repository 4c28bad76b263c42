import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";
import { aRequest } from "./client.ts";
import { pass, until, useClock } from "./clock.ts";
import { attach, readHooked, sendHook } from "./hooked.ts";
import {
  aConnection,
  aFinishedArk,
  aReport,
  attached,
  bookOf,
  calls,
  JOB,
  lived,
  type OwnConnection,
  reportTo,
  rowsOfConnection,
} from "./kinds.ts";
import { wake } from "./objects.ts";

useClock();

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const tenTimes = (ms: number) => Array.from({ length: 10 }, () => aReport(ms));
const HOOKLESS = Array.from({ length: 20 }, () => aReport(MINUTE, "m", false));

async function healthOf({ name, bindings }: OwnConnection): Promise<unknown> {
  const Health = z.object({ connections: z.record(z.string(), z.unknown()) });
  const response = await app.fetch(aRequest("/healthz"), bindings);
  return Health.parse(await response.json()).connections[name];
}

describe("what is known of a kind of jobs", () => {
  it("after ten jobs of a kind were found, the next one is polled when they had ended, and not after a minute", async () => {
    aFinishedArk();
    const connection = aConnection();
    const noted = calls("noteJob");
    for (let count = 0; count < 10; count++) await lived(connection, 5 * MINUTE);
    await until(() => noted.mock.calls.length === 10);
    pass(10 * MINUTE);
    const { waitMs } = await attached(connection);
    // All that is known is that they took more than 37 s, an eighth of five minutes, and less than five minutes.
    expect(waitMs).toBeGreaterThan(3 * MINUTE);
    expect(waitMs).toBeLessThan(5.3 * MINUTE);
  });

  it("jobs of another model or connection are polled as if nothing was known", async () => {
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

  it("the object of a connection is asked once in ten minutes for each kind, however many jobs are attached at once", async () => {
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

  it("the object of a connection is not asked when the same job is attached again", async () => {
    aFinishedArk();
    const { task } = await attached(aConnection());
    pass(10 * MINUTE);
    const asked = calls("knownKind");
    await attach(task, JOB);
    expect(asked).not.toHaveBeenCalled();
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
    "a job is attached as if nothing was known of it when the object of its connection %s",
    async (_, answer) => {
      aFinishedArk();
      calls("knownKind").mockImplementation(answer);
      const { waitMs } = await attached(aConnection());
      expect(waitMs).toBeLessThan(MINUTE * 1.06);
    },
  );
});

describe("the reports of jobs", () => {
  it("the first 50 jobs of a kind are reported, and later one in 24, each for one row", async () => {
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

  it("at most 200 kinds of a connection are kept, in 400 KB, of which the one that was not reported for the longest time leaves", async () => {
    const connection = aConnection();
    const kinds = Array.from({ length: 210 }, (_, index) => `${"é".repeat(190)} ${index}`);
    await reportTo(connection, [
      ...tenTimes(5 * MINUTE),
      ...kinds.flatMap((kind) => [
        aReport(1, kind),
        aReport(200_000_000, kind),
        aReport(5 * MINUTE),
      ]),
    ]);
    const { kinds: count, bytes } = await bookOf(connection);
    expect(count).toBe(200);
    expect(bytes).toBeLessThan(400_000);
    expect((await attached(connection, kinds[0])).waitMs).toBeLessThan(2 * MINUTE);
    expect((await attached(connection)).waitMs).toBeGreaterThan(4 * MINUTE);
  });

  it("a kind for which there is no room is reported only by one in 24 of its jobs", async () => {
    aFinishedArk();
    const connection = aConnection();
    const kinds = Array.from({ length: 200 }, (_, index) => aReport(MINUTE, `kind ${index}`));
    await reportTo(connection, kinds);
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const noted = calls("noteJob");
    await lived(connection, 2 * MINUTE);
    expect(noted).not.toHaveBeenCalled();
  });

  it("a report that fails ends the task all the same", async () => {
    aFinishedArk();
    calls("noteJob").mockImplementation(() => {
      throw new Error("overloaded");
    });
    await lived(aConnection(), 2 * MINUTE);
  });
});

describe("hooks that do not come", () => {
  it("after 20 reported tasks without a hook, a job is polled as if none could come, and /healthz says so", async () => {
    aFinishedArk();
    const connection = aConnection();
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
  ])("one hook that %s ends it, also of a job that is not reported", async (_, status, isLate) => {
    aFinishedArk();
    const connection = aConnection();
    await reportTo(connection, [...HOOKLESS, ...Array.from({ length: 40 }, () => aReport(MINUTE))]);
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const { task } = await attached(connection);
    const hook = () => sendHook(task, JSON.stringify({ id: JOB, status }));
    if (!isLate) await hook();
    await wake(task.id, 3 * MINUTE);
    expect(await readHooked(task)).toMatchObject({ status: "completed" });
    if (isLate) await hook();
    await until(async () => !JSON.stringify(await healthOf(connection)).includes("missing"));
  });

  it("a task that was reported without a hook is corrected by the hook that comes after it, once", async () => {
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
