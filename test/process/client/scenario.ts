import {
  RelayProblem,
  type Send,
  type Task,
  TaskRelay,
  VerificationError,
  verify,
} from "task-relay-client";
import { webhooksFor } from "task-relay-client/ai-sdk";
import { fetchFor } from "task-relay-client/sdk-fetch";

export interface ScenarioInput {
  readonly url: string;
  readonly key: string;
  readonly callbackUrl: string;
  /** A callback that the relay has just sent. */
  readonly received: { readonly headers: Record<string, string>; readonly body: string };
  /** The secret and the public key for which the callback was signed. */
  readonly keys: readonly string[];
}

const RELAY_MS = 30_000;

/**
 * Uses every part of the client that depends on the runtime, and returns the results.
 * @param fetch calls the relay over a service binding, without a key.
 */
export async function drive(
  { url, key, callbackUrl, received, keys }: ScenarioInput,
  fetch: Send | null = null,
) {
  const relay = new TaskRelay(fetch === null ? { url, key } : { url: "https://relay", fetch });
  const { id } = await relay.register({ model: "m", callback_url: callbackUrl });
  const states: string[] = [];
  const { promise: firstChange, resolve: onFirstChange } = Promise.withResolvers<void>();
  const waiting = relay.waitFor(id, {
    timeoutMs: RELAY_MS,
    onChange: ({ status }) => {
      states.push(status);
      onFirstChange();
    },
  });
  // The state "pending" is seen only if the task has not ended before it is read for the first time.
  await Promise.race([firstChange, waiting]);
  const output = { urls: ["https://cdn.example.com/a.mp4"] };
  const reported = await relay.report({ id, status: "completed", output });
  const ended = await waiting;
  const verified = await Promise.all(
    keys.map(async (each) => (await verify(requestOf(received), each)).task.status),
  );
  const changed = { ...received, body: `${received.body} ` };
  const forged = await verify(requestOf(changed), keys).catch(failureOf);
  const cutHeaders = { ...received.headers, "webhook-signature": "v1a,AAAA" };
  const cut = await verify(requestOf({ ...received, headers: cutHeaders }), keys).catch(failureOf);
  await delivered(relay, id);
  const redelivered = await relay.redeliver(id, { attempts: 1 });
  const body = JSON.stringify({ model: "sandbox/ok" });
  const submitted = await relay.submit("sandbox", "jobs", { body });
  const sdkFetch = fetchFor(relay, "sandbox", { baseUrl: "https://sandbox.example.com" });
  const sdkAnswer = await sdkFetch("https://sandbox.example.com/jobs", { method: "POST", body });
  const canceled = await relay.register({ model: "m" });
  await relay.cancel(canceled.id);
  const generated = await receivedByAiSdk(relay, output);
  return {
    states,
    reported: reported.status,
    ended: ended.status === "completed" ? ended.output.urls : ended.error,
    verified,
    forged,
    cut,
    submitted: [submitted.response.status, await submitted.response.text()],
    submittedTask: (await relay.read(submitted.taskId)).model,
    submittedBySdk: [sdkAnswer.status, await sdkAnswer.text()],
    generated,
    redelivered: redelivered.callback?.status,
    erased: [await relay.erase(canceled.id), await relay.erase(canceled.id)],
    listed: await listed(relay, id),
    unknown: await relay.read(crypto.randomUUID()).catch(failureOf),
    timedOut: await relay
      .register({ model: "m" })
      .then((open) => relay.waitFor(open.id, { timeoutMs: 100 }))
      .catch((error: Error) => error.name),
  };
}

/** Makes a webhook as the AI SDK does, and returns the links that it receives when the task is reported as completed. */
async function receivedByAiSdk(relay: TaskRelay, output: { readonly urls: string[] }) {
  const { promise: registered, resolve: onTask } = Promise.withResolvers<Task>();
  const { webhook } = webhooksFor(relay, "fal");
  const { url, received } = await webhook({ model: "m" }, { timeoutMs: RELAY_MS, onTask })();
  const { id } = await registered;
  await relay.report({ id, status: "completed", output });
  const { body } = await received;
  return [new URL(url).pathname.startsWith(`/hooks/fal/${id}/`), body.output.urls];
}

function requestOf({ headers, body }: ScenarioInput["received"]): Request {
  return new Request("https://client.example.com/hook", { method: "POST", headers, body });
}

function failureOf(error: unknown): string | null {
  if (error instanceof VerificationError) return error.failure;
  if (error instanceof RelayProblem) return error.code;
  throw error;
}

/** Waits until the list of tasks has a task. */
async function listed(relay: TaskRelay, id: string): Promise<true> {
  for (let reads = 0; reads < 300; reads++) {
    for await (const task of relay.list()) if (task.id === id) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not listed: ${id}`);
}

async function delivered(relay: TaskRelay, id: string): Promise<Task> {
  for (let reads = 0; ; reads++) {
    const task = await relay.read(id);
    if (task.callback?.status === "delivered") return task;
    if (reads === 300) throw new Error(`not delivered: ${JSON.stringify(task.callback)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
