import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { StoredCall } from "../../src/objects/call/call-plan.ts";
import type { LeftUpload } from "../../src/objects/output/copy-plan.ts";
import { refusal } from "../worker/client.ts";
import { pass, START, until, useClock } from "../worker/clock.ts";
import { lose, namespaceWith } from "../worker/lost-calls.ts";
import { restart, stubOf, untilIdle, wake } from "../worker/objects.ts";
import { answering, type Outside, type Site } from "../worker/outside.ts";
import { CALLBACK_URL, report } from "../worker/tasks.ts";
import { holdTimers } from "../worker/timers.ts";
import {
  aGateway,
  alarmOfCall,
  callLater,
  callObjectOf,
  CALLING,
  formOf,
  GATEWAY,
  keysOfCall,
  made,
  makeCall,
  readCalled,
  sentOnce,
} from "./called.ts";
import {
  bucket,
  bytesOf,
  copiesOf,
  copy,
  keyOf,
  sending,
  SOURCE,
  storedCopies,
  streaming,
  VIDEO_BYTES,
} from "./copied.ts";
import { largeImages } from "./large-images.ts";

useClock();

const IMAGES = "/v1/images/generations";
const MIB = 1024 * 1024;
const PNG = bytesOf(`\x89PNG\r\n\x1a\n\0\0\0\rIHDR${"p".repeat(2_000)}`);
const B64 = btoa(String.fromCharCode(...PNG));
const images = (count = 1) => ({ data: Array.from({ length: count }, () => ({ b64_json: B64 })) });

/** Submits a call for images, or for a job. Returns the id of its task. */
async function submitted(bindings: object = CALLING, path = IMAGES): Promise<string> {
  const id = crypto.randomUUID();
  const headers = { "Relay-Task-Id": id };
  const body = { model: "gpt-image-1", prompt: "a fox" };
  const response = await callLater({ path, body, headers, bindings });
  if (response.status !== 202) throw new Error(await response.text());
  return id;
}

/** Runs the alarm of the object of a task's call, and waits for the end of the task. */
async function madeNow(id: string, bindings: object = CALLING): Promise<void> {
  await makeCall(id, bindings);
  await untilIdle(id);
}

/** Leaves the object of a task's call as an alarm leaves it that is interrupted while the call is sent. */
async function interrupt(id: string, uploads: readonly LeftUpload[] = []): Promise<void> {
  await runInDurableObject(await callObjectOf(id), async (_, { storage }) => {
    const { call, body } = storage.kv.get<{ call: StoredCall; body: object }>("call") ?? {};
    const { submissionId = "" } = call ?? {};
    const start = await stubOf(id).startCall({ type: "call_started", submissionId });
    storage.kv.put("call", { kind: "sending", call, body, start, uploads });
  });
}

/** Completes a task with an output, and copies the output. */
async function endWithCopy(id: string, outside: Outside): Promise<void> {
  outside.on(SOURCE, sending(VIDEO_BYTES));
  await report({ id, status: "completed", output: { urls: [SOURCE] } });
  await until(async () => (await storedCopies(id)) !== undefined);
  await copy(id);
}

/** Expects a task whose call may have been billed: failed, with nothing in the bucket or stored for its call. */
async function expectUnknown(id: string): Promise<void> {
  expect(await readCalled(id)).toMatchObject({
    status: "failed",
    error: { code: "submit_unknown" },
  });
  expect(await copiesOf(id)).toEqual([]);
  expect(await keysOfCall(id)).toEqual([]);
}

/** Returns the call of a task that does not exist. */
function aCall(): StoredCall {
  return {
    taskId: crypto.randomUUID(),
    submissionId: crypto.randomUUID(),
    connection: "newapi",
    model: "m",
    path: IMAGES,
    sentPath: IMAGES,
    headers: [],
    keyHeader: null,
    jobId: null,
    isHookExpected: false,
    storesFiles: true,
    secrets: { hasCustomerKey: false, isOfAccount: false, hookToken: null },
  };
}

