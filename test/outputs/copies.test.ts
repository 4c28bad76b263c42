import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import type { CopyOrder } from "../../src/core/duties/copy-order.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import type { OutputObject } from "../../src/objects/output/output-object.ts";
import { call, ORIGIN } from "../worker/client.ts";
import { DAY_MS, pass, realMs, START, START_S, until, useClock } from "../worker/clock.ts";
import { evict, restart, stubOf, wake } from "../worker/objects.ts";
import { answering, type Site } from "../worker/outside.ts";
import { erase, report } from "../worker/tasks.ts";
import {
  anUpstream,
  bucket,
  bytesOf,
  completedWith,
  copiesOf,
  copierOf,
  copy,
  keyOf,
  readCopied,
  sending,
  SOURCE,
  storedCopies,
  streaming,
  VIDEO_BYTES,
} from "./copied.ts";

useClock();

const MIB = 1024 * 1024;
const EXPIRES_AT = START_S + (3 * DAY_MS) / 1000;

/** Returns bytes that differ in every part, behind the first bytes of a WebM. */
function longVideo(length: number): Uint8Array<ArrayBuffer> {
  const bytes = Uint8Array.from({ length }, (_, index) => (index / 65_536) % 251);
  bytes.set(bytesOf("\x1a\x45\xdf\xa3\x42\x82\x84webm"));
  return bytes;
}

/** Adds to a stream that never ends. */
function addMore(controller: ReadableStreamDefaultController<Uint8Array>): void {
  controller.enqueue(new Uint8Array(MIB));
}

/** Cuts bytes in pieces of odd length. */
function pieces(bytes: Uint8Array): readonly Uint8Array[] {
  const length = 700_001;
  const count = Math.ceil(bytes.length / length);
  return Array.from({ length: count }, (_, i) => bytes.subarray(i * length, (i + 1) * length));
}

/** Returns the order to copy the only output of a task. */
function anOrder(taskId: string): CopyOrder {
  const life = { recordedAt: START, expiresAt: EXPIRES_AT * 1000 };
  const owner = { account: null, origin: ORIGIN, connection: null, customerKey: null };
  return { taskId, ...life, ...owner, outputs: [{ number: 1, source: SOURCE }], deleted: [] };
}

async function storedBytes(id: string): Promise<Uint8Array> {
  const object = await bucket().get(keyOf(id));
  return new Uint8Array((await object?.arrayBuffer()) ?? new ArrayBuffer(0));
}

it("an output is copied once its task has completed, and GET /v1/tasks/{id} then shows the size and type of the copy and until when it stays", async () => {
  const { sentTo } = anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  const before = await readCopied(id);
  expect(before.outputs).toEqual([{ kept: false, expires_at: EXPIRES_AT }]);
  expect(before.output.urls[0]).toMatch(
    new RegExp(
      `^https://relay\\.example\\.com/outputs/${id}/1/${EXPIRES_AT}_\\d+_[\\w-]{43}\\.mp4$`,
    ),
  );
  expect(before.source_urls).toEqual([SOURCE]);
  expect(await copiesOf(id)).toEqual([]);
  await copy(id);
  const length = VIDEO_BYTES.length;
  const kept = { kept: true, bytes: length, content_type: "video/mp4", expires_at: EXPIRES_AT };
  expect((await readCopied(id)).outputs).toEqual([kept]);
  expect(await copiesOf(id)).toEqual([[keyOf(id), length]]);
  expect(await storedBytes(id)).toEqual(VIDEO_BYTES);
  expect((await bucket().head(keyOf(id)))?.httpMetadata).toEqual({ contentType: "video/mp4" });
  const [sent] = sentTo(SOURCE);
  expect(sent).toMatchObject({ redirect: "manual", headers: { "accept-encoding": "identity" } });
  expect(Object.keys(sent?.headers ?? {})).not.toContain("authorization");
});

