import { env } from "cloudflare:workers";
import { runDurableObjectAlarm } from "cloudflare:test";
import { expect, it } from "vitest";
import * as z from "zod";
import { call } from "../worker/client.ts";
import { DAY_MS, pass, until, useClock } from "../worker/clock.ts";
import { anOutside } from "../worker/outside.ts";
import { endCall, queued, startCall, type Submitted } from "../worker/submitted-tasks.ts";
import { erase, read } from "../worker/tasks.ts";
import { bucket, bytesOf, copiesOf, copierOf, keyOf, storedCopies } from "./copied.ts";
import { open } from "./linked.ts";

useClock();

const PNG = bytesOf(`\x89PNG\r\n\x1a\n${"p".repeat(100)}`);
const SKELETON = '{"data":[{"url":"relay-output:1"}]}';
const FILE = { bytes: PNG.length, mediaType: "image/png" };
const ANSWER = { number: 0, contentType: "application/json", bytes: SKELETON.length } as const;
const RESULT = {
  kind: "result",
  statusCode: 200,
  job: null,
  answer: null,
  news: {
    status: "completed",
    completedAt: null,
    urls: [],
    metadata: {},
    files: [FILE],
    storedAnswer: ANSWER,
  },
} as const;

/** Makes a call whose answer has a picture, which is in the bucket, and is not reported yet. */
async function answered(): Promise<Submitted> {
  const { on } = anOutside();
  on("https://client.example.net/", () => new Response());
  const task = await queued();
  await startCall(task);
  await bucket().put(keyOf(task.id, 0), SKELETON);
  await bucket().put(keyOf(task.id), PNG, { httpMetadata: { contentType: FILE.mediaType } });
  return task;
}

async function reported(): Promise<Submitted> {
  const task = await answered();
  expect(await endCall(task, RESULT)).toBe(true);
  await until(async () => (await storedCopies(task.id)) !== undefined);
  return task;
}

const Completed = z.looseObject({ output: z.object({ urls: z.tuple([z.string()]) }) });

/** Returns the relay's link to the only output of a task. */
async function linkOf(id: string): Promise<string> {
  return Completed.parse(await read(id)).output.urls[0];
}

it("a picture in the answer to a call is an output with a link of the relay as soon as the call has ended", async () => {
  const { id } = await reported();
  const kept = { kept: true, bytes: PNG.length, content_type: "image/png" };
  expect(await read(id)).toMatchObject({ status: "completed", outputs: [kept] });
  const link = await linkOf(id);
  expect(link).toMatch(/\.png$/);
  const response = await open(link);
  expect(response.headers.get("Content-Type")).toBe("image/png");
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(PNG);
});

it("the report of a result that is sent again is answered as the first one, so that nobody deletes its files", async () => {
  const task = await reported();
  expect(await endCall(task, RESULT)).toBe(true);
  expect(await endCall(task, { kind: "unknown", statusCode: null })).toBe(true);
});

it("a task that has failed before the report does not take the files of the answer", async () => {
  const task = await answered();
  expect(await endCall(task, { kind: "unknown", statusCode: 524 })).toBe(false);
  expect(await endCall(task, RESULT)).toBe(false);
});

it("the files and the answer of a call are deleted when their links expire", async () => {
  const { id } = await reported();
  pass(8 * DAY_MS);
  await runDurableObjectAlarm(copierOf(id));
  expect(await copiesOf(id)).toEqual([]);
});

it("the files and the answer of a call are deleted with their task", async () => {
  const { id } = await reported();
  await until(async () => (await erase(id)).status !== 409);
  expect(await copiesOf(id)).toEqual([]);
});

it("after DELETE of a file that was in an answer, its link answers 410, and the answer stays", async () => {
  const { id } = await reported();
  const link = await linkOf(id);
  expect((await call(`/v1/tasks/${id}/outputs/1`, { method: "DELETE" })).status).toBe(204);
  expect((await open(link)).status).toBe(410);
  expect((await copiesOf(id)).map(([key]) => key)).toEqual([keyOf(id, 0)]);
});

it("a file that was in an answer and that the bucket has lost is gone", async () => {
  const { id } = await reported();
  await env.OUTPUTS?.delete(keyOf(id));
  const response = await open(await linkOf(id));
  expect(response.status).toBe(410);
  expect(await response.json()).toMatchObject({ code: "output_gone", reason: "not_stored" });
});
