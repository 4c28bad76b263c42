import { expect, it } from "vitest";
import { call, callWith, refusal } from "../worker/client.ts";
import { realMs, useClock } from "../worker/clock.ts";
import { aCompletion, register, report } from "../worker/tasks.ts";
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

it("when the order to copy an output comes after the output was deleted, the output is not copied", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  expect((await deleteOutput(id)).status).toBe(204);
  const outputs = [{ number: 1, source: SOURCE }];
  const owner = { origin: "https://relay.example.com", connection: null, customerKey: null };
  const times = { recordedAt: Date.now(), expiresAt: Date.now() + 1e9 };
  await copierOf(id).copy({ taskId: id, ...times, ...owner, outputs });
  await copy(id);
  expect(await bucket().head(keyOf(id))).toBeNull();
});

it("in a relay without a bucket for copies, the link to an output that the operator has deleted answers 410 and passes nothing on any more", async () => {
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

it("only the operator, and no account, may delete an output, and only of a task that has ended", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const account = await anAccount();
  const { key } = await aKey(account);
  const id = await register({ account });
  expect(await refusal(await deleteOutput(id))).toEqual({ status: 409, code: "task_open" });
  await report(aCompletion(id));
  const path = `/v1/tasks/${id}/outputs/1`;
  const forbidden = { status: 403, code: "forbidden" };
  expect(await refusal(await call(path, { method: "DELETE", key }))).toEqual(forbidden);
  expect(await refusal(await deleteOutput(crypto.randomUUID()))).toEqual({
    status: 404,
    code: "unknown_task",
  });
});