it.each([
  ["a few bytes in one piece", [bytesOf("fLaC")], "audio/flac"],
  ["its first bytes one by one", pieces(bytesOf("GIF89a")), "image/gif"],
])(
  "an output that the upstream sends without a length, with %s, is copied with the media type that its first bytes show",
  async (_, chunks, type) => {
    anUpstream(streaming(...chunks));
    const id = await completedWith([SOURCE]);
    await copy(id);
    expect((await readCopied(id)).outputs[0]).toMatchObject({ kept: true, content_type: type });
  },
);

it.each([
  ["8 MiB, the size of a part, less one byte", 8 * MIB - 1],
  ["exactly 8 MiB, the size of a part", 8 * MIB],
  ["8 MiB, the size of a part, and one byte", 8 * MIB + 1],
  ["two parts of 8 MiB and a rest", 17 * MIB + 5],
])(
  "an output of %s, which the upstream sends without a length, is stored byte for byte",
  async (_, length) => {
    const bytes = longVideo(length);
    anUpstream(streaming(...pieces(bytes)));
    const id = await completedWith([SOURCE]);
    await copy(id);
    expect((await readCopied(id)).outputs[0]).toMatchObject({
      kept: true,
      bytes: length,
      content_type: "video/webm",
    });
    const stored = await storedBytes(id);
    expect(stored.length).toBe(length);
    expect(Buffer.compare(stored, bytes)).toBe(0);
  },
);

it("an output is stored whole when the upstream's answer is compressed and its Content-Length is the number of compressed bytes", async () => {
  anUpstream(sending(VIDEO_BYTES, { "Content-Encoding": "gzip", "Content-Length": "10" }));
  const id = await completedWith([SOURCE]);
  await copy(id);
  expect(await storedBytes(id)).toEqual(VIDEO_BYTES);
});

it("HTML that an upstream sends as a video is stored under a type that browsers do not show", async () => {
  const page = bytesOf("<!doctype html><script>alert(1)</script>");
  anUpstream(sending(page, { "Content-Type": "video/mp4" }));
  const id = await completedWith([SOURCE]);
  await copy(id);
  expect((await readCopied(id)).outputs[0]).toMatchObject({
    kept: true,
    content_type: "application/octet-stream",
  });
  expect((await bucket().head(keyOf(id)))?.httpMetadata).toEqual({
    contentType: "application/octet-stream",
  });
});

it.each([
  [301, "https://media.example.net/a.mp4"],
  [302, "https://media.example.net/a.mp4"],
  [307, "//media.example.net/a.mp4"],
  [308, "https://media.example.net/a.mp4"],
])(
  "an output whose link answers with a redirect %i to %s is copied from where the redirect leads",
  async (status, location) => {
    const { on, sentTo } = anUpstream(answering(null, status, { Location: location }));
    on("https://media.example.net/", sending(VIDEO_BYTES));
    const id = await completedWith([SOURCE]);
    await copy(id);
    expect((await readCopied(id)).outputs[0]).toMatchObject({ kept: true });
    expect(sentTo("https://media.example.net/")).toHaveLength(1);
  },
);

it.each([
  ["this machine", "http://127.0.0.1:8080/"],
  ["this machine, by https", "https://localhost/"],
  ["a private network", "https://10.0.0.1/"],
  ["the metadata of a cloud", "http://169.254.169.254/latest/meta-data/"],
  ["a host without encryption", "http://media.example.net/a.mp4"],
  ["the relay", "https://relay.example.com/v1/tasks"],
  ["another scheme", "file:///etc/passwd"],
])(
  "an output whose link redirects to %s is not copied, and the relay sends no request there",
  async (_, location) => {
    const { on, sentTo } = anUpstream(answering(null, 302, { Location: location }));
    on("http", sending(VIDEO_BYTES));
    on("https://client.example.net/", () => new Response());
    on(SOURCE, answering(null, 302, { Location: location }));
    const id = await completedWith([SOURCE]);
    await copy(id);
    expect((await readCopied(id)).outputs).toEqual([
      { kept: false, reason: "blocked", expires_at: EXPIRES_AT },
    ]);
    expect(await copiesOf(id)).toEqual([]);
    expect(sentTo(location)).toEqual([]);
  },
);

