import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, expect, it, vi } from "vitest";
import { withAccount } from "../../scripts/cost/lives.ts";
import {
  CALLS_PER_READ,
  COPYING,
  DELETION,
  outputMeters,
  writesOf,
} from "../../scripts/cost/outputs.ts";
import { OutputObject } from "../../src/objects/output/output-object.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { answerTo, call } from "../worker/client.ts";
import { DAY_MS, pass, until, useClock } from "../worker/clock.ts";
import { stored, stubOf, untilIdle, wake } from "../worker/objects.ts";
import type { Site } from "../worker/outside.ts";
import { finish, register } from "../worker/tasks.ts";
import {
  anUpstream,
  bucket,
  completedWith,
  copierOf,
  copiesOf,
  copy,
  readCopied,
  sending,
  SOURCE,
  storedCopies,
  streaming,
  VIDEO_BYTES,
} from "./copied.ts";

useClock();
beforeEach(() => void vi.restoreAllMocks());

const MIB = 1024 * 1024;
const TEN_MIB = Array.from({ length: 10 }, () => new Uint8Array(MIB));

const ONE = {
  outputs: 1,
  outputMb: 1,
  outputDays: 3,
  outputReads: 0,
  isChunked: false,
  copyMbPerSecond: 10,
};

type Spied = ReturnType<typeof vi.spyOn>;

function callsOf(spies: readonly Spied[]): number {
  return spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
}

/** Counts the rows that an object writes from now on: stored values and alarms. */
function rowsOf(stub: ReturnType<typeof copierOf> | ReturnType<typeof stubOf>) {
  return runInDurableObject<DurableObject, readonly Spied[]>(stub, (_, { storage }) => [
    vi.spyOn(storage.kv, "put"),
    vi.spyOn(storage, "setAlarm"),
  ]);
}

/** Lets a task with these outputs live until it is erased, and returns what their copies used. */
async function lifeOf(site: Site, count: number) {
  anUpstream(site);
  const id = await register();
  const requests = [
    ...(["copy", "alarm", "delete"] as const).map((name) => vi.spyOn(OutputObject.prototype, name)),
    vi.spyOn(TaskObject.prototype, "endCopies"),
  ];
  const copierRows = await rowsOf(copierOf(id));
  const urls = Array.from({ length: count }, (_, i) => `${SOURCE}?${i}`);
  const result = { id, status: "completed", output: { urls } };
  await finish(result);
  await until(async () => (await storedCopies(id)) !== undefined);
  await untilIdle(id);
  const taskRows = await rowsOf(stubOf(id));
  await copy(id);
  expect(await copiesOf(id)).toHaveLength(count);
  const reported = callsOf(taskRows);
  pass(3 * DAY_MS);
  await copy(id);
  expect(await copiesOf(id)).toEqual([]);
  while ((await stored(id)).record !== undefined) await wake(id, DAY_MS);
  return { objectRequests: callsOf(requests), rowsWritten: callsOf(copierRows) + reported };
}

it.each([1, 3])(
  "docs/cost.md and `npm run cost` state how many requests and rows it takes to copy %i outputs of a task, to report this and to delete the copies",
  async (count) => {
    expect(await lifeOf(sending(VIDEO_BYTES), count)).toEqual({
      objectRequests: COPYING.task.objectRequests,
      rowsWritten: COPYING.task.rowsWritten + count * COPYING.output.rowsWritten,
    });
  },
);

it("docs/cost.md and `npm run cost` state that copying an output in parts writes one row more than copying it at once", async () => {
  const { rowsWritten } = await lifeOf(streaming(...TEN_MIB), 1);
  const { task, output, chunkedOutput } = COPYING;
  expect(rowsWritten).toBe(task.rowsWritten + output.rowsWritten + chunkedOutput.rowsWritten);
});

it("docs/cost.md states how many requests and rows the deletion of a task's outputs takes", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  await copy(id);
  await untilIdle(id);
  const calls = [
    vi.spyOn(OutputObject.prototype, "copy"),
    vi.spyOn(TaskObject.prototype, "deleteOutputs"),
  ];
  const rows = [...(await rowsOf(copierOf(id))), ...(await rowsOf(stubOf(id)))];
  const path = `/v1/tasks/${id}/outputs`;
  expect((await call(path, { method: "DELETE" })).status).toBe(204);
  await untilIdle(id);
  const { objectRequests, rowsWritten, d1Written } = DELETION;
  const ofIndex = COPYING.indexed.rowsWritten;
  const newRow = withAccount({ ...outputMeters(ONE), d1Written: 1 });
  expect([callsOf(calls), callsOf(rows) + ofIndex, d1Written]).toEqual([
    objectRequests,
    rowsWritten,
    newRow.d1Written,
  ]);
});

/** Counts the calls of the bucket that are billed as Class A. */
async function bucketWrites() {
  const upload = await bucket().createMultipartUpload("outputs/probe");
  await upload.abort();
  const store: R2Bucket = Object.getPrototypeOf(bucket());
  const parts: R2MultipartUpload = Object.getPrototypeOf(upload);
  return [
    vi.spyOn(store, "put"),
    vi.spyOn(store, "createMultipartUpload"),
    vi.spyOn(parts, "uploadPart"),
    vi.spyOn(parts, "complete"),
  ];
}

it.each([
  [
    "a stated length",
    sending(VIDEO_BYTES),
    { outputMb: VIDEO_BYTES.length / 1e6, isChunked: false },
  ],
  [
    "no stated length and 10 MB",
    streaming(...TEN_MIB),
    { outputMb: 10 * (MIB / 1e6), isChunked: true },
  ],
])(
  "docs/cost.md and `npm run cost` state how many calls to the bucket it takes to store an output with %s, and to answer a request for a part of it",
  async (_, site, size) => {
    anUpstream(site);
    const id = await register();
    const result = { id, status: "completed", output: { urls: [SOURCE] } };
    await finish(result);
    await until(async () => (await storedCopies(id)) !== undefined);
    const writes = await bucketWrites();
    await copy(id);
    expect(callsOf(writes)).toBe(writesOf(size));

    const store: R2Bucket = Object.getPrototypeOf(bucket());
    const reads = [vi.spyOn(store, "head"), vi.spyOn(store, "get")];
    const [link = ""] = (await readCopied(id)).output.urls;
    const request = new Request(link, { headers: { Range: "bytes=1-2" } });
    expect((await answerTo(request, env)).status).toBe(206);
    expect(callsOf(reads)).toBe(CALLS_PER_READ);
  },
);
