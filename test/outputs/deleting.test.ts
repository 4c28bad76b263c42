import { runInDurableObject } from "cloudflare:test";
import { expect, it, vi } from "vitest";
import type { CopyBucket } from "../../src/objects/output/store-copy.ts";
import { call, callWith, refusal } from "../worker/client.ts";
import { logIn, outcome, submit as sendForm, visit } from "../worker/browser.ts";
import { pass, realMs, until, useClock } from "../worker/clock.ts";
import { wake } from "../worker/objects.ts";
import { aCompletion, CALLBACK_URL, register, report } from "../worker/tasks.ts";
import { aKey, anAccount } from "../worker/accounts.ts";
import {
  anUpstream,
  bucket,
  completedWith,
  copiesOf,
  copierOf,
  copy,
  keyOf,
  readCopied,
  sending,
  SOURCE,
  VIDEO_BYTES,
} from "./copied.ts";
import { aKeyedTask, WITHOUT_BUCKET } from "./keyed.ts";
import { linkOf, open, openWith } from "./linked.ts";

useClock();

function deleteOutput(id: string, number: number | string = 1): Promise<Response> {
  return call(`/v1/tasks/${id}/outputs/${number}`, { method: "DELETE" });
}

function deleteOutputs(id: string, key?: string): Promise<Response> {
  const path = `/v1/tasks/${id}/outputs`;
  return call(path, { method: "DELETE", ...(key !== undefined && { key }) });
}

async function expectDeleted(response: Response): Promise<void> {
  expect(response.status).toBe(410);
  expect(await response.json()).toMatchObject({ code: "output_gone", reason: "deleted" });
}

it("after DELETE of an output, the relay's link to it answers 410 and its copy is deleted; the task and its other outputs stay as they are", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE, SOURCE]);
  await copy(id);
  const [link, other] = [await linkOf(id), await linkOf(id, 2)];
  expect((await deleteOutput(id)).status).toBe(204);
  expect((await copiesOf(id)).map(([key]) => key)).toEqual([keyOf(id, 2)]);
  await expectDeleted(await open(link));
  expect((await open(other)).status).toBe(200);
  const { outputs, output } = await readCopied(id);
  expect(outputs).toMatchObject([{ kept: false, reason: "deleted" }, { kept: true }]);
  expect(output.urls).toHaveLength(2);
  expect((await deleteOutput(id)).status).toBe(204);
});

it("after DELETE of all outputs of a task, all links of the relay answer 410 and no copy is left; the callback stays as it was, and GET says of each output that it was deleted", async () => {
  const { sentTo } = anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE, `${SOURCE}?2`, "http://cdn.example.net/plain.mp4"]);
  await copy(id);
  const before = await readCopied(id);
  const links = [await linkOf(id), await linkOf(id, 2)];
  expect((await deleteOutputs(id)).status).toBe(204);
  expect(await copiesOf(id)).toEqual([]);
  for (const link of links) await expectDeleted(await open(link));
  const { outputs, output } = await readCopied(id);
  const gone = { kept: false, reason: "deleted" };
  expect(outputs).toMatchObject([gone, gone, { reason: "own_link" }]);
  expect(output).toEqual(before.output);
  expect((await deleteOutputs(id)).status).toBe(204);
  const again = { method: "POST", body: JSON.stringify({ attempts: 1 }) };
  expect((await call(`/v1/tasks/${id}/redeliver`, again)).status).toBe(202);
  await until(() => sentTo(CALLBACK_URL).length === 2);
  const [first, second] = sentTo(CALLBACK_URL).map(({ body }) => body);
  expect(second).toBe(first);
});

it("when the bucket does not delete the copies, DELETE answers 503, and the task deletes them by itself", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  await copy(id);
  await wake(id);
  const link = await linkOf(id);
  const store: R2Bucket = Object.getPrototypeOf(bucket());
  const failing = vi.spyOn(store, "delete").mockRejectedValue(new Error("the bucket is away"));
  expect(await refusal(await deleteOutputs(id))).toEqual({ status: 503, code: "unavailable" });
  failing.mockRestore();
  expect((await open(link)).status).toBe(200);
  await wake(id, 60_000);
  expect(await copiesOf(id)).toEqual([]);
  await expectDeleted(await open(link));
});