it("an output whose link redirects again and again is requested at most six times at each try to copy it", async () => {
  const { sentTo } = anUpstream(answering(null, 302, { Location: SOURCE }));
  const id = await completedWith([SOURCE]);
  await copy(id);
  expect(sentTo(SOURCE)).toHaveLength(6);
  expect((await readCopied(id)).outputs[0]).toEqual({ kept: false, expires_at: EXPIRES_AT });
});

it.each([
  [
    "states a length above MAX_OUTPUT_MB",
    sending(new Uint8Array(10), { "Content-Length": "20971521" }),
  ],
  [
    "sends more than MAX_OUTPUT_MB without a length",
    streaming(...Array.from({ length: 22 }, () => new Uint8Array(MIB))),
  ],
])(
  "when the upstream of an output %s, the relay gives up copying the output at once and leaves nothing in the bucket",
  async (_, site) => {
    anUpstream(site);
    const id = await completedWith([SOURCE]);
    await copy(id);
    expect((await readCopied(id)).outputs[0]).toMatchObject({ kept: false, reason: "too_large" });
    expect(await copiesOf(id)).toEqual([]);
  },
);

it("the relay gives up copying an output that never ends when MAX_OUTPUT_MB is reached", async () => {
  anUpstream(() => new Response(new ReadableStream({ pull: addMore })));
  const id = await completedWith([SOURCE]);
  await copy(id);
  expect((await readCopied(id)).outputs[0]).toMatchObject({ reason: "too_large" });
  expect(await copiesOf(id)).toEqual([]);
});

it.each([
  ["answers 404", "refused", answering(null, 404)],
  ["answers 500", "refused", answering(null, 500)],
  ["answers 202", "unreachable", answering({ status: "processing" }, 202)],
  ["answers 203", "unreachable", answering(null, 203)],
  ["answers a part that was not asked for", "unreachable", answering(null, 206)],
  ["does not answer", "unreachable", () => Promise.reject(new Error("lost"))],
  ["sends no bytes", "empty", sending(new Uint8Array())],
  ["sends no bytes and no length", "empty", streaming()],
  [
    "sends fewer bytes than it states",
    "unreachable",
    sending(VIDEO_BYTES, { "Content-Length": "5000" }),
  ],
  [
    "sends more bytes than it states",
    "unreachable",
    sending(VIDEO_BYTES, { "Content-Length": "500" }),
  ],
  ["breaks off", "unreachable", () => new Response(brokenStream(VIDEO_BYTES))],
  [
    "breaks off behind the first part",
    "unreachable",
    () => new Response(brokenStream(...pieces(longVideo(9 * MIB)))),
  ],
] as const)(
  "when the upstream of an output %s, the relay tries to copy the output again until the upstream's link expires, and then gives up with the reason %s",
  async (_, reason, site) => {
    const { sentTo } = anUpstream(site);
    const id = await completedWith([SOURCE]);
    await copy(id);
    expect((await readCopied(id)).outputs[0]).toEqual({ kept: false, expires_at: EXPIRES_AT });
    expect(await copiesOf(id)).toEqual([]);
    pass(9_000);
    await copy(id);
    expect(sentTo(SOURCE)).toHaveLength(1);
    pass(4_000);
    await copy(id);
    expect(sentTo(SOURCE)).toHaveLength(2);
    pass(DAY_MS);
    await copy(id);
    expect((await readCopied(id)).outputs[0]).toMatchObject({ kept: false, reason });
    expect(await copiesOf(id)).toEqual([]);
    pass(DAY_MS);
    await copy(id);
    expect(sentTo(SOURCE)).toHaveLength(3);
  },
);

/** Returns a stream that breaks off behind these pieces. */
function brokenStream(...chunks: readonly Uint8Array[]): ReadableStream {
  const rest = [...chunks];
  return new ReadableStream({
    pull: (controller) => {
      const next = rest.shift();
      if (next === undefined) controller.error(new Error("broken"));
      else controller.enqueue(next);
    },
  });
}

it("an output whose first tries to be copied fail is copied by a later try", async () => {
  const { on } = anUpstream(answering(null, 503));
  const id = await completedWith([SOURCE]);
  await copy(id);
  on(SOURCE, sending(VIDEO_BYTES));
  pass(15_000);
  await copy(id);
  expect((await readCopied(id)).outputs[0]).toMatchObject({ kept: true });
});

