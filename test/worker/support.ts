import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, expect, vi } from "vitest";
import * as z from "zod";
import { app } from "../../src/app.ts";

export const ORIGIN = "https://relay.example.com";
export const OPERATOR_KEY = "test-only-operator-key";
export const CALLBACK_URL = "https://client.example.net/callbacks";
export const VIDEO = "https://cdn.example.net/video.mp4";

/** So far ahead that no alarm fires by the wall clock during a test; deliberately not a whole second. */
export const START = Date.UTC(2050, 0, 1, 12) + 250;
export const START_S = Math.floor(START / 1000);
export const DAY_MS = 86_400_000;

/** Installs a clock for the test and the objects that stands still until the test calls `pass`. */
export function useClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: START });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

/** Moves the clock forward; alarms that fall due do not run by themselves. */
export function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

interface Message {
  readonly method?: string;
  /** Sent as it is when it is text, bytes or a stream, otherwise as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Bearer key: the operator's by default; null sends none. */
  readonly key?: string | null;
}

export function aRequest(path: string, message: Message = {}): Request {
  const { body, key = OPERATOR_KEY } = message;
  const headers = new Headers(message.headers);
  if (key !== null) headers.set("Authorization", `Bearer ${key}`);
  const method = message.method ?? (body === undefined ? "GET" : "POST");
  return new Request(new URL(path, ORIGIN), { method, headers, body: payload(body) });
}

function payload(body: unknown): BodyInit | null {
  if (body === undefined) return null;
  if (typeof body === "string" || body instanceof ReadableStream || body instanceof Uint8Array) {
    return body;
  }
  return JSON.stringify(body);
}

/** Sends a request to the Worker's `fetch` handler. */
export async function call(path: string, message: Message = {}): Promise<Response> {
  return exports.default.fetch(aRequest(path, message));
}

/** Sends a request to a relay that is configured with these bindings. */
export async function callWith(bindings: object, path: string, message: Message = {}) {
  return app.fetch(aRequest(path, message), bindings);
}

export function post(path: string, body: unknown, message: Message = {}): Promise<Response> {
  return call(path, { ...message, body });
}

/** Registers a task with a callback URL, and returns its id. */
export async function register(fields: object = {}): Promise<string> {
  const id = crypto.randomUUID();
  const body = { id, model: "seedance", callback_url: CALLBACK_URL, ...fields };
  const response = await post("/v1/tasks", body);
  if (response.status !== 201) throw new Error(await response.text());
  return id;
}

export function aCompletion(id: string, fields: object = {}) {
  return { id, status: "completed", output: { urls: [VIDEO] }, ...fields };
}

export function aFailure(id: string, fields: object = {}) {
  return { id, status: "failed", error: { code: "moderation", message: "Refused." }, ...fields };
}

export function report(event: object): Promise<Response> {
  return post("/v1/events", event);
}

/** Reports a terminal event and waits until the first attempt of the callback is over. */
export async function finish(event: { readonly id: string }): Promise<void> {
  const response = await report(event);
  if (response.status !== 202) throw new Error(await response.text());
  await atRest(event.id);
}

/** Registers a task and completes it; returns its id when the first attempt is over. */
export async function completed(fields: object = {}): Promise<string> {
  const id = await register(fields);
  await finish(aCompletion(id));
  return id;
}

export function cancel(id: string): Promise<Response> {
  return post(`/v1/tasks/${id}/cancel`, "");
}

export function redeliver(id: string, body: unknown = "", message: Message = {}) {
  return post(`/v1/tasks/${id}/redeliver`, body, message);
}

export function erase(id: string): Promise<Response> {
  return call(`/v1/tasks/${id}`, { method: "DELETE" });
}

/** Moves the clock forward and runs the alarm of a task; returns whether one was set. */
export function wake(id: string, afterMs = 0): Promise<boolean> {
  pass(afterMs);
  return runDurableObjectAlarm(stubOf(id));
}

export const Task = z.looseObject({ id: z.string(), status: z.string(), model: z.string() });
export const ProblemBody = z.looseObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
});

export async function taskOf(response: Response): Promise<z.output<typeof Task>> {
  return Task.parse(await response.json());
}

export async function read(id: string): Promise<z.output<typeof Task>> {
  return taskOf(await call(`/v1/tasks/${id}`));
}

export const UNAUTHENTICATED = { status: 401, code: "unauthenticated" };
export const UNKNOWN_TASK = { status: 404, code: "unknown_task" };

/** What `refusal` returns for a request with faults at these paths. */
export function invalid(...paths: readonly string[]) {
  return { status: 400, code: "invalid_request", paths };
}

/** Reduces a problem to its status, its code and the paths of its issues. */
export async function refusal(response: Response) {
  const Refusal = ProblemBody.extend({ issues: z.array(z.object({ path: z.string() })).nullish() });
  const { status, code, issues } = Refusal.parse(await response.json());
  if (response.status !== status)
    throw new Error(`body says ${status}, response ${response.status}`);
  return { status, code, ...(issues && { paths: issues.map(({ path }) => path) }) };
}

export function stubOf(id: string) {
  return env.TASKS.getByName(id.toLowerCase());
}

export interface Stored {
  readonly record: unknown;
  readonly keys: readonly string[];
  readonly alarm: number | null;
}

/** Returns all that the object of a task keeps in storage. */
export function stored(id: string): Promise<Stored> {
  return runInDurableObject(stubOf(id), async (_, { storage }) => ({
    record: structuredClone(storage.kv.get("task")),
    keys: Array.from(storage.kv.list(), ([key]) => key),
    alarm: await storage.getAlarm(),
  }));
}

export const NOTHING: Stored = { record: undefined, keys: [], alarm: null };

/** Runs `act` and expects the stored state of the task to be what it was before. */
export async function expectUnchanged(id: string, act: () => Promise<unknown>): Promise<void> {
  const before = await stored(id);
  await act();
  expect(await stored(id)).toEqual(before);
}

const Record = z.object({
  callback: z.object({ state: z.looseObject({ kind: z.string() }) }).nullish(),
});

/** Waits in real time until no attempt is in flight and the work loop has set its alarm. */
export async function atRest(id: string): Promise<void> {
  await until(async () => {
    const { record } = await stored(id);
    return Record.safeParse(record ?? {}).data?.callback?.state.kind !== "in_flight";
  });
  // The loop sets its alarm in the turn after the last commit.
  await realMs(1);
}

/** Waits in real time until the condition holds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 10_000; tries++) {
    if (await condition()) return;
    await realMs(2);
  }
  throw new Error(`timed out waiting for: ${condition.toString()}`);
}

export function realMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
