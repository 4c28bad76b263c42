import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { answerOf, attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { anOutside, answering } from "./outside.ts";
import { SENDERS } from "./senders.ts";
import { refusal } from "./client.ts";
import { until, useClock } from "./clock.ts";
import { stored } from "./objects.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const challenged = (challenge: unknown) => JSON.stringify({ challenge });

describe("the handshake of MiniMax", () => {
  it.each([
    ["before the attachment, with nothing configured", env],
    ["with a key", { ...env, MINIMAX_API_KEY: "test-only-minimax-key" }],
  ])("is answered with the challenge, and changes nothing: %s", async (_, bindings) => {
    const task = await hooked({ provider: "minimax", bindings });
    const before = await stored(task.id);
    for (const challenge of ["c", 'a "quoted" one', "x".repeat(512)]) {
      const response = await sendHook(task, challenged(challenge));
      expect(response.headers.get("Content-Type")).toBe("application/json");
      expect([response.status, await response.json()]).toEqual([200, { challenge }]);
    }
    expect(await stored(task.id)).toEqual(before);
  });

  it("is answered after the attachment and after the end too", async () => {
    anOutside().on(CALLBACK_URL, answering("thank you"));
    const task = await hooked({ provider: "minimax" });
    await attach(task, "115334141465231360");
    expect(await answerOf(await sendHook(task, challenged("c")))).toEqual([200, challenged("c")]);
    await sendHook(task, JSON.stringify({ task_id: "115334141465231360", status: "Fail" }));
    expect(await readHooked(task)).toMatchObject({ status: "failed" });
    expect(await answerOf(await sendHook(task, challenged("c")))).toEqual([200, challenged("c")]);
    await until(async () => JSON.stringify(await readHooked(task)).includes("delivered_at"));
  });

  it.each([
    ["one of 513 characters", "x".repeat(513)],
    ["an empty one", ""],
    ["a number", 7],
    ["an object", { a: 1 }],
  ])("does not echo %s", async (_, challenge) => {
    const task = await hooked({ provider: "minimax" });
    expect(await answerOf(await sendHook(task, challenged(challenge)))).toEqual([200, "ok"]);
  });

  it("is answered only under a right token", async () => {
    const task = await hooked({ provider: "minimax" });
    const other = await hooked({ provider: "minimax" });
    const token = other.hookUrl.split("/").at(-1) ?? "";
    const hookUrl = task.hookUrl.replace(/[^/]+$/, token);
    const response = await sendHook({ ...task, hookUrl }, challenged("echo me"));
    expect(await refusal(response)).toEqual({ status: 404, code: "unknown_task" });
  });

  it.each(SENDERS.filter(({ provider }) => provider !== "minimax"))(
    "is MiniMax's alone: $provider",
    async ({ provider, sign }) => {
      const outside = anOutside();
      outside.on("https://", answering({}, 500));
      const task = await hooked({ provider });
      const body = challenged("echo me");
      const text = await (await sendHook(task, body, await sign(body, task))).text();
      expect(text).not.toContain("echo me");
    },
  );
});