/** Orders that delete the copy of the only output of a task. */
const ORDERS = [
  ["an output is deleted", (id: string) => deleteOutput(id)],
  ["a task is erased", (id: string) => call(`/v1/tasks/${id}`, { method: "DELETE" })],
] as const;

it.each(ORDERS)(
  "when %s, a copy that an interrupted try has stored afterwards is deleted 15 minutes later",
  async (_, order) => {
    anUpstream(sending(VIDEO_BYTES));
    const id = await completedWith([SOURCE]);
    await runInDurableObject(copierOf(id), (_object, { storage }) => {
      const copies = storage.kv.get<{ list: { state: object }[] }>("copies");
      if (copies === undefined) throw new Error("no copies");
      const list = copies.list.map((one) => ({ ...one, state: { ...one.state, tries: 1 } }));
      storage.kv.put("copies", { ...copies, list });
    });
    expect((await order(id)).status).toBe(204);
    await bucket().put(keyOf(id), VIDEO_BYTES);
    await copy(id);
    expect(await copiesOf(id)).toHaveLength(1);
    pass(15 * 60_000);
    await copy(id);
    expect(await copiesOf(id)).toEqual([]);
  },
);

it("an output that is deleted before it was copied is never copied", async () => {
  const { sentTo } = anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE, `${SOURCE}?2`]);
  expect((await deleteOutput(id)).status).toBe(204);
  await copy(id);
  expect((await copiesOf(id)).map(([key]) => key)).toEqual([keyOf(id, 2)]);
  expect(sentTo(SOURCE).map(({ url }) => url)).toEqual([`${SOURCE}?2`]);
  await expectDeleted(await open(await linkOf(id)));
});

it("when an output is deleted while it is being copied, the copying ends, and the next output is copied", async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { on } = anUpstream((_, signal) => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    void writer.write(VIDEO_BYTES).catch(() => undefined);
    signal.addEventListener("abort", () => void writer.abort().catch(() => undefined));
    ask();
    return new Response(readable);
  });
  const second = "https://cdn.example.net/second.mp4";
  on(second, sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE, second]);
  const copied = copy(id);
  await asked;
  await realMs(20);
  expect((await deleteOutput(id)).status).toBe(204);
  await copied;
  expect((await copiesOf(id)).map(([key]) => key)).toEqual([keyOf(id, 2)]);
});

it.each(ORDERS)(
  "when %s while the bucket stores its last bytes, the answer waits for the bucket, and no copy is left",
  async (_, order) => {
    const bytes = new Uint8Array(128 * 1024).fill(1);
    const headers = { "Content-Length": String(bytes.length) };
    // Sends all bytes, and then not the end of the stream.
    anUpstream(
      () => new Response(new ReadableStream({ start: (to) => to.enqueue(bytes) }), { headers }),
    );
    const { taken, store, stored } = aSlowBucket(bytes.length);
    const id = await completedWith([SOURCE]);
    const copied = copy(id);
    await taken;
    const ordered = order(id);
    await Promise.race([ordered, realMs(50)]);
    store();
    expect((await ordered).status).toBe(204);
    await copied;
    await stored;
    expect(await copiesOf(id)).toEqual([]);
  },
);

/**
 * Makes the bucket store the next file, of this many bytes, only when it has all of them (`taken`) and `store` was called,
 * also when the call has been broken off meanwhile.
 */
function aSlowBucket(length: number) {
  const { promise: taken, resolve: take } = Promise.withResolvers<void>();
  const { promise: asked, resolve: store } = Promise.withResolvers<void>();
  const { promise: stored, resolve: end } = Promise.withResolvers<void>();
  const files: Pick<CopyBucket, "put"> = Object.getPrototypeOf(bucket());
  const put = files.put.bind(bucket());
  vi.spyOn(files, "put").mockImplementationOnce(async (key, value, options, signal) => {
    if (!(value instanceof ReadableStream)) throw new Error("not a stream");
    const bytes = await bytesIn(value, length);
    take();
    await asked;
    await put(key, bytes, options, signal);
    end();
  });
  return { taken, store, stored };
}

