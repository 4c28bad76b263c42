import { runInDurableObject } from "cloudflare:test";
import { env } from "../../src/startup.ts";
import { expect, vi } from "vitest";
import { ConnectionObject } from "../../src/objects/connection/connection-object.ts";
import { connectionObject } from "../../src/objects/object-names.ts";
import { attach, type Hooked, hooked, readHooked } from "./hooked.ts";
import { stored, wake } from "./objects.ts";
import { anOutside, answering, type Outside } from "./outside.ts";
import { CALLBACK_URL, VIDEO } from "./tasks.ts";

export const JOB = "cgt-1";
const DONE = { id: JOB, status: "succeeded", content: { video_url: VIDEO } };

/** A connection to Ark that only one test uses, so that no other test changes what is known of its hooks. */
export interface OwnConnection {
  readonly name: string;
  readonly bindings: object;
}

/** Returns the bindings of a relay with one more connection. @param entry further fields of the connection. */
export function aConnection(entry: object = {}): OwnConnection {
  const name = `own-${crypto.randomUUID().slice(0, 8)}`;
  const connection = { provider: "ark", key: "test-only-ark-key", ...entry };
  return { name, bindings: { ...env, CONNECTIONS: JSON.stringify({ [name]: connection }) } };
}

/** Replaces Ark by an upstream at which every job has succeeded. */
export function aFinishedArk(): Outside {
  const outside = anOutside();
  outside.on(CALLBACK_URL, answering("thank you"));
  outside.on("https://ark.", answering(DONE));
  return outside;
}

/** Registers a task with a connection; no job is attached. */
function aTask({ name, bindings }: OwnConnection): Promise<Hooked> {
  return hooked({ provider: name, bindings });
}

/** Tells the object of a connection, task by task, whether the task's hook has come; returns the last answer. */
export function noteHooks({ name }: OwnConnection, ...come: readonly boolean[]): Promise<number> {
  return runInDurableObject(connectionObject(env, name), (instance) => {
    return come.map((hasCome) => instance.noteHook(hasCome)).at(-1) ?? NaN;
  });
}

/** Returns a function that counts the rows that the object of a connection has written since. */
export function rowsOfConnection({ name }: OwnConnection): Promise<() => number> {
  return runInDurableObject(connectionObject(env, name), (_, { storage }) => {
    const spies = [vi.spyOn(storage.kv, "put"), vi.spyOn(storage, "setAlarm")];
    return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  });
}

/** Registers a task, attaches its job and returns it with the wait before its first poll. */
export async function attached(connection: OwnConnection) {
  const task = await aTask(connection);
  expect((await attach(task, JOB)).status).toBe(200);
  return { task, waitMs: ((await stored(task.id)).alarm ?? NaN) - Date.now() };
}

/** Registers a task and lets a poll find its result when its job has this age. */
export async function lived(connection: OwnConnection, ageMs: number): Promise<Hooked> {
  const { task } = await attached(connection);
  await wake(task.id, ageMs);
  expect(await readHooked(task)).toMatchObject({ status: "completed" });
  return task;
}

/** The methods of the objects of connections, whose answers may also come late or never. */
interface Methods {
  hooklessTasks(): unknown;
  noteHook(hasCome: boolean): unknown;
  takePollSlot(taskId: string, isUrgent: boolean, perMinute: number): unknown;
}

/** Spies on a method of the objects of connections. */
export function calls<Name extends keyof Methods>(name: Name) {
  const methods: Methods = ConnectionObject.prototype;
  return vi.spyOn(methods, name);
}
