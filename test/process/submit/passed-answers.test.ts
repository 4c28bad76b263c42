import { randomUUID } from "node:crypto";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";
import { Workerd } from "../harness/workerd.ts";
import { Gateway } from "../calls/gateway.ts";
import { inBucket } from "../harness/bucket.ts";
import { hastenCalls, storedCalls } from "../harness/stored-calls.ts";

const SECOND_MS = 1_000;
const IMAGES = "/v1/images/generations";
const PICTURE = { url: "https://cdn.example.net/fox.png" };
/** Headers of an answer that reach the caller, beside those of rate limits. */
const PASSED = ["content-type", "content-length", "content-language", "retry-after"];

/** How the upstream answers, as the prompt of the call says. */
const Conduct = z.object({
  status: z.int().default(200),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.string().optional(),
  /** Number of bytes beside the picture. */
  bytes: z.int().default(1),
  /** False when the answer does not state its length. */
  hasLength: z.boolean().default(true),
  afterMs: z.int().default(0),
  /** Time between the two halves of the answer. */
  pauseMs: z.int().default(0),
});
type Conduct = z.input<typeof Conduct>;

const Call = z.object({ prompt: z.string() });

/** An upstream that makes pictures, and remembers the calls. */
class Painter extends LoopbackServer {
  readonly prompts: string[] = [];

  private constructor() {
    super((asked, response) => void this.#answer(asked, response));
  }

  static async start(): Promise<Painter> {
    return new Painter().listen();
  }

  async #answer(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt } = Call.parse(JSON.parse((await bodyOf(asked)) ?? ""));
    this.prompts.push(prompt);
    const conduct = Conduct.parse(JSON.parse(prompt));
    const { status, headers, hasLength, afterMs, pauseMs } = conduct;
    const picture = { created: 1, data: [PICTURE], note: "x".repeat(conduct.bytes) };
    const body = conduct.body ?? JSON.stringify(picture);
    await sleep(afterMs);
    const length = hasLength ? { "Content-Length": String(body.length) } : {};
    response.writeHead(status, { "Content-Type": "application/json", ...length, ...headers });
    response.write(body.slice(0, body.length / 2));
    await sleep(pauseMs);
    response.end(body.slice(body.length / 2));
  }
}

const upstream = await forThisFile(Painter.start());
const relay = await forThisFile(
  Workerd.start({
    vars: {
      ...LOCAL_VARS,
      OPENAI_VIDEOS_API_KEY: "process-test-videos-key",
      OPENAI_VIDEOS_BASE_URL: upstream.origin,
    },
  }),
);
const SUBMIT = `${relay.url}/v1/submit/openai-videos`;

function bodyFor(conduct: Conduct): string {
  return JSON.stringify({ model: "gpt-image-1", prompt: JSON.stringify(conduct) });
}

/** Calls for pictures, and returns what of the answer concerns its caller. */
async function answerFrom(base: string, conduct: Conduct) {
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}`, "Content-Type": "application/json" };
  const response = await fetch(base + IMAGES, { method: "POST", headers, body: bodyFor(conduct) });
  const passed = [...response.headers].filter(
    ([name]) => PASSED.includes(name) || name.startsWith("x-ratelimit-"),
  );
  const body = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: Object.fromEntries(passed), body };
}

/** Calls for pictures, and resets the connection after a while. @returns the id of the task. */
async function hangUp(conduct: Conduct, afterMs: number): Promise<string> {
  const id = randomUUID();
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}`, "Relay-Task-Id": id };
  const sent = request(SUBMIT + IMAGES, { method: "POST", headers });
  const isBroken = new Promise((resolve) => sent.once("close", resolve));
  sent.on("error", () => undefined);
  sent.on("response", (response) => response.on("error", () => undefined).resume());
  sent.end(bodyFor(conduct));
  await sleep(afterMs);
  sent.socket?.resetAndDestroy();
  await isBroken;
  return id;
}

const Read = z.object({ status: z.string() });
const MIB = 1024 * 1024;

