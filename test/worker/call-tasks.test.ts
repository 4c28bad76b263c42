import { expect, it } from "vitest";
import { Problem } from "../../src/api/http/problem.ts";
import { callTasks } from "../../src/api/search/call-tasks.ts";

const IDS = Array.from({ length: 120 }, (_, number) => `task-${number}`);

it("a request about many tasks calls the Durable Object of each task, at most 50 at the same time", async () => {
  const called: string[] = [];
  let open = 0;
  let mostOpen = 0;
  const outcomes = await callTasks(IDS, async (id) => {
    called.push(id);
    mostOpen = Math.max(mostOpen, ++open);
    // Waits a turn, after which every call that may be open has begun.
    await scheduler.wait(0);
    open--;
    return id;
  });
  expect(outcomes).toEqual(IDS);
  expect(called).toEqual(IDS);
  expect(mostOpen).toBe(50);
});

it("a request about many tasks goes on when one task throws an unexpected error, and fails as a whole when a task answers with a problem such as 503", async () => {
  const outcomes = await callTasks(IDS, async (id) => {
    if (id === "task-7") throw new Error("unreadable");
    return "done";
  });
  expect(IDS.filter((_, place) => outcomes[place] === "failed")).toEqual(["task-7"]);

  const problem = new Problem("unavailable", { detail: "gone" });
  await expect(callTasks(IDS, () => Promise.reject(problem))).rejects.toBe(problem);
});
