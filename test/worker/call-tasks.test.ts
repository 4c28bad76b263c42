import { expect, it } from "vitest";
import { Problem } from "../../src/api/http/problem.ts";
import { callTasks } from "../../src/objects/task/call-tasks.ts";

const TASKS = Array.from({ length: 120 }, (_, number) => ({ id: `task-${number}` }));

it("a request about many tasks calls the Durable Object of each task, at most 50 at the same time", async () => {
  const called: (typeof TASKS)[number][] = [];
  let open = 0;
  let mostOpen = 0;
  const outcomes = await callTasks(TASKS, async (task) => {
    called.push(task);
    mostOpen = Math.max(mostOpen, ++open);
    // Waits a turn, after which every call that may be open has begun.
    await scheduler.wait(0);
    open--;
    return task;
  });
  expect(outcomes).toEqual(TASKS);
  expect(called).toEqual(TASKS);
  expect(mostOpen).toBe(50);
});

it("a request about many tasks goes on when one task throws an unexpected error, and fails as a whole when a task answers with a problem such as 503", async () => {
  const outcomes = await callTasks(TASKS, async ({ id }) => {
    if (id === "task-7") throw new Error("unreadable");
    return "done";
  });
  expect(TASKS.filter((_, place) => outcomes[place] === "failed")).toEqual([{ id: "task-7" }]);

  const problem = new Problem("unavailable", { detail: "gone" });
  const calls = callTasks(
    TASKS,
    () => Promise.reject(problem),
    (error) => error === problem,
  );
  await expect(calls).rejects.toBe(problem);
});
