import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it, vi } from "vitest";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { Receiver } from "../harness/receiver.ts";
import { startRelay } from "../harness/relay.ts";
import { FakeArk, outputOf, PROMPT_CONDUCT } from "./fake-ark.ts";

const run = promisify(execFile);

/** The call of Ark's documentation, with the relay in place of Ark's base URL and key. */
const CALL = `
curl -sS $relay/v1/submit/ark/contents/generations/tasks -H "Authorization: Bearer $RELAY_KEY" \\
  -H "Relay-Callback-Url: $callback_url" -H "Idempotency-Key: order-4711" \\
  -d '{"model": "doubao-seedance-2-0-260128", "content": [{"type": "text", "text": "a fox"}]}'`;

it("one call of curl starts one job at Ark, gets Ark's own response, and leads to one callback that the package standardwebhooks verifies", async () => {
  await using ark = await FakeArk.start(() => PROMPT_CONDUCT);
  await using receiver = await Receiver.start();
  await using relay = await startRelay({ vars: { ...LOCAL_VARS, ...ark.vars } });
  const callbackUrl = receiver.at("/hook", { kind: "answer", status: 200 });
  const env = { ...process.env, relay: relay.url, RELAY_KEY: OPERATOR_KEY };
  const { stdout } = await run("bash", ["-c", CALL], {
    env: { ...env, callback_url: callbackUrl },
  });

  const [submit] = ark.submits;
  expect([JSON.parse(stdout), submit?.prompt]).toEqual([{ id: submit?.jobId }, "a fox"]);

  await vi.waitUntil(() => receiver.posts.some(({ closedAt }) => closedAt !== null), 30_000);
  const [callback, ...others] = receiver.posts;
  if (callback === undefined) throw new Error("there is no callback");
  const verify = await relay.client.verifier();
  expect(verify(callback)).toMatchObject({
    status: "completed",
    model: "doubao-seedance-2-0-260128",
    output: { urls: [outputOf(String(submit?.jobId))], metadata: { duration: 5 } },
  });
  expect([others, ark.submits.length, ark.refusedHooks]).toEqual([[], 1, []]);
});