/** Reads this many bytes of a stream, and not its end. */
async function bytesIn(stream: ReadableStream<Uint8Array>, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  const reader = stream.getReader();
  for (let count = 0; count < length;) {
    const { value } = await reader.read();
    if (value === undefined) throw new Error("too short");
    bytes.set(value, count);
    count += value.length;
  }
  return bytes;
}

it("when the order to copy an output comes after the output was deleted, the output is not copied", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  expect((await deleteOutput(id)).status).toBe(204);
  const outputs = [{ number: 1, source: SOURCE }];
  const owner = {
    account: null,
    origin: "https://relay.example.com",
    connection: null,
    customerKey: null,
  };
  const times = { recordedAt: Date.now(), expiresAt: Date.now() + 1e9 };
  await copierOf(id).copy({ taskId: id, ...times, ...owner, outputs, deleted: [] });
  await copy(id);
  expect(await bucket().head(keyOf(id))).toBeNull();
});

it("in a relay without a bucket for copies, the link to an output that was deleted answers 410 and passes nothing on any more", async () => {
  const { id, link } = await aKeyedTask(sending(VIDEO_BYTES));
  const path = `/v1/tasks/${id}/outputs/1`;
  expect((await callWith(WITHOUT_BUCKET, path, { method: "DELETE" })).status).toBe(204);
  await expectDeleted(await openWith(WITHOUT_BUCKET, link));
});

it.each([["3"], ["0"], ["01"], ["x"], ["99999"]])(
  "DELETE of the output %s, which the task does not have, is refused",
  async (number) => {
    anUpstream(sending(VIDEO_BYTES));
    const id = await completedWith([SOURCE, "http://cdn.example.net/plain.mp4"]);
    const { status } = await refusal(await deleteOutput(id, number));
    expect(status).toBe(number === "3" ? 404 : 400);
    expect(await refusal(await deleteOutput(id, 2))).toEqual({ status: 404, code: "not_found" });
  },
);

it("the account of a task and operators may delete its outputs, once the task has ended; keys that only read, and other accounts, may not", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const account = await anAccount();
  const { key } = await aKey(account);
  const { key: reading } = await aKey(account, "read");
  const { key: foreign } = await aKey(await anAccount());
  const id = await register({ account });
  const unknown = { status: 404, code: "unknown_task" };
  const isOpen = { status: 409, code: "task_open" };
  expect(await refusal(await deleteOutputs(id, key))).toEqual(isOpen);
  expect(await refusal(await deleteOutput(id))).toEqual(isOpen);
  await report(aCompletion(id));
  const forbidden = { status: 403, code: "forbidden" };
  expect(await refusal(await deleteOutputs(id, reading))).toEqual(forbidden);
  expect(await refusal(await deleteOutputs(id, foreign))).toEqual(unknown);
  const path = `/v1/tasks/${id}/outputs/1`;
  expect((await call(path, { method: "DELETE", key })).status).toBe(204);
  expect((await deleteOutputs(id, key)).status).toBe(204);
  expect(await refusal(await deleteOutputs(crypto.randomUUID()))).toEqual(unknown);
});

it("the console's page of a task has a button that deletes its outputs, as long as there are any", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  await copy(id);
  const link = await linkOf(id);
  const cookie = await logIn();
  const page = async () => (await visit(`/tasks/${id}`, cookie)).text();
  expect(await page()).toContain(`action="/tasks/${id}/outputs"`);
  expect(outcome(await sendForm(`/tasks/${id}/outputs`, {}, cookie))).toEqual([
    303,
    `/tasks/${id}`,
  ]);
  await expectDeleted(await open(link));
  expect(await page()).not.toContain(`action="/tasks/${id}/outputs"`);
});