it("when the bucket refuses an output without reading it, the try to copy it ends at once, and a later try copies it", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const store: R2Bucket = Object.getPrototypeOf(bucket());
  vi.spyOn(store, "put").mockRejectedValueOnce(new Error("the bucket is away"));
  const id = await completedWith([SOURCE]);
  await copy(id);
  expect(await copiesOf(id)).toEqual([]);
  pass(15_000);
  await copy(id);
  expect((await readCopied(id)).outputs[0]).toMatchObject({ kept: true });
});

/** Returns an answer that sends a piece and then waits until the request is ended. */
function stopping(headers: Record<string, string> = {}): Site {
  return (_, signal) => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    writer.write(VIDEO_BYTES).catch(() => undefined);
    signal.addEventListener("abort", () => void writer.abort().catch(() => undefined));
    return new Response(readable, { headers });
  };
}

it("the relay gives up a try to copy an output when the upstream has sent no byte for 30 seconds", async () => {
  const { on } = anUpstream(stopping());
  const id = await completedWith([SOURCE]);
  const copied = copy(id);
  await realMs(50);
  on(SOURCE, answering(null, 503));
  pass(31_000);
  await copied;
  expect(await copiesOf(id)).toEqual([]);
  expect((await readCopied(id)).outputs[0]).toEqual({ kept: false, expires_at: EXPIRES_AT });
});

it("the relay gives up a try to copy an output after 12 minutes even if bytes still come, because the platform ends an alarm after 15", async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const send = async () => {
    await writer.write(new Uint8Array(MIB));
    await realMs(50);
  };
  const { on } = anUpstream(() => new Response(readable));
  const id = await completedWith([SOURCE]);
  const copied = copy(id);
  await send();
  on(SOURCE, answering(null, 503));
  pass(12 * 60_000);
  await send();
  await copied;
  expect(await copiesOf(id)).toEqual([]);
  expect((await readCopied(id)).outputs[0]).toEqual({ kept: false, expires_at: EXPIRES_AT });
});

it("when a task's result is reported again, or the copying of its output ordered again, no second copy is made", async () => {
  const { sentTo } = anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  await copy(id);
  const again = await report({ id, status: "completed", output: { urls: [SOURCE] } });
  expect(again.status).toBe(200);
  await copierOf(id).copy(anOrder(id));
  await copy(id);
  expect(sentTo(SOURCE)).toHaveLength(1);
  expect(await copiesOf(id)).toHaveLength(1);
});

it("each output of a task has a copy of its own, and an output that cannot be copied does not affect the copies of the others", async () => {
  const { on } = anUpstream(sending(VIDEO_BYTES));
  const second = "https://cdn.example.net/second.png";
  on(second, answering(null, 302, { Location: "https://127.0.0.1/" }));
  const id = await completedWith([SOURCE, "http://cdn.example.net/plain.png", second, SOURCE]);
  await copy(id);
  const { outputs, source_urls, output } = await readCopied(id);
  expect(outputs.map(({ kept, reason }) => reason ?? kept)).toEqual([
    true,
    "own_link",
    "blocked",
    true,
  ]);
  expect(source_urls[1]).toBe(output.urls[1]);
  expect((await copiesOf(id)).map(([key]) => key)).toEqual([keyOf(id, 1), keyOf(id, 4)]);
});

it("when a task is erased, the copies of its outputs are deleted, and an order to copy these that arrives later makes no copy", async () => {
  const { sentTo } = anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  await copy(id);
  expect(await copiesOf(id)).toHaveLength(1);
  expect((await erase(id)).status).toBe(204);
  expect(await copiesOf(id)).toEqual([]);
  expect((await call(`/v1/tasks/${id}`)).status).toBe(404);
  await copierOf(id).copy(anOrder(id));
  await copy(id);
  expect(sentTo(SOURCE)).toHaveLength(1);
  expect(await copiesOf(id)).toEqual([]);
  pass(2 * DAY_MS);
  await copy(id);
  expect(await storedCopies(id)).toBeUndefined();
});