/** A relay with a bucket, whose gateway sends this much of an answer with two pictures in base64, and then nothing. */
async function aStoppedCall(stack: AsyncDisposableStack, bytes: number) {
  const data = [3 * MIB, 12 * MIB].map((length) => ({
    b64_json: "iVBORw0KGgo".padEnd(length, "A"),
  }));
  const gateway = stack.use(
    await Gateway.start((_, response) => {
      response.writeHead(200, { "Content-Type": "application/json" });
      response.write(JSON.stringify({ data }).slice(0, bytes));
    }),
  );
  const vars = { ...LOCAL_VARS, ...gateway.vars, PUBLIC_URL: "https://relay.example.com" };
  const killed = stack.use(await Workerd.start({ vars, hasOutputs: true }));
  const id = randomUUID();
  const call = async () => {
    const headers = { Authorization: `Bearer ${OPERATOR_KEY}`, "Relay-Task-Id": id };
    const url = `${killed.url}/v1/submit/newapi${IMAGES}`;
    const response = await fetch(url, { method: "POST", headers, body: bodyFor({}) });
    return { status: response.status, text: await response.text() };
  };
  return { gateway, killed, id, call };
}

describe.concurrent("an answer that is the result", () => {
  it.each<[string, Conduct]>([
    ["a short one", { headers: { "X-RateLimit-Remaining": "3", "Content-Language": "en" } }],
    ["one of 3 MB", { bytes: 3_000_000 }],
    ["one of 3 MB whose length is not stated", { bytes: 3_000_000, hasLength: false }],
    ["a refusal", { status: 400, body: '{"error":{"message":"no"}}' }],
    ["a limit", { status: 429, body: '{"error":{}}', headers: { "Retry-After": "7" } }],
  ])("has the same bytes and headers through the relay as without it: %s", async (_, conduct) => {
    const direct = await answerFrom(upstream.origin, conduct);
    const passed = await answerFrom(SUBMIT, conduct);
    expect([passed.status, passed.headers]).toEqual([direct.status, direct.headers]);
    expect(passed.body.equals(direct.body)).toBe(true);
  });

  it.each<[string, Conduct, number]>([
    // Longer than the platform lets a Worker live whose client has hung up.
    ["before a long answer", { bytes: 3_000_000, afterMs: 40 * SECOND_MS }, SECOND_MS],
    ["before a short answer", { afterMs: 40 * SECOND_MS }, SECOND_MS],
    ["in the middle of an answer", { bytes: 3_000_001, pauseMs: 5 * SECOND_MS }, 2 * SECOND_MS],
  ])("completes the task of a caller who hangs up %s, by one call", async (_, conduct, afterMs) => {
    const id = await hangUp(conduct, afterMs);
    const isCompleted = async () => {
      const { json } = await relay.client.ask("GET", `/v1/tasks/${id}`);
      return Read.safeParse(json).data?.status === "completed";
    };
    await vi.waitUntil(isCompleted, { timeout: 80 * SECOND_MS, interval: 200 });
    const calls = upstream.prompts.filter((prompt) => prompt === JSON.stringify(conduct));
    expect(calls.length).toBe(1);
  });
});

const PATIENCE = { timeout: 60 * SECOND_MS, interval: 50 };
const Problem = z.object({ code: z.string() });

it.concurrent.each([
  ["before the answer", 0],
  ["after one picture of the answer and a part of another are stored", 15 * MIB],
])(
  "a call whose relay is killed with kill -9 %s is not sent again, and leaves nothing in the bucket",
  async (_, bytes) => {
    await using stack = new AsyncDisposableStack();
    const { gateway, killed, id, call } = await aStoppedCall(stack, bytes);
    const broken = call().catch(() => null);
    const isMoment = () => (bytes === 0 ? gateway.calls.length > 0 : inBucket(killed).parts > 0);
    await vi.waitUntil(isMoment, PATIENCE);
    await killed.kill9();
    expect(await broken).toBe(null);
    // Otherwise the task alone ends the call, in some minutes.
    const isStored = bytes > 0;
    if (isStored) hastenCalls(killed.storage);
    await killed.restart();
    if (isStored) {
      await vi.waitUntil(() => storedCalls(killed.storage).length === 0, PATIENCE);
      const { json } = await killed.client.ask("GET", `/v1/tasks/${id}`);
      expect(json).toMatchObject({ status: "failed", error: { code: "submit_unknown" } });
    }
    const again = await call();
    const answer = [again.status, Problem.parse(JSON.parse(again.text)).code];
    expect(answer).toEqual(isStored ? [424, "submit_unknown"] : [409, "submission_running"]);
    expect(gateway.calls.length).toBe(1);
    expect(inBucket(killed)).toMatchObject({ keys: [], parts: 0 });
  },
);
