import { registerTaskRoute } from "./api/tasks/register-task.ts";
import { answerRequest } from "./app.ts";
import type { Runtime } from "./config/runtime.ts";
import { success } from "./core/result.ts";
import type { Env } from "./env.ts";
import { skipComparison } from "./objects/placed-runtime.ts";
import { bytesOf } from "./security/encoding.ts";
import { mayOperator } from "./security/roles.ts";
import { type Caller, readerOf } from "./objects/task/caller.ts";
import { ObjectPlatform } from "./objects/task/object-platform.ts";
import { attributed, type OutsideEvent } from "./objects/task/outside-event.ts";
import { type Applied, appliedOf } from "./objects/task/reply.ts";
import { WorkLoop } from "./objects/task/work-loop.ts";

const URL_OF_TASKS = "https://relay.invalid/v1/tasks";
/** A task with a receiver: without one, the default endpoint of the relay would be read from its object. */
const TASK = {
  id: "0190a3a0-7a3c-4e6b-9a51-0f2d3c4b5a69",
  model: "rehearsal",
  callback_url: "https://client.example.com/",
};

/**
 * Registers a sample task with a task object in memory, so that the engine compiles the code for registrations at the
 * start of the isolate, and not during the first request, whose CPU time the platform bills. The function calls no
 * service, and stores and logs nothing. It registers only one task: further ones would make the start longer and the
 * first request no shorter.
 * @returns false when the configuration is not valid, when no operator key may register tasks, and when the
 * registration has failed. This has no effect on later requests.
 */
export async function rehearse(env: Env): Promise<boolean> {
  const { runtime } = env.startup;
  if (!runtime.ok) return false;
  const { operatorKeys } = runtime.value.config;
  const key = operatorKeys.find(({ role }) => mayOperator(role, "operate"));
  // A refused request would be counted and measured.
  if (key === undefined) return false;
  try {
    return await register(env, runtime.value, key.secret);
  } catch {
    return false;
  }
}

/**
 * Registers the sample task once, with a task object in memory in place of a Durable Object. @returns true when the
 * event of the registration was applied.
 */
async function register(env: Env, { config, ...keys }: Runtime, key: string): Promise<boolean> {
  let isApplied = false;
  const apply = async (event: OutsideEvent, caller: Caller) => {
    const applied = await applyInMemory(event, caller, rehearsed);
    isApplied = applied.kind === "recorded";
    return applied;
  };
  const quiet = { isIndexed: false, logsDetails: false, jurisdiction: null, locationHint: null };
  const runtime = { ...keys, config: { ...config, ...quiet } };
  const rehearsed: Env = Object.create(env, {
    startup: { value: { ...env.startup, runtime: success(runtime), warnings: [] } },
    TASKS: { value: { getByName: () => ({ apply }) } },
  });
  skipComparison(rehearsed);
  // At module scope the platform makes no answer with a body: this one has none, and the route below fails when it
  // makes its own, which is its last act.
  const headers = { "X-Request-Id": "rehearsal" };
  const preflight = new Request(`${URL_OF_TASKS}/${TASK.id}`, { method: "OPTIONS", headers });
  await answerRequest(preflight, rehearsed);
  const url = new URL(URL_OF_TASKS);
  const request = requestWith(key);
  const readBody = async () => bytesOf(JSON.stringify(TASK));
  const call = { request, env: rehearsed, url, params: {}, callerWithoutKey: null, readBody };
  await registerTaskRoute.handle(call).catch(() => null);
  return isApplied;
}

/**
 * Returns a substitute for a request with an operator key. It has only that one member of a `Request` which the route
 * uses.
 */
function requestWith(key: string): Request {
  const headers = new Headers({ Authorization: `Bearer ${key}` });
  return Object.create(null, { headers: { value: headers } });
}

/** Applies an event to a task as the task's Durable Object does, but with a storage in memory (see `contextWith`). */
async function applyInMemory(event: OutsideEvent, caller: Caller, env: Env): Promise<Applied> {
  const background: Promise<unknown>[] = [];
  const ctx = contextWith((work) => void background.push(work));
  const platform = new ObjectPlatform(ctx, env, {});
  platform.prepare(env);
  const loop = new WorkLoop(platform);
  const decision = await loop.applyAndErase(attributed(event, caller));
  await Promise.all(background);
  return appliedOf(decision, readerOf(caller), loop.policy());
}

/**
 * Returns the state of a Durable Object whose storage is in memory, so that nothing remains of it after the
 * rehearsal.
 * @param waitUntil gets the work that the object does in the background.
 */
function contextWith(waitUntil: (work: Promise<unknown>) => void): DurableObjectState {
  const values = new Map<string, unknown>();
  const kv = {
    get: (key: string) => values.get(key),
    put: (key: string, value: unknown) => void values.set(key, structuredClone(value)),
  };
  const storage = { kv, setAlarm: () => Promise.resolve() };
  return Object.create(null, {
    id: { value: { name: TASK.id } },
    storage: { value: storage },
    waitUntil: { value: waitUntil },
    getWebSockets: { value: () => [] },
  });
}