it("when the task whose outputs were copied turns out to exist no longer, the copies are deleted", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  await runInDurableObject(stubOf(id), (_, { storage }) => storage.deleteAll());
  await evict(id);
  await copy(id);
  expect(await copiesOf(id)).toEqual([]);
});

it("when a task is erased while its output is being copied, the copying stops before the erasure, and nothing is left in the bucket", async () => {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  let isAborted = false;
  anUpstream((_, signal) => {
    signal.addEventListener("abort", () => {
      isAborted = true;
    });
    ask();
    const rest = pieces(longVideo(12 * MIB));
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    const send = async () => {
      for (const piece of rest) await writer.write(piece);
      // Never ends.
    };
    send().catch(() => undefined);
    signal.addEventListener("abort", () => void writer.abort().catch(() => undefined));
    return new Response(readable);
  });
  const id = await completedWith([SOURCE]);
  const copied = copy(id);
  await asked;
  await realMs(50);
  expect((await erase(id)).status).toBe(204);
  await copied;
  expect(isAborted).toBe(true);
  expect(await copiesOf(id)).toEqual([]);
});

it("when the relay's links to the copies of a task's outputs expire, the copies are deleted, and the Durable Object that made them stores nothing any more", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  await copy(id);
  const alarm = await runInDurableObject(copierOf(id), (_, { storage }) => storage.getAlarm());
  expect(alarm).toBe(EXPIRES_AT * 1000);
  pass(3 * DAY_MS);
  await copy(id);
  expect(await copiesOf(id)).toEqual([]);
  expect(await storedCopies(id)).toBeUndefined();
  expect((await call(`/v1/tasks/${id}`)).status).toBe(200);
});

it("the next try to copy an output aborts the multipart upload of an interrupted try", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  const upload = await bucket().createMultipartUpload(keyOf(id));
  await upload.uploadPart(1, new Uint8Array(5 * MIB));
  await runInDurableObject(copierOf(id), (_, { storage }) => {
    const copies = storage.kv.get<{ list: { state: object }[] }>("copies");
    if (copies === undefined) throw new Error("no copies");
    const { uploadId } = upload;
    const list = copies.list.map((one) => ({ ...one, state: { ...one.state, uploadId } }));
    storage.kv.put("copies", { ...copies, list });
  });
  await copy(id);
  expect((await readCopied(id)).outputs[0]).toMatchObject({ kept: true });
  await expect(upload.uploadPart(2, new Uint8Array(5 * MIB))).rejects.toThrow();
});

it.each([
  ["the erasure of a task", (copier: OutputObject, id: string) => copier.delete(anOrder(id))],
  [
    "the deletion of an output",
    (copier: OutputObject, id: string) => copier.copy({ ...anOrder(id), deleted: [1] }),
  ],
])(
  "when a crash interrupts %s while its copy is uploaded in parts, the repetition aborts the upload that the crash has left",
  async (_, act) => {
    const repeat = (taskId: string) =>
      runInDurableObject(copierOf(taskId), (copier: OutputObject) =>
        act(copier, taskId).then(
          () => "done",
          () => "failed",
        ),
      );
    anUpstream(sending(VIDEO_BYTES));
    const id = await completedWith([SOURCE]);
    const upload = await bucket().createMultipartUpload(keyOf(id));
    await upload.uploadPart(1, new Uint8Array(5 * MIB));
    await runInDurableObject(copierOf(id), (_instance, { storage }) => {
      const copies = storage.kv.get<{ list: { state: object }[] }>("copies");
      if (copies === undefined) throw new Error("no copies");
      const { uploadId } = upload;
      const list = copies.list.map((one) => ({ ...one, state: { ...one.state, uploadId } }));
      storage.kv.put("copies", { ...copies, list });
    });
    const probe = await bucket().createMultipartUpload("outputs/probe");
    const uploads: R2MultipartUpload = Object.getPrototypeOf(probe);
    const abort = vi
      .spyOn(uploads, "abort")
      .mockRejectedValueOnce(new Error("the object was reset"));
    const remove = vi
      .spyOn(Object.getPrototypeOf(bucket()), "delete")
      .mockRejectedValueOnce(new Error("the object was reset"));
    expect(await repeat(id)).toBe("failed");
    expect(await repeat(id)).toBe("done");
    expect([abort.mock.calls.length, remove.mock.calls.length]).toEqual([2, 2]);
    await expect(upload.uploadPart(2, new Uint8Array(5 * MIB))).rejects.toThrow();
    await repeat(id);
    expect(abort).toHaveBeenCalledTimes(2);
  },
);

