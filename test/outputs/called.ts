import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import * as z from "zod";
import { callWith, type Message } from "../worker/client.ts";
import { until } from "../worker/clock.ts";
import { restart, stored, untilIdle } from "../worker/objects.ts";
import { anOutside, answering, type Outside, type Sent, type Site } from "../worker/outside.ts";
import { started } from "../worker/started.ts";
import { CALLBACK_URL } from "../worker/tasks.ts";
import { received } from "./copied.ts";

export const GATEWAY = "https://gateway.example.org";
export const GATEWAY_KEY = "test-only-newapi-key";
/** Bindings of a relay that keeps outputs, with a gateway. */
export const CALLING = { ...env, NEWAPI_API_KEY: GATEWAY_KEY, NEWAPI_BASE_URL: GATEWAY };

export interface LaterCall extends Message {
  /** Connection of the call; that of the gateway by default. */
  readonly connection?: string;
  /** Path of the call below the base URL of the connection. */
  readonly path?: string;
  readonly bindings?: object;
}

/** Submits a call without waiting for the answer, with a new task id unless the headers name one. */
export async function callLater(call: LaterCall = {}) {
  const { connection = "newapi", path = "/v1/videos", bindings = CALLING, ...message } = call;
  const id = new Headers(message.headers).get("Relay-Task-Id") ?? crypto.randomUUID();
  const headers = {
    Prefer: "respond-async",
    "Content-Type": "application/json",
    "Relay-Callback-Url": CALLBACK_URL,
    ...(message.headers?.["Idempotency-Key"] === undefined && { "Relay-Task-Id": id }),
    ...message.headers,
  };
  await restart(id, bindings);
  const body = { model: "sora-2", prompt: "a fox" };
  return callWith(bindings, `/v1/submit/${connection}${path}`, { body, ...message, headers });
}

const Record = z.looseObject({ submission: z.looseObject({ id: z.string() }) });

/** Returns the object that makes the call of a task. */
export async function callObjectOf(taskId: string) {
  const { submission } = Record.parse((await stored(taskId)).record);
  return env.CALLS.getByName(submission.id);
}

const Waiting = z.looseObject({ ask: z.object({ retryAt: z.number() }) });

/** Waits until the Worker has begun the call of a task. */
async function untilBegun(taskId: string): Promise<void> {
  const object = await callObjectOf(taskId);
  await until(async () => {
    const state = await runInDurableObject(object, (_, { storage }) => storage.kv.get("call"));
    const waiting = Waiting.safeParse(state);
    return !waiting.success || waiting.data.ask.retryAt <= Date.now();
  });
}

/** Runs the alarm of the object that makes the call of a task, with these bindings. Returns whether one was set. */
export async function makeCall(taskId: string, bindings: object = CALLING): Promise<boolean> {
  await untilBegun(taskId);
  const object = await callObjectOf(taskId);
  const value = await started(bindings);
  await runInDurableObject(object, (instance) => {
    Object.defineProperty(instance, "env", { value });
  });
  return runDurableObjectAlarm(object);
}

/** Returns the time of the alarm of the object that makes the call of a task; null when none is set. */
export async function alarmOfCall(taskId: string): Promise<number | null> {
  const object = await callObjectOf(taskId);
  return runInDurableObject(object, (_, { storage }) => storage.getAlarm());
}

/** Returns the keys that the object of a task's call stores. */
export async function keysOfCall(taskId: string): Promise<readonly string[]> {
  const object = await callObjectOf(taskId);
  return runInDurableObject(object, (_, { storage }) =>
    Array.from(storage.kv.list(), ([key]) => key),
  );
}

/** Replaces the network by a gateway that answers so, and a receiver that takes every callback. */
export function aGateway(site: Site): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on(GATEWAY, received(site));
  return outside;
}

/** Returns the only request that the gateway got. */
export function sentOnce(outside: Outside): Sent {
  const [sent, ...others] = outside.sentTo(GATEWAY);
  if (sent === undefined || others.length > 0) throw new Error(`${others.length + 1} calls`);
  return sent;
}

/** Submits a call, lets it be made, and waits for the end of its task. Returns the id of the task. */
export async function made(call: LaterCall = {}): Promise<string> {
  const id = crypto.randomUUID();
  const headers = { "Relay-Task-Id": id, ...call.headers };
  const response = await callLater({ ...call, headers });
  if (response.status !== 202) throw new Error(await response.text());
  await makeCall(id, call.bindings);
  await untilIdle(id);
  return id;
}

const Called = z.looseObject({
  status: z.string(),
  submission: z.looseObject({ state: z.string() }),
  output: z.looseObject({ urls: z.array(z.string()) }).optional(),
  error: z.looseObject({ code: z.string() }).optional(),
});

/** Reads the task of a call as the operator. */
export async function readCalled(id: string, bindings: object = CALLING) {
  return Called.parse(await (await callWith(bindings, `/v1/tasks/${id}`)).json());
}

/** Returns a form, and the headers of a request with it. */
export async function formOf(fields: Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, new File([value], `${name}.png`, { type: "image/png" }));
  }
  const response = new Response(form);
  const type = response.headers.get("Content-Type") ?? "";
  const body = new Uint8Array(await response.arrayBuffer());
  return { body, headers: { "Content-Type": type } };
}
