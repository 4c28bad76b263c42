import { runInDurableObject } from "cloudflare:test";
import { beforeEach, expect, it, vi } from "vitest";
import { CALLED, LARGE_BODY } from "../../scripts/cost/calls.ts";
import { CallObject } from "../../src/objects/call/call-object.ts";
import { OutputObject } from "../../src/objects/output/output-object.ts";
import { QueueObject } from "../../src/objects/queue/queue-object.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { callWith } from "../worker/client.ts";
import { DAY_MS, pass, until, useClock } from "../worker/clock.ts";
import { stored, stubOf, untilIdle, wake } from "../worker/objects.ts";
import { answering } from "../worker/outside.ts";
import { register } from "../worker/tasks.ts";
import { aGateway, callLater, CALLING, makeCall } from "./called.ts";
import { bucket, copiesOf, copy, pathOfLink, storedCopies } from "./copied.ts";

useClock();
beforeEach(() => void vi.restoreAllMocks());

const IMAGES = "/v1/images/generations";
const MIB = 1024 * 1024;
const PNG = btoa(`\x89PNG\r\n\x1a\n\0\0\0\rIHDR${"p".repeat(2_000)}`);
const BINDINGS = { ...CALLING, LOG: "normal" };

interface Spied {
  readonly mock: { readonly calls: readonly (readonly unknown[])[] };
}

function callsOf(spies: readonly Spied[]): number {
  return spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
}

/** Counts the requests and alarms of objects from now on. */
function requests(): readonly Spied[] {
  const ofTask = ["apply", "startCall", "endCall", "endCopies", "placeOfOutput", "read"] as const;
  const ofCall = ["storeForm", "storeCall", "begin", "drop"] as const;
  return [
    ...ofTask.map((name) => vi.spyOn(TaskObject.prototype, name)),
    ...ofCall.map((name) => vi.spyOn(CallObject.prototype, name)),
    ...(["copy", "delete"] as const).map((name) => vi.spyOn(OutputObject.prototype, name)),
    // Without a limit of jobs in flight no queue is called.
    ...(["ask", "leave"] as const).map((name) => vi.spyOn(QueueObject.prototype, name)),
    vi.spyOn(TaskObject.prototype, "alarm"),
    vi.spyOn(CallObject.prototype, "alarm"),
    vi.spyOn(OutputObject.prototype, "alarm"),
  ];
}

/** Counts the rows that all objects write from now on: stored and deleted values, and alarms. */
function rows(id: string): Promise<readonly Spied[]> {
  return runInDurableObject<DurableObject, readonly Spied[]>(stubOf(id), (_, { storage }) => {
    const kv: SyncKvStorage = Object.getPrototypeOf(storage.kv);
    const all: DurableObjectStorage = Object.getPrototypeOf(storage);
    return [vi.spyOn(kv, "put"), vi.spyOn(kv, "delete"), vi.spyOn(all, "setAlarm")];
  });
}

/** Lets a call for an image live from its submission to the erasure of its task, and returns what it has used. */
async function lifeOf(prompt: string) {
  aGateway(answering({ created: 1_767_225_600, data: [{ b64_json: PNG }] }));
  const id = crypto.randomUUID();
  // The first task of a deployment writes a row for all.
  await register();
  const store: R2Bucket = Object.getPrototypeOf(bucket());
  const [requested, written] = [requests(), await rows(id)];
  const puts = vi.spyOn(store, "put");
  const reads = [vi.spyOn(store, "get"), vi.spyOn(store, "head")];
  const log = (["log", "warn", "error"] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation(() => undefined),
  );
  const body = { model: "gpt-image-1", prompt };
  const headers = { "Relay-Task-Id": id };
  expect((await callLater({ path: IMAGES, body, headers, bindings: BINDINGS })).status).toBe(202);
  await makeCall(id, BINDINGS);
  await until(async () => (await storedCopies(id)) !== undefined);
  await untilIdle(id);
  await copy(id);
  const answer = await callWith(BINDINGS, `/v1/tasks/${id}/answer`);
  expect(answer.status).toBe(200);
  const [link = ""] = JSON.stringify(await answer.json()).match(/https:[^"]+/) ?? [];
  const picture = await callWith(BINDINGS, pathOfLink(link), { key: null });
  expect([picture.status, (await picture.arrayBuffer()).byteLength]).toEqual([200, 2_016]);
  const ofBucket = { stored: callsOf([puts]), bucketReads: callsOf(reads) };
  pass(3 * DAY_MS);
  await copy(id);
  expect(await copiesOf(id)).toEqual([]);
  for (let left = await stored(id); left.record !== undefined; left = await stored(id)) {
    await wake(id, Math.max(0, (left.alarm ?? 0) - Date.now()));
  }
  const lines = log.flatMap(({ mock }) => mock.calls);
  return {
    ...ofBucket,
    objectRequests: callsOf(requested),
    rowsWritten: callsOf(written),
    logLines: lines.filter(([line]) => String(line).includes(id)).length,
  };
}

it("docs/cost.md states what a call whose client does not wait uses until its task is erased", async () => {
  const { workerRequests: _, ...counted } = CALLED;
  expect(await lifeOf("a fox")).toEqual(counted);
});

it("docs/cost.md states how many rows more a call writes whose body has 1 MiB or more", async () => {
  const { rowsWritten } = await lifeOf("x".repeat(3 * MIB));
  const { rowsOnce, rowsPerMib } = LARGE_BODY;
  expect(rowsWritten - CALLED.rowsWritten).toBe(rowsOnce + 3 * rowsPerMib);
});