it("the report to a task that its outputs are copied is repeated until the task's Durable Object accepts it", async () => {
  anUpstream(sending(VIDEO_BYTES));
  const id = await completedWith([SOURCE]);
  const failing = vi.spyOn(TaskObject.prototype, "endCopies").mockImplementation(() => {
    throw new Error("reset");
  });
  await copy(id);
  expect((await readCopied(id)).outputs[0]).toEqual({ kept: false, expires_at: EXPIRES_AT });
  failing.mockRestore();
  pass(5_001);
  await copy(id);
  expect((await readCopied(id)).outputs[0]).toMatchObject({ kept: true });
});

it("the id of a multipart upload is stored before its first part is sent, so that the next try to copy can abort an upload that a failing bucket has left", async () => {
  const { on } = anUpstream(streaming(...pieces(longVideo(9 * MIB))));
  const id = await completedWith([SOURCE]);
  const probe = await bucket().createMultipartUpload("outputs/probe");
  await probe.abort();
  const uploads: R2MultipartUpload = Object.getPrototypeOf(probe);
  const storage = await runInDurableObject(copierOf(id), (_, state) => state.storage);
  const known: unknown[] = [];
  const upload = vi.spyOn(uploads, "uploadPart").mockImplementation(async () => {
    known.push(JSON.stringify(storage.kv.get("copies")));
    throw new Error("R2 is down");
  });
  const abort = vi.spyOn(uploads, "abort").mockRejectedValue(new Error("R2 is down"));
  await copy(id);
  expect(known).toEqual([expect.stringMatching(/"uploadId":"[^"]+"/)]);
  upload.mockRestore();
  abort.mockRestore();
  on(SOURCE, sending(VIDEO_BYTES));
  const aborted = vi.spyOn(uploads, "abort");
  pass(15_000);
  await copy(id);
  expect(aborted).toHaveBeenCalledOnce();
  expect((await readCopied(id)).outputs[0]).toMatchObject({ kept: true });
});

it("while memory lacks for an output of unknown length, the request to its upstream is ended, the try does not count, and the next one does not ask the upstream; outputs of stated length are copied meanwhile, and it is copied within 5 seconds after others have ended", async () => {
  const { on, sentTo } = anUpstream(stopping());
  const stated = "https://slow.example.net/stated.mp4";
  on(stated, stopping({ "Content-Length": "100000" }));
  const ids = await Promise.all([SOURCE, SOURCE, stated].map((url) => completedWith([url])));
  const copied = ids.map(copy);
  await until(() => sentTo(SOURCE).length === 2 && sentTo(stated).length === 1);
  const third = "https://cdn.example.net/third.mp4";
  let isAborted = false;
  on(third, (sent, signal) => {
    signal.addEventListener("abort", () => {
      isAborted = true;
    });
    return stopping()(sent, signal);
  });
  const waiting = await completedWith([third]);
  await copy(waiting);
  expect([sentTo(third).length, isAborted]).toEqual([1, true]);
  const alarm = await runInDurableObject(copierOf(waiting), (_, { storage }) => storage.getAlarm());
  expect(alarm).toBeGreaterThan(START);
  expect(alarm).toBeLessThanOrEqual(START + 5_001);
  expect(await storedCopies(waiting)).toMatchObject({ list: [{ state: { tries: 0 } }] });
  await copy(waiting);
  expect(sentTo(third)).toHaveLength(1);
  const quick = "https://cdn.example.net/quick.mp4";
  on(quick, sending(VIDEO_BYTES));
  const other = await completedWith([quick]);
  await copy(other);
  expect((await readCopied(other)).outputs[0]).toMatchObject({ kept: true });
  for (const id of ids) await erase(id);
  await Promise.all(copied);
  on(third, streaming(VIDEO_BYTES));
  pass(5_001);
  await copy(waiting);
  expect((await readCopied(waiting)).outputs[0]).toMatchObject({ kept: true });
});

it("an alarm of the object that copies outputs is repeated after a minute when its work fails, and after longer waits while it goes on failing, and an isolate logs one line a minute about all such alarms", async () => {
  const lines = vi.spyOn(console, "error").mockImplementation(() => undefined);
  anUpstream(sending(VIDEO_BYTES));
  const ids = [await completedWith([SOURCE]), await completedWith([SOURCE])];
  for (const id of ids) await copy(id);
  pass(7 * DAY_MS);
  const remove = vi
    .spyOn(Object.getPrototypeOf(bucket()), "delete")
    .mockRejectedValue(new Error("R2 is down"));
  const waitsMs: number[] = [];
  for (let failures = 0; failures < 8; failures += 1) {
    for (const id of ids) await copy(id);
    const alarm = await runInDurableObject(copierOf(ids[0] ?? ""), (_, { storage }) =>
      storage.getAlarm(),
    );
    const waitMs = (alarm ?? 0) - Date.now();
    waitsMs.push(waitMs);
    pass(waitMs);
  }
  expect(waitsMs[0]).toBe(60_000);
  expect(waitsMs.at(-1)).toBeGreaterThan(75_000);
  expect(Math.max(...waitsMs)).toBeLessThanOrEqual(30 * 60_000);
  const failed = lines.mock.calls.filter((line) => String(line).includes("outputs.failed"));
  expect(failed).toHaveLength(waitsMs.length);
  remove.mockRestore();
  pass(60 * 60_000);
  for (const id of ids) await copy(id);
  expect(await copiesOf(ids[0] ?? "")).toEqual([]);
});

it("when the relay has given up copying an output, the operator is sent the event output.lost with the task, the output's number and the reason", async () => {
  const url = "https://operator.example.net/events";
  const { on, sentTo } = anUpstream(sending(VIDEO_BYTES, { "Content-Length": "20971521" }));
  on(url, () => new Response());
  const id = await completedWith([SOURCE]);
  await restart(id, { ...env, OPERATOR_CALLBACK_URL: url });
  await copy(id);
  await wake(id, 5_000);
  await until(() => sentTo(url).length > 0);
  const [event] = sentTo(url).map(({ body }) => JSON.parse(body));
  const outputs = [{ number: 1, reason: "too_large" }];
  expect(event).toMatchObject({ type: "output.lost", data: { task: { id }, outputs } });
});

it("the log line about an output that the relay has given up copying does not contain the output's link", async () => {
  const lines = vi.spyOn(console, "warn");
  anUpstream(answering(null, 302, { Location: "https://127.0.0.1/" }));
  const id = await completedWith([`${SOURCE}?signature=secret`]);
  await copy(id);
  await until(() => lines.mock.calls.flat().some((line) => String(line).includes("output.copy")));
  const text = JSON.stringify(lines.mock.calls);
  expect(text).not.toContain("signature");
});

it("METRICS gets a data point for each try to copy an output: its outcome, the host, the number of the try, its duration and the bytes", async () => {
  const { on } = anUpstream(answering("", 503));
  const id = await completedWith([SOURCE]);
  const points: unknown[] = [];
  await runInDurableObject(copierOf(id), (instance) => {
    const bindings = Object.create(Reflect.get(instance, "env"), {
      METRICS: { value: { writeDataPoint: (point: unknown) => points.push(point) } },
    });
    Object.defineProperty(instance, "env", { value: bindings });
  });
  await copy(id);
  on(SOURCE, sending(VIDEO_BYTES));
  pass(60_000);
  await copy(id);
  const host = "cdn.example.net";
  expect(points).toEqual([
    { indexes: [""], blobs: ["refused", host, "", "copy"], doubles: [1, 0, 0] },
    { indexes: [""], blobs: ["kept", host, "", "copy"], doubles: [2, 0, VIDEO_BYTES.length] },
  ]);
});
