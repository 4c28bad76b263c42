import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import * as z from "zod";
import { call, callWith, post } from "./client.ts";
import { useClock } from "./clock.ts";
import { attach } from "./hooked.ts";
import { loggedBy } from "./logged.ts";
import { ARK_TOOL, callTool, CONTENT, OFFERED } from "./mcp/messages.ts";
import { restart, stored, stubOf, untilIdle, wake } from "./objects.ts";
import { anOutside, answering } from "./outside.ts";
import { aReceiver, requestAt, status } from "./receiver.ts";
import { anArk, BINDINGS, named, sentToArk, submit } from "./submitted.ts";
import {
  aCompletion,
  CALLBACK_URL,
  completed,
  erase,
  finish,
  redeliver,
  register,
  report,
} from "./tasks.ts";

useClock();

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const TRACE = {
  traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01`,
  tracestate: "congo=t61rcWkgMzE",
};
const OTHER = { traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-00` };
const LOGGED = { ...env, LOG: "all" };
const UNTRACED = ["traceparent", "tracestate"];

function aTask() {
  return { id: crypto.randomUUID(), model: "seedance", callback_url: CALLBACK_URL };
}

async function traced(headers: Readonly<Record<string, string>> = TRACE): Promise<string> {
  const task = aTask();
  expect((await post("/v1/tasks", task, { headers })).status).toBe(201);
  return task.id;
}

it("every attempt of a callback, those of a redelivery too, has the trace context of the request that registered its task", async () => {
  const received = aReceiver(status(500), status(200));
  const id = await traced();
  await finish(aCompletion(id));
  await wake(id, 180_000);
  await redeliver(id, { callback_url: "https://client.example.net/repaired" }, { headers: OTHER });
  await untilIdle(id);
  expect(received.map(({ headers }) => headers)).toMatchObject([TRACE, TRACE, TRACE]);
  const { exact, headers } = z
    .object({ exact: z.boolean(), headers: z.record(z.string(), z.string()) })
    .parse(await (await call(`/v1/tasks/${id}/attempts/2/request`)).json());
  expect({ exact, headers }).toMatchObject({ exact: true, headers: TRACE });
});

it("a task keeps the trace context of its first registration, and none of a report of its end", async () => {
  const received = aReceiver();
  const task = aTask();
  await post("/v1/tasks", task, { headers: TRACE });
  await post("/v1/tasks", task, { headers: OTHER });
  await post("/v1/events", aCompletion(task.id), { headers: OTHER });
  await untilIdle(task.id);
  expect(requestAt(received, 0).headers).toMatchObject(TRACE);
});

it("the callback of a task that an event has created has the trace context of the event", async () => {
  const received = aReceiver();
  const { id, ...creation } = aTask();
  await post("/v1/events", aCompletion(id, creation), { headers: TRACE });
  await untilIdle(id);
  expect(requestAt(received, 0).headers).toMatchObject(TRACE);
});

it("an invalid traceparent is ignored, and its tracestate with it", async () => {
  const received = aReceiver();
  const id = await traced({ ...TRACE, traceparent: "00-nonsense-01" });
  await finish(aCompletion(id));
  const names = Object.keys(requestAt(received, 0).headers);
  expect(names.filter((name) => UNTRACED.includes(name))).toEqual([]);
});

it("a callback of a task without a trace context has no header of one", async () => {
  const received = aReceiver();
  await completed();
  const names = Object.keys(requestAt(received, 0).headers);
  expect(names.filter((name) => UNTRACED.includes(name))).toEqual([]);
});

it("the upstream of a submission and the callback of its task get the same trace context", async () => {
  const outside = anArk();
  const { id, headers } = named(TRACE);
  expect((await submit({ headers })).status).toBe(200);
  expect(sentToArk(outside).headers).toMatchObject(TRACE);
  await callWith(BINDINGS, "/v1/events", { body: aCompletion(id) });
  await untilIdle(id);
  expect(outside.sentTo(CALLBACK_URL)).toMatchObject([{ headers: TRACE }]);
});

it.each([
  ["the request", { headers: TRACE }],
  ["`_meta` of the call, rather than that of the request", { headers: OTHER, meta: TRACE }],
])(
  "a job that an MCP tool submits has the trace context of %s in its log lines",
  async (_, asked) => {
    anArk();
    const OFFERS_AND_LOG = { ...OFFERED, LOG: "all" };
    const lines = await loggedBy(async () => {
      await callTool(ARK_TOOL, { content: CONTENT }, { ...asked, bindings: OFFERS_AND_LOG });
    });
    expect(lines).toContainEqual(
      expect.objectContaining({ event: "task.register", trace_id: TRACE_ID }),
    );
  },
);

it("the log line about a refused key has the trace id of the task", async () => {
  anOutside().on("https://ark.", answering({}, 401));
  const bindings = { ...env, ARK_API_KEY: "test-only-ark-key" };
  const task = aTask();
  await restart(task.id, bindings);
  await callWith(bindings, "/v1/tasks", { body: { ...task, provider: "ark" }, headers: TRACE });
  await attach({ id: task.id, provider: "ark", bindings, hookUrl: "" }, "cgt-1");
  const lines = await loggedBy(async () => {
    await wake(task.id, ((await stored(task.id)).alarm ?? 0) - Date.now());
  });
  const line = { event: "provider.unauthorized", trace_id: TRACE_ID };
  expect(lines).toContainEqual(expect.objectContaining(line));
});

it("the log line about a failed alarm has the trace id of the task", async () => {
  aReceiver(status(500));
  const id = await traced();
  await finish(aCompletion(id));
  await runInDurableObject(stubOf(id), (_, { storage }) => {
    vi.spyOn(storage.kv, "put").mockImplementation(() => {
      throw new Error("storage failure");
    });
  });
  const lines = await loggedBy(() => wake(id, 180_000));
  const line = { event: "alarm.failed", trace_id: TRACE_ID };
  expect(lines).toContainEqual(expect.objectContaining(line));
});

it("each log line of a task's own object has the trace id of the task, the last one too; those of other tasks have none", async () => {
  aReceiver(status(500), status(200));
  const task = aTask();
  await restart(task.id, LOGGED);
  const lines = await loggedBy(async () => {
    await post("/v1/tasks", task, { headers: TRACE });
    await finish(aCompletion(task.id));
    await wake(task.id, 180_000);
    await erase(task.id);
  });
  const own = lines.filter((line) => "task_id" in line);
  expect(own.map((line) => ("event" in line ? line.event : null))).toEqual([
    "task.register",
    "task.completed",
    "callback.attempt",
    "task.settled",
    "callback.attempt",
    "task.erase",
  ]);
  expect(own.filter((line) => !("trace_id" in line) || line.trace_id !== TRACE_ID)).toEqual([]);
  const others = await loggedBy(async () => {
    const id = await register();
    await report(aCompletion(id));
    await untilIdle(id);
  });
  expect(others).not.toEqual([]);
  expect(others.filter((line) => "trace_id" in line)).toEqual([]);
});