describe("the object of a call", () => {
  it("that was not told to begin finds out after 30 s that its task is registered, and makes the call", async () => {
    const outside = aGateway(answering(images()));
    const CALLS = namespaceWith(env.CALLS, { begin: lose });
    const id = await submitted({ ...CALLING, CALLS });
    expect(await alarmOfCall(id)).toBe(START + 30_000);
    pass(30_000);
    await madeNow(id);
    sentOnce(outside);
    expect(await readCalled(id)).toMatchObject({ status: "completed" });
  });

  it("whose task was never registered erases itself after 30 s", async () => {
    const outside = aGateway(answering(images()));
    const call = aCall();
    const object = env.CALLS.getByName(call.submissionId);
    await object.storeCall(call, new Response("{}").body);
    pass(30_000);
    await runDurableObjectAlarm(object);
    await runInDurableObject(object, async (_, { storage }) => {
      expect([...storage.kv.list()]).toEqual([]);
      expect(await storage.getAlarm()).toBe(null);
    });
    expect(outside.sentTo(GATEWAY)).toEqual([]);
  });

  it("whose Worker fails while the body arrives erases what it has stored of the body", async () => {
    const call = aCall();
    const object = env.CALLS.getByName(call.submissionId);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    void object.storeCall(call, readable).catch(() => undefined);
    const writer = writable.getWriter();
    await writer.write(new Uint8Array(3 * MIB));
    const storedNow = () =>
      runInDurableObject(object, (_, { storage }) => [...storage.kv.list({ prefix: "body:" })]);
    await until(async () => (await storedNow()).length === 3);
    expect(await runDurableObjectAlarm(object)).toBe(true);
    expect(await storedNow()).toEqual([]);
    await writer.abort();
  });

  it("whose Worker has failed after it has stored a form erases itself after 30 s", async () => {
    const object = env.CALLS.getByName(crypto.randomUUID());
    const { body, headers } = await formOf({ model: "m", image: PNG });
    const boundary = headers["Content-Type"].split("boundary=").at(-1) ?? "";
    const stream = new Response(body).body ?? new ReadableStream();
    expect(await object.storeForm(stream, boundary, 1_000_000)).toMatchObject({
      kind: "stored",
      fields: [
        { name: "model", text: "m" },
        { name: "image", text: null },
      ],
    });
    pass(30_000);
    await runDurableObjectAlarm(object);
    await runInDurableObject(object, (_, { storage }) => {
      expect([...storage.kv.list()]).toEqual([]);
    });
  });

  it("that finds a call which an earlier alarm has begun never sends it again: the task fails, files are deleted and uploads aborted", async () => {
    const outside = aGateway(answering(images()));
    const id = await submitted();
    const upload = await bucket().createMultipartUpload(keyOf(id, 2));
    await bucket().put(keyOf(id, 1), PNG);
    await interrupt(id, [{ number: 2, uploadId: upload.uploadId }]);
    await madeNow(id);
    expect(outside.sentTo(GATEWAY)).toEqual([]);
    await expectUnknown(id);
    await expect(upload.uploadPart(1, PNG)).rejects.toThrow();
  });

  it("has stored that it sends the call when the upstream gets the call", async () => {
    let isReady = false;
    const outside = aGateway(async (sent, signal) => {
      await until(() => isReady);
      return answering(images())(sent, signal);
    });
    const id = await submitted();
    const making = madeNow(id);
    await until(() => outside.sentTo(GATEWAY).length > 0);
    const state = await runInDurableObject(await callObjectOf(id), (_, { storage }) =>
      storage.kv.get("call"),
    );
    expect(state).toMatchObject({ kind: "sending" });
    isReady = true;
    await making;
  });

  it("asks again when its task cannot be reached, and sends the call once the task has answered", async () => {
    const outside = aGateway(answering(images()));
    const id = await submitted();
    await makeCall(id, { ...CALLING, TASKS: namespaceWith(env.TASKS, { startCall: loseAnswer }) });
    expect(outside.sentTo(GATEWAY)).toEqual([]);
    expect(await alarmOfCall(id)).toBe(START + 5_000);
    pass(5_000);
    await madeNow(id);
    sentOnce(outside);
    expect(await readCalled(id)).toMatchObject({ status: "completed" });
  });

  it("repeats its report until the task has confirmed it, and does not send the call again", async () => {
    const outside = aGateway(answering(images()));
    const id = await submitted();
    await makeCall(id, { ...CALLING, TASKS: namespaceWith(env.TASKS, { endCall: lose }) });
    expect(await alarmOfCall(id)).toBe(START + 5_000);
    expect(await keysOfCall(id)).toEqual(["call"]);
    pass(5_000);
    await madeNow(id);
    sentOnce(outside);
    expect(await readCalled(id)).toMatchObject({ status: "completed" });
    expect((await copiesOf(id)).length).toBe(2);
    expect(await keysOfCall(id)).toEqual([]);
  });

  it("deletes the files of an answer that its task does not take, because it has ended meanwhile, and repeats that when the bucket fails", async () => {
    let id = "";
    aGateway(async (sent, signal) => {
      await wake(id, 11 * 60_000);
      return answering(images())(sent, signal);
    });
    id = await submitted();
    const failing = new Proxy(bucket(), {
      get: (all, name) => (name === "delete" ? lose : bound(all, name)),
    });
    await makeCall(id, { ...CALLING, OUTPUTS: failing });
    expect((await copiesOf(id)).length).toBe(2);
    expect(await alarmOfCall(id)).toBe(START + 11 * 60_000 + 5_000);
    pass(5_000);
    await madeNow(id);
    await expectUnknown(id);
  });

  it("completes its task with the files of the answer although somebody reports another result while they are stored", async () => {
    let id = "";
    let told: unknown = null;
    const outside = aGateway(async (sent, signal) => {
      outside.on(SOURCE, sending(VIDEO_BYTES));
      told = await refusal(await report({ id, status: "completed", output: { urls: [SOURCE] } }));
      return answering(images())(sent, signal);
    });
    id = await submitted();
    await madeNow(id);
    expect(told).toMatchObject({ status: 409, code: "submission_running" });
    expect(await readCalled(id)).toMatchObject({ status: "completed" });
    expect((await copiesOf(id)).at(-1)).toEqual([keyOf(id), PNG.length]);
  });

  it("keeps the copies of a task that was ended while the call which started its job got no answer", async () => {
    let id = "";
    const outside = aGateway(async () => {
      await endWithCopy(id, outside);
      throw new Error("the connection broke off");
    });
    id = await submitted(CALLING, "/v1/videos");
    await madeNow(id);
    expect(await copiesOf(id)).toEqual([[keyOf(id), VIDEO_BYTES.length]]);
    expect(await keysOfCall(id)).toEqual([]);
  });

  it("keeps the copies of a task that was ended before the object finds the call which started its job begun", async () => {
    const id = await submitted(CALLING, "/v1/videos");
    await interrupt(id);
    await endWithCopy(id, aGateway(answering({})));
    await madeNow(id);
    expect(await copiesOf(id)).toEqual([[keyOf(id), VIDEO_BYTES.length]]);
    expect(await keysOfCall(id)).toEqual([]);
  });

  it("that sends its call keeps what it stores of it when the Worker orders it to erase the call", async () => {
    let id = "";
    let kept: readonly string[] = [];
    aGateway(async (sent, signal) => {
      await (await callObjectOf(id)).drop();
      kept = await keysOfCall(id);
      return answering(images())(sent, signal);
    });
    id = await submitted();
    await madeNow(id);
    expect(kept).toContain("call");
    expect(await readCalled(id)).toMatchObject({ status: "completed" });
  });

  it("gives up a call that the upstream does not answer within ASYNC_TIMEOUT_S", async () => {
    const passTime = holdTimers(600_000);
    const outside = aGateway((_, signal) => {
      const { promise, reject } = Promise.withResolvers<Response>();
      signal.addEventListener("abort", () => reject(new Error("aborted")));
      passTime();
      return promise;
    });
    const id = await submitted();
    await madeNow(id);
    await expectUnknown(id);
    sentOnce(outside);
  });

  it("gives up a call that it begins late, because answers of the task were lost, when the task does", async () => {
    const outside = aGateway((_, signal) => {
      const { promise, reject } = Promise.withResolvers<Response>();
      signal.addEventListener("abort", () => reject(new Error("aborted")));
      passTime();
      return promise;
    });
    const id = await submitted();
    await makeCall(id, { ...CALLING, TASKS: namespaceWith(env.TASKS, { startCall: loseAnswer }) });
    pass(400_000);
    const passTime = holdTimers(250_000);
    await madeNow(id);
    await expectUnknown(id);
    sentOnce(outside);
  });

  it("does not send a call whose task gives it up within seconds, because answers of the task were lost", async () => {
    const outside = aGateway(answering(images()));
    const id = await submitted();
    await makeCall(id, { ...CALLING, TASKS: namespaceWith(env.TASKS, { startCall: loseAnswer }) });
    pass(650_000);
    await madeNow(id);
    expect(outside.sentTo(GATEWAY)).toEqual([]);
    expect(await readCalled(id)).toMatchObject({
      error: { code: "upstream_error" },
      failure: { retryable: true },
    });
    expect(await keysOfCall(id)).toEqual([]);
  });

  it("does not send a call that has waited for longer than an hour", async () => {
    const outside = aGateway(answering(images()));
    const id = await submitted({ ...CALLING, CALLS: namespaceWith(env.CALLS, { begin: lose }) });
    await wake(id, 3_600_000);
    await untilIdle(id);
    expect(await readCalled(id)).toMatchObject({ error: { code: "queue_timeout" } });
    await makeCall(id);
    expect(outside.sentTo(GATEWAY)).toEqual([]);
    expect(await keysOfCall(id)).toEqual([]);
  });

  it("whose connection was removed does not send the call, and its task fails", async () => {
    const outside = aGateway(answering(images()));
    const id = await submitted();
    await madeNow(id, { ...CALLING, NEWAPI_BASE_URL: undefined });
    expect(outside.sentTo(GATEWAY)).toEqual([]);
    expect(await readCalled(id)).toMatchObject({ status: "failed", failure: { retryable: true } });
    expect(await keysOfCall(id)).toEqual([]);
  });
});

