import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { callWith, refusal } from "../worker/client.ts";
import { useClock } from "../worker/clock.ts";
import { ask } from "../worker/mcp/messages.ts";
import { restart, untilIdle } from "../worker/objects.ts";
import { anOutside, answering } from "../worker/outside.ts";
import { CALLBACK_URL } from "../worker/tasks.ts";
import { callLater, makeCall, readCalled } from "./called.ts";
import { pathOfLink } from "./copied.ts";
import { bytesIn } from "./linked.ts";

useClock();

const AFTER_MS = 20_000;
const CALL = { connection: "sandbox", path: "/images/generations" } as const;
const MODEL = "sandbox/image";
const OFFERS = JSON.stringify([
  { ...CALL, models: [MODEL], tool: "picture", body: { type: "object" } },
]);
const WITH = { ...env, SANDBOX: "true", OFFERS };
const PNG_START = [0x89, 0x50, 0x4e, 0x47];
const Started = z.looseObject({ taskId: z.string() });

/** Lets the time of the sandbox pass at once. @returns a function that tells how many of its answers were awaited. */
function withoutWaiting(): () => number {
  const wait = globalThis.setTimeout;
  const spy = vi
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((run, ms, ...values) => wait(run, ms === AFTER_MS ? 0 : ms, ...values));
  return () => spy.mock.calls.filter(([, ms]) => ms === AFTER_MS).length;
}

it("the sandbox answers a call for a picture after 20 s in base64; with Prefer: respond-async the callback then has the link of the picture", async () => {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  const awaited = withoutWaiting();
  const id = crypto.randomUUID();
  const headers = { "Relay-Task-Id": id };
  const body = { model: MODEL, prompt: "a fox" };
  const response = await callLater({ ...CALL, body, headers, bindings: WITH });
  expect([response.status, awaited()]).toEqual([202, 0]);
  await makeCall(id, WITH);
  await untilIdle(id);
  expect(awaited()).toBe(1);
  const [callback] = outside.sentTo(CALLBACK_URL);
  const { output } = await readCalled(id, WITH);
  expect(JSON.parse(callback?.body ?? "null")).toMatchObject({ status: "completed", output });
  const [link = "", ...others] = output?.urls ?? [];
  expect(others).toEqual([]);
  const picture = await callWith(WITH, pathOfLink(link), { key: null });
  expect(picture.headers.get("Content-Type")).toBe("image/png");
  expect([...(await bytesIn(picture)).subarray(0, PNG_START.length)]).toEqual(PNG_START);
});

it.each([
  ["with a bucket does not wait for the answer", WITH, "queued"],
  ["without a bucket waits for the answer", { ...WITH, OUTPUTS: undefined }, "accepted"],
])("the tool of an offer at a path whose answer is the result %s", async (_, bindings, state) => {
  const awaited = withoutWaiting();
  const params = { name: "picture", arguments: {} };
  const { taskId } = Started.parse((await ask("tools/call", params, { bindings })).result);
  expect(await readCalled(taskId, bindings)).toMatchObject({ submission: { state } });
  expect(awaited()).toBe(state === "accepted" ? 1 : 0);
});

it("without a bucket, a call of the sandbox for a picture with Prefer: respond-async is refused, and the refusal names the page that says how to set a bucket up", async () => {
  const id = crypto.randomUUID();
  const bindings = { ...WITH, OUTPUTS: undefined };
  await restart(id, bindings);
  const body = { model: MODEL, prompt: "a fox" };
  const response = await callLater({ ...CALL, body, bindings, headers: { "Relay-Task-Id": id } });
  expect(await response.clone().text()).toContain("docs/outputs.md");
  expect(await refusal(response)).toEqual({ status: 503, code: "not_configured" });
});
