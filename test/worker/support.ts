import { runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, vi } from "vitest";
import * as z from "zod";

export const ORIGIN = "https://relay.example.com";
export const OPERATOR_KEY = "test-only-operator-key";
export const CALLBACK_URL = "https://client.example.net/callbacks";
export const VIDEO = "https://cdn.example.net/video.mp4";

/** Far enough ahead that no alarm of a test fires by the wall clock; not a whole second. */
export const START = Date.UTC(2050, 0, 1, 12) + 250;
export const START_S = Math.floor(START / 1000);

/** A clock that only the test moves, shared by the test and the objects. */
export function useClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: START });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

export function pass(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

interface Message {
  readonly method?: string;
  /** Text and streams go out as they are, everything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Operator key; null: without any. */
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

/** Through the public door. */
export async function call(path: string, message: Message = {}): Promise<Response> {
  return exports.default.fetch(aRequest(path, message));
}

export function post(path: string, body: unknown, message: Message = {}): Promise<Response> {
  return call(path, { ...message, body });
}

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

/** A registered task that has completed and whose first attempt is over. */
export async function completed(fields: object = {}): Promise<string> {
  const id = await register(fields);
  const response = await post("/v1/events", aCompletion(id));
  if (response.status !== 202) throw new Error(await response.text());
  await atRest(id);
  return id;
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

/** Status, code and the paths of the issues. */
export async function refusal(response: Response) {
  const Refusal = ProblemBody.extend({ issues: z.array(z.object({ path: z.string() })).nullish() });
  const { status, code, issues } = Refusal.parse(await response.json());
  if (response.status !== status) throw new Error("the body tells another status");
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

/** What the object of a task keeps. */
export function stored(id: string): Promise<Stored> {
  return runInDurableObject(stubOf(id), async (_, { storage }) => ({
    record: structuredClone(storage.kv.get("task")),
    keys: Array.from(storage.kv.list(), ([key]) => key),
    alarm: await storage.getAlarm(),
  }));
}

export const NOTHING: Stored = { record: undefined, keys: [], alarm: null };

const Record = z.object({
  callback: z.object({ state: z.looseObject({ kind: z.string() }) }).nullish(),
});

/** Waits, in real time, until no attempt is open and the loop has armed its alarm. */
export async function atRest(id: string): Promise<void> {
  await until(async () => {
    const { record } = await stored(id);
    return Record.safeParse(record ?? {}).data?.callback?.state.kind !== "in_flight";
  });
  // The loop takes its last look in the turn after the commit.
  await realMs(1);
}

export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 10_000; tries++) {
    if (await isSo()) return;
    await realMs(2);
  }
  throw new Error("it did not come to be");
}

export function realMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