/** Makes a call to an object and loses its answer. */
async function loseAnswer(call: () => Promise<unknown>): Promise<void> {
  await call();
  await lose();
}

/** Returns a member of an object, as a function that can be called alone if it is one. */
function bound(object: object, name: string | symbol): unknown {
  const member: unknown = Reflect.get(object, name);
  return typeof member === "function" ? member.bind(object) : member;
}

function callbacks(outside: Outside): number {
  return outside.sentTo(CALLBACK_URL).length;
}

const raw =
  (body: BodyInit, type = "application/json"): Site =>
  () =>
    new Response(body, { headers: { "Content-Type": type } });

describe("a call whose answer cannot be read", () => {
  const BROKEN = /it is not what its type says, or is cut short/;
  const TOO_MANY = /it has more files than the relay takes/;
  const TOO_LARGE = /it is larger than the relay takes, or a file in it is/;

  it.each<[string, Site, RegExp]>([
    ["is JSON that is cut short", raw(JSON.stringify(images(2)).slice(0, -10)), BROKEN],
    ["has broken base64", answering({ data: [{ b64_json: `${B64.slice(0, 2_000)}!!!` }] }), BROKEN],
    [
      "has broken base64 within its first characters",
      answering({ data: [{ b64_json: `${B64.slice(0, 100)}*${B64}` }] }),
      BROKEN,
    ],
    ["has short broken base64", answering({ data: [{ b64_json: "iVBORw0KGgo*" }] }), BROKEN],
    ["has 33 images", answering(images(33)), TOO_MANY],
    ["has 41 images", answering(images(41)), TOO_MANY],
    ["has 65 MiB", streaming(...largeImages(5, 9.75 * MIB)), TOO_LARGE],
    ["has an image above MAX_OUTPUT_MB", streaming(...largeImages(1, 21 * MIB)), TOO_LARGE],
    ["is the page of a proxy", raw("<html>Bad gateway</html>", "text/html"), BROKEN],
    ["is empty", raw(""), BROKEN],
    ["states neither a result nor an error", answering({ ok: true }), /^It is not known/],
  ])(
    "because it %s, fails once with submit_unknown and the reason, and leaves nothing behind",
    async (_, site, reason) => {
      const outside = aGateway(site);
      const id = await made({ path: IMAGES, body: { model: "gpt-image-1", prompt: "a fox" } });
      await expectUnknown(id);
      expect((await readCalled(id)).error?.["message"]).toMatch(reason);
      sentOnce(outside);
      expect(callbacks(outside)).toBe(1);
    },
  );

  it("because the bucket does not take its files, fails with submit_unknown, and leaves nothing behind", async () => {
    aGateway(answering(images()));
    const OUTPUTS = new Proxy(bucket(), {
      get: (all, name) => (name === "put" ? lose : bound(all, name)),
    });
    const id = await submitted();
    await madeNow(id, { ...CALLING, OUTPUTS });
    await expectUnknown(id);
  });
});

