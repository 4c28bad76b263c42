import { beforeEach, describe, expect, it, vi } from "vitest";
import { aReceiver, status } from "../worker/receiver.ts";
import { post } from "../worker/client.ts";
import { pass, START, useClock } from "../worker/clock.ts";
import { stored, untilIdle } from "../worker/objects.ts";
import { aCompletion, completed, register } from "../worker/tasks.ts";
import { DAY, indexed, isPublished, rowsOfTask, useEmptyIndex, wake } from "./support.ts";

useClock();
useEmptyIndex();

describe("the publications of a task", () => {
  const published: unknown[] = [];
  beforeEach(() => {
    published.length = 0;
    vi.spyOn(console, "log").mockImplementation((line: string) => {
      if (line.includes("index.publish")) published.push(line);
    });
  });

  it("are one when it is over within half a minute", async () => {
    aReceiver();
    const id = await register();
    pass(10_000);
    await post("/v1/events", { id, status: "processing" });
    pass(15_000);
    await post("/v1/events", aCompletion(id));
    await untilIdle(id);
    await indexed(id);
    expect(published).toHaveLength(1);
  });

  it("are two when it takes longer, one of them while it is open", async () => {
    aReceiver();
    const id = await register();
    expect(await wake(id)).toBe(START + 30_000);
    expect(await rowsOfTask(id)).toMatchObject([{ status: "pending" }]);
    pass(30_000);
    await post("/v1/events", aCompletion(id));
    await untilIdle(id);
    await indexed(id);
    expect(await isPublished(id)).toBe(true);
    expect(published).toHaveLength(2);
  });

  it("follow a change of an open task within 45 seconds, by the alarm alone", async () => {
    const id = await register();
    await wake(id);
    pass(60_000);
    await post("/v1/events", { id, status: "processing" });
    const changedAt = Date.now();
    expect(await wake(id)).toBeLessThanOrEqual(changedAt + 45_000);
    expect(await rowsOfTask(id)).toMatchObject([{ status: "processing" }]);
    expect((await stored(id)).alarm).toBe(START + 3 * DAY);
  });

  it("of one that waits for its next attempt comes after 5 seconds, and not just before it", async () => {
    aReceiver(status(500), status(200));
    const id = await completed();
    const at = await wake(id);
    expect(at - START).toBeGreaterThanOrEqual(5_000);
    expect(at - START).toBeLessThan(5_010);
    expect(await rowsOfTask(id)).toMatchObject([{ callback: "sending" }]);
    expect(await wake(id)).toBe(START + 180_000);
    await indexed(id);
    expect(published).toHaveLength(2);
  });
});
