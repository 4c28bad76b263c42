import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { ConnectionObject } from "../../src/objects/connection/connection-object.ts";
import { connectionObject } from "../../src/objects/object-names.ts";
import type { JobReport } from "../../src/core/events/job-report.ts";
import { attach, type Hooked, hooked, readHooked } from "./hooked.ts";
import { stored, wake } from "./objects.ts";
import { anOutside, answering, type Outside } from "./outside.ts";
import { CALLBACK_URL, VIDEO } from "./tasks.ts";

export const JOB = "cgt-1";
const DONE = { id: JOB, status: "succeeded", content: { video_url: VIDEO } };

/** A connection to Ark that only one test uses, so that other tests do not learn durations from its jobs. */
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
export function aTask({ name, bindings }: OwnConnection, model = "m"): Promise<Hooked> {
  return hooked({ provider: name, bindings, fields: { model } });
}

/** Passes reports to the object of a connection directly, which takes less time than as many requests. */
export function reportTo(
  { name }: OwnConnection,
  reports: readonly Omit<JobReport, "connection">[],
): Promise<void> {
  return runInDurableObject(connectionObject(env, name), (instance) => {
    for (const report of reports) instance.noteJob({ connection: name, ...report });
  });
}

/** Builds the report of a job of the model `m` that took this long. */
export function aReport(ms: number, kind = "m", hasHook: boolean | null = null) {
  return { end: { kind, range: { minMs: ms, maxMs: ms } }, hasHook };
}

/** Counts the rows that the object of a connection writes from now on. */
export function rowsOfConnection({ name }: OwnConnection): Promise<() => number> {
  return runInDurableObject(connectionObject(env, name), (_, { storage }) => {
    const spies = [vi.spyOn(storage.kv, "put"), vi.spyOn(storage, "setAlarm")];
    return () => spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0);
  });
}

/** Returns the size of all that the object of a connection stores, in bytes of JSON, and its kinds. */
export function bookOf({ name }: OwnConnection) {
  return runInDurableObject(connectionObject(env, name), (_, { storage }) => {
    const book = storage.kv.get<{ readonly kinds: readonly unknown[] }>("durations");
    const bytes = new TextEncoder().encode(JSON.stringify([...storage.kv.list()])).length;
    return { kinds: book?.kinds.length ?? 0, bytes };
  });
}

/** Registers a task, attaches its job and returns it with the wait before its first poll. */
export async function attached(connection: OwnConnection, model = "m") {
  const task = await aTask(connection, model);
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

/** Spies on a method of the objects of connections. */
export function calls(method: "knownKind" | "noteJob" | "takePollSlot") {
  return vi.spyOn(ConnectionObject.prototype, method);
}