/** Returns an event of a stream with images. */
function eventOf(type: string, count: number): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...images(count) })}\n\n`;
}

it("a call with a stream whose last event has fewer files than an earlier one keeps those of the last, and deletes the others", async () => {
  const events = eventOf("image_generation.progress", 3) + eventOf("image_generation.completed", 1);
  aGateway(raw(events, "text/event-stream"));
  const body = { model: "gpt-image-1", prompt: "a fox", stream: true };
  const id = await made({ path: IMAGES, body });
  expect(await readCalled(id)).toMatchObject({ status: "completed" });
  expect((await copiesOf(id)).map(([key]) => key)).toEqual([keyOf(id, 0), keyOf(id, 1)]);
});

it("a call whose answer names a job in place of images waits for this job", async () => {
  aGateway(answering({ code: 200, data: [{ status: "submitted", task_id: "task_1" }] }));
  const id = await submitted();
  await restart(id, CALLING);
  await makeCall(id);
  expect(await readCalled(id)).toMatchObject({
    submission: { state: "accepted" },
    upstream: { id: "task_1" },
  });
  expect(await copiesOf(id)).toEqual([]);
  expect(await keysOfCall(id)).toEqual([]);
});

it("a call whose registration got no answer is made once by its object, and a repetition under its key gets its task", async () => {
  const outside = aGateway(answering(images()));
  const key = { "Idempotency-Key": crypto.randomUUID() };
  const call = { path: IMAGES, body: { model: "gpt-image-1", prompt: "a fox" }, headers: key };
  const TASKS = namespaceWith(env.TASKS, { apply: loseAnswer });
  const lost = await callLater({ ...call, bindings: { ...CALLING, TASKS } });
  expect(lost.status).toBe(503);
  const again = await callLater(call);
  expect([again.status, again.headers.get("Idempotent-Replayed")]).toEqual([202, "true"]);
  const { id } = z.looseObject({ id: z.string() }).parse(await again.json());
  await restart(id, CALLING);
  pass(30_000);
  await madeNow(id);
  sentOnce(outside);
  expect(await readCalled(id)).toMatchObject({ status: "completed" });
});
