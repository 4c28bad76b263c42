import { describe, expect, it } from "vitest";
import { kling } from "../../src/providers/kling.ts";
import { minimax } from "../../src/providers/minimax.ts";
import { runway } from "../../src/providers/runway.ts";

describe("Kling", () => {
  const hook = {
    path: "/hooks/kling/x/y",
    query: "",
    headers: new Headers(),
    body: new Uint8Array(),
  };
  const ours = "0f8fad5b-d9cb-469f-a165-70867728950e";

  it.each([
    ["classic", { task_id: "1", task_status: "submitted", task_info: { external_task_id: ours } }],
    ["2026", { id: "1", status: "submitted", external_id: ours }],
  ])("gives our task id back in a hook of its %s API", (_, body) => {
    expect(kling.hooks?.read(body, hook)?.taskId).toBe(ours);
  });

  it("is asked after a classic job below the path it was submitted to", () => {
    const job = { id: "a/b", endpoint: "videos/image2video?x" };
    expect(kling.polls.path(job)).toBe("/v1/videos/image2video%3Fx/a%2Fb");
  });
});

describe("MiniMax", () => {
  it("survives a file id that cannot be encoded", () => {
    const body = { status: "Success", file_id: "\ud800" };
    const reading = minimax.polls.read({ status: 200, body }, { id: "1", endpoint: null });
    expect(reading).toMatchObject({ path: "/v1/files/retrieve?file_id=%EF%BF%BD" });
  });
});

describe("Runway", () => {
  it("is told the version of its API", async () => {
    expect(await runway.polls.headers("key-0001", 0)).toEqual({
      Authorization: "Bearer key-0001",
      "X-Runway-Version": "2024-11-06",
    });
  });

  it("is asked after a task every 5 seconds at most, and sends no hooks", () => {
    expect(runway.polls.gapMs).toBe(5000);
    expect(runway.hooks).toBeNull();
  });
});
