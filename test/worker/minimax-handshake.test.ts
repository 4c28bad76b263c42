import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { until, useClock } from "./clock.ts";
import { answerOf, attach, hooked, readHooked, sendHook } from "./hooked.ts";
import { expectUnchanged } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { SENDERS } from "./senders.ts";
import { CALLBACK_URL } from "./tasks.ts";

useClock();

const challenged = (challenge: unknown) => JSON.stringify({ challenge });

it.each([
  ["without any configuration", env],
  ["with a key", { ...env, MINIMAX_API_KEY: "test-only-minimax-key" }],
])("a challenge is echoed before the attachment and changes nothing, %s", async (_, bindings) => {
  const task = await hooked({ provider: "minimax", bindings });
  await expectUnchanged(task.id, async () => {
    for (const challenge of ["c", 'a "quoted" one', "x".repeat(512)]) {
      const response = await sendHook(task, challenged(challenge));
      expect(response.headers.get("Content-Type")).toBe("application/json");
      expect([response.status, await response.json()]).toEqual([200, { challenge }]);
    }
  });
});

it("a challenge of MiniMax is echoed after the attachment and after the end", async () => {
  anOutside().on(CALLBACK_URL, answering("thank you"));
  const task = await hooked({ provider: "minimax" });
  await attach(task, "115334141465231360");
  const echoed = [200, challenged("c")];
  expect(await answerOf(await sendHook(task, challenged("c")))).toEqual(echoed);
  await sendHook(task, JSON.stringify({ task_id: "115334141465231360", status: "Fail" }));
  expect(await readHooked(task)).toMatchObject({ status: "failed" });
  expect(await answerOf(await sendHook(task, challenged("c")))).toEqual(echoed);
  await until(async () => JSON.stringify(await readHooked(task)).includes("delivered_at"));
});

it.each([
  ["513 characters", "x".repeat(513)],
  ["no characters", ""],
  ["a number", 7],
  ["an object", { a: 1 }],
])("a challenge is not echoed when it is %s", async (_, challenge) => {
  const task = await hooked({ provider: "minimax" });
  expect(await answerOf(await sendHook(task, challenged(challenge)))).toEqual([200, "ok"]);
});

it.each(SENDERS.filter(({ provider }) => provider !== "minimax"))(
  "a challenge is not echoed to $provider",
  async ({ provider, sign }) => {
    anOutside().on("https://", answering({}, 500));
    const task = await hooked({ provider });
    const body = challenged("echo me");
    const text = await (await sendHook(task, body, await sign(body, task))).text();
    expect(text).not.toContain("echo me");
  },
);
