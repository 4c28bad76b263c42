import { request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { withDeadline } from "../../../src/lib/timeout.ts";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import {
  ARK_MODEL,
  ARK_TASKS,
  type Conduct,
  FakeArk,
  outputOf,
  PROMPT_CONDUCT,
} from "./fake-ark.ts";

const SECOND_MS = 1_000;
const HANG_UP_AFTER_MS = SECOND_MS;
/** Time in milliseconds within which the relay learns of the job and its end, once the upstream has answered. */
const FOUND_WITHIN_MS = 90_000;

const Ended = z.object({
  status: z.literal("completed"),
  output: z.object({ urls: z.array(z.string()) }),
  submission: z.object({ state: z.string(), answered_at: z.int().optional() }),
});

/** Ark, a receiver, and a relay that waits `timeoutS` seconds for the answer to a submission. */
async function scene(conduct: Conduct, timeoutS: number, entry = "") {
  const stack = new AsyncDisposableStack();
  const ark = stack.use(await FakeArk.start(() => conduct));
  const receiver = stack.use(await Receiver.start());
  const vars = { ...LOCAL_VARS, ...ark.vars, SUBMIT_TIMEOUT_S: String(timeoutS) };
  const relay = stack.use(await Workerd.start({ vars, entry }));
  const callbackUrl = receiver.at("/hook", { kind: "answer", status: 200 });
  const url = `${relay.url}/v1/submit/ark${ARK_TASKS}`;
  const headers = {
    Authorization: `Bearer ${OPERATOR_KEY}`,
    "Idempotency-Key": "order-1",
    "Relay-Callback-Url": callbackUrl,
  };
  const body = JSON.stringify({ model: ARK_MODEL, content: [{ type: "text", text: "a fox" }] });
  const call = { url, headers, body };
  /** Submits a job under one key, and hangs up after `ms`. */
  const submit = (ms: number) =>
    withDeadline(ms, async (signal) => {
      const response = await fetch(url, { method: "POST", headers, body, signal });
      await response.text();
      return response;
    });
  return { stack, ark, receiver, relay, call, submit };
}

/** Submits the job, and resets the connection after a while: workerd notices an end without a reset only when it answers. */
async function submitAndReset(
  { call }: Awaited<ReturnType<typeof scene>>,
  more: Readonly<Record<string, string>> = {},
) {
  const sent = request(call.url, { method: "POST", headers: { ...call.headers, ...more } });
  const isBroken = new Promise((resolve) => sent.once("error", resolve));
  sent.end(call.body);
  await sleep(HANG_UP_AFTER_MS);
  sent.socket?.resetAndDestroy();
  await isBroken;
}

/** Waits for the callback of the only task. @returns the task as its operator reads it then. */
async function endedTask({ receiver, relay }: Awaited<ReturnType<typeof scene>>) {
  const isDelivered = () => receiver.posts.some(({ answeredStatus }) => answeredStatus === 200);
  await vi.waitUntil(isDelivered, FOUND_WITHIN_MS);
  const id = receiver.posts[0]?.headers["x-task-id"];
  return Ended.parse((await relay.client.ask("GET", `/v1/tasks/${id}`)).json);
}

it.concurrent.each([
  [5, { ...PROMPT_CONDUCT, sendsHooks: false }, "which no hook names"],
  // Longer than the platform lets a Worker live whose client has hung up.
  [40, { ...PROMPT_CONDUCT, doneAfterMs: 45 * SECOND_MS }, "whose hooks would name it too"],
])(
  "when a client hangs up after 1 s and the upstream answers after %i s, the job (%s) is started once and one callback is sent",
  async (answerAfterS, conduct) => {
    const answerAfterMs = answerAfterS * SECOND_MS;
    const played = await scene({ ...conduct, answerAfterMs }, answerAfterS + 5);
    await using _ = played.stack;
    const { ark, receiver } = played;
    await submitAndReset(played);
    const { output, submission } = await endedTask(played);
    const [{ jobId } = { jobId: null }, ...others] = ark.submits;
    const by = submission.answered_at === undefined ? "a hook" : "the answer";
    console.log(`answer after ${answerAfterS} s: the job is known by ${by}`);
    expect([output.urls, submission.state]).toEqual([[outputOf(String(jobId))], "accepted"]);
    expect([others, receiver.posts.length, ark.refusedHooks]).toEqual([[], 1, []]);
  },
);

it.concurrent("when a client hangs up while its submission is being charged, the job is still started once and one callback is sent", async () => {
  const played = await scene(PROMPT_CONDUCT, 5, "slow-charge.ts");
  await using _ = played.stack;
  const { ark, receiver, relay } = played;
  await relay.client.ask("POST", "/v1/accounts", { id: "acme" });
  await relay.client.ask("POST", "/v1/accounts/acme/grants", { reference: "first", amount: 10 });
  await submitAndReset(played, { "Relay-Account": "acme", "Relay-Credits": "7" });
  expect(ark.submits).toEqual([]);
  const { output } = await endedTask(played);
  const [{ jobId } = { jobId: null }, ...others] = ark.submits;
  expect(output.urls).toEqual([outputOf(String(jobId))]);
  expect([others, receiver.posts.length]).toEqual([[], 1]);
});

it.concurrent("when the Worker is killed before the upstream answers a submission, the relay learns of the job by a hook, and a repeated submission gets 409 and sends nothing to the upstream", async () => {
  const played = await scene({ ...PROMPT_CONDUCT, answerAfterMs: 60 * SECOND_MS }, 5);
  await using _ = played.stack;
  const { ark, receiver, relay, submit } = played;
  await Promise.all([
    expect(submit(60 * SECOND_MS)).rejects.toThrow("fetch failed"),
    ark.nextSubmit().then(() => relay.kill9()),
  ]);
  await relay.restart();
  const again = await submit(10 * SECOND_MS);
  expect([again.status, again.headers.get("Retry-After")]).toEqual([409, expect.any(String)]);
  const { output, submission } = await endedTask(played);
  const [{ jobId } = { jobId: null }, ...others] = ark.submits;
  expect(output.urls).toEqual([outputOf(String(jobId))]);
  expect(submission).toEqual({ state: "accepted" });
  expect([others, receiver.posts.length]).toEqual([[], 1]);
});
