import { beforeEach, expect, it, vi } from "vitest";
import { storeAnswer } from "../../src/objects/call/store-answer.ts";
import { bytesOf, sha256Hex, toBase64 } from "../../src/security/encoding.ts";
import {
  FILE,
  OPENAI_IMAGES,
  PCM,
  piecesOf,
  PNG,
  REAL_ANSWERS,
  REAL_STREAMS,
  replaced,
} from "../core/answers.ts";
import { bucket } from "./copied.ts";
import { imageBytes, largeImages } from "./large-images.ts";

const MIB = 1024 * 1024;
const PNG_TEXT = toBase64(PNG);
const MPEG = bytesOf("ID3", "m".repeat(100));

beforeEach(() => void vi.restoreAllMocks());

type Target = Parameters<typeof storeAnswer>[2];

/** Returns an answer that arrives over the network in these pieces, and then breaks off if it is broken. */
function arriving(pieces: Iterable<Uint8Array>, isBroken = false): ReadableStream<Uint8Array> {
  const rest = pieces[Symbol.iterator]();
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const { done, value } = rest.next();
      if (done !== true) controller.enqueue(value);
      else if (isBroken) controller.error(new Error("broken off"));
      else controller.close();
    },
  });
  return stream.pipeThrough(new IdentityTransformStream());
}

/** Stores an answer under keys of its own, and returns the result, and the files that are in the bucket afterwards. */
async function store(
  body: string | Uint8Array | ReadableStream<Uint8Array>,
  contentType = "application/json",
  changes: Partial<Target> = {},
) {
  const prefix = `answers/${crypto.randomUUID()}/`;
  const uploads: [number, string][] = [];
  const stream = body instanceof ReadableStream ? body : arriving(piecesOf(bytesOf(body), 100_000));
  const answer = await storeAnswer(stream, contentType, {
    bucket: bucket(),
    caller: null,
    token: "t0",
    keyOf: (number) => prefix + number,
    maxFileBytes: 50 * MIB,
    onUpload: (...upload) => uploads.push(upload),
    onProgress: () => undefined,
    signal: new AbortController().signal,
    ...changes,
  });
  const { objects } = await bucket().list({ prefix, include: ["httpMetadata"] });
  const stored = objects.map(({ key, size, httpMetadata }) => {
    return [key.slice(prefix.length), size, httpMetadata?.contentType];
  });
  const bytes = async (number: number) => {
    const object = await bucket().get(prefix + number);
    return new Uint8Array((await object?.arrayBuffer()) ?? []);
  };
  return { answer, stored, uploads, bytes, prefix };
}

it.each(REAL_ANSWERS)(
  "of an answer of $what, the file goes into the bucket with the type that its bytes have, and the rest is returned",
  async ({ body, changes }) => {
    const { answer, stored, bytes } = await store(body.replace(FILE, PNG_TEXT));
    expect(answer).toEqual({
      kind: "read",
      skeleton: replaced(body, changes),
      contentType: "application/json",
      files: [{ number: 1, bytes: PNG.length, mediaType: "image/png" }],
      begun: 1,
    });
    expect(stored).toEqual([["1", PNG.length, "image/png"]]);
    expect(await bytes(1)).toEqual(PNG);
  },
);

it.each(REAL_STREAMS)(
  "of the events with $what, the files that are ready go into the bucket, and the last event is returned",
  async ({ body, changes, files }) => {
    const { answer, bytes } = await store(body.replaceAll(FILE, PNG_TEXT), "text/event-stream");
    const [, last = ""] = /^data: (\{.*\})\r?$(?![^]*^data: \{)/m.exec(body) ?? [];
    expect(answer).toMatchObject({
      kind: "read",
      contentType: "application/json",
      files: Array.from({ length: files }, (_, i) => ({ number: i + 1, mediaType: "image/png" })),
      begun: files,
    });
    expect(answer.kind === "read" && answer.skeleton?.trim()).toBe(replaced(last, changes));
    for (let number = 1; number <= files; number++) expect(await bytes(number)).toEqual(PNG);
  },
);

it.each<[string, string, string | Uint8Array, string]>([
  ["of audio", "audio/mpeg", MPEG, "audio/mpeg"],
  ["of an image whose type is stated wrongly", "image/jpeg", PNG, "image/png"],
  ["of bytes that no type is stated of", "", PNG, "image/png"],
  ["of sound samples", "audio/L16; rate=24000", PCM, "audio/L16; rate=24000"],
  [
    "of bytes of which a type is stated that runs code",
    "image/svg+xml",
    PCM,
    "application/octet-stream",
  ],
  [
    "of text that begins with a bracket",
    "text/plain; charset=utf-8",
    "[Music] Hello",
    "text/plain",
  ],
  ["of captions", "text/vtt", "WEBVTT\n", "text/vtt"],
])("an answer that consists %s is one file", async (_, contentType, body, mediaType) => {
  const { answer, stored, bytes } = await store(body, contentType);
  const files = [{ number: 1, bytes: bytesOf(body).length, mediaType }];
  expect(answer).toEqual({ kind: "read", skeleton: null, contentType: mediaType, files, begun: 1 });
  expect(stored).toEqual([["1", bytesOf(body).length, mediaType]]);
  expect(await bytes(1)).toEqual(bytesOf(body));
});

it.each([
  ["application/json; charset=utf-8", "application/json; charset=utf-8"],
  ["application/problem+json", "application/problem+json"],
  ["text/plain", "text/plain"],
  ["", "application/json"],
])(
  "an answer of the type '%s' that is a JSON object is read as JSON",
  async (type, contentType) => {
    const { answer } = await store(OPENAI_IMAGES.replace(FILE, PNG_TEXT), type);
    expect(answer).toMatchObject({ kind: "read", contentType, files: [{ number: 1 }] });
  },
);

it("a picture in a part of an answer that is a thought is no file of the answer, and the next one takes its number", async () => {
  const inlineData = { mimeType: "image/png", data: PNG_TEXT };
  const draft = { inlineData: { ...inlineData, data: toBase64(bytesOf(PNG, "draft")) } };
  const { answer, stored, bytes } = await store(
    JSON.stringify({ parts: [{ ...draft, thought: true }, { inlineData }] }),
  );
  expect(answer).toMatchObject({ files: [{ number: 1, bytes: PNG.length }], begun: 1 });
  expect(stored.length).toBe(1);
  expect(await bytes(1)).toEqual(PNG);
});

it("an answer in JSON without files is returned as it is", async () => {
  const body = '{"text": "[DONE] é"}';
  const { answer, stored } = await store(body);
  expect(answer).toMatchObject({ kind: "read", skeleton: body, files: [], begun: 0 });
  expect(stored).toEqual([]);
});

it("when the event that ends a stream has no file, those of an earlier event stay files of the answer", async () => {
  const item = `{"type":"response.output_item.done","item":{"result":"${PNG_TEXT}"}}`;
  const stream = `data: ${item}\n\ndata: {"type":"response.completed"}\n\n`;
  const { answer } = await store(stream, "text/event-stream");
  expect(answer).toMatchObject({
    skeleton: '{"type":"response.completed"}',
    files: [{ number: 1 }],
    begun: 1,
  });
});

it("when a later event of a stream has fewer files than one before, the numbers that were begun tell what is left in the bucket", async () => {
  const [three, one] = [3, 1].map((count) => `"${PNG_TEXT}",`.repeat(count).slice(0, -1));
  const stream = `event: a\ndata: {"output":[${three}]}\n\nevent: b\ndata: {"output":[${one}]}\n\n`;
  const { answer, stored } = await store(stream, "text/event-stream");
  expect(answer).toMatchObject({ files: [{ number: 1 }], begun: 3 });
  expect(stored).toHaveLength(3);
});

it.each([
  [8 * MIB - 1, 0],
  [8 * MIB, 1],
  [40_000_000, 1],
])(
  "a file of %i bytes in an answer is stored whole, with %i multipart uploads",
  async (length, count) => {
    const { answer, uploads, bytes } = await store(arriving(largeImages(1, length)));
    const files = [{ number: 1, bytes: length, mediaType: "image/png" }];
    expect(answer).toMatchObject({ kind: "read", files, begun: 1 });
    expect(uploads).toEqual(Array.from({ length: count }, () => [1, expect.any(String)]));
    expect(await sha256Hex(await bytes(1))).toBe(await sha256Hex(imageBytes(length)));
  },
);

it("the id of a multipart upload is reported before its first part is stored", async () => {
  const seen: string[] = [];
  const real = bucket();
  await store(arriving(largeImages(1, 9 * MIB)), "application/json", {
    onUpload: () => seen.push("upload"),
    bucket: {
      put: real.put.bind(real),
      createMultipartUpload: async (key, options) => {
        const upload = await real.createMultipartUpload(key, options);
        const uploadPart = upload.uploadPart.bind(upload);
        vi.spyOn(upload, "uploadPart").mockImplementation((...part) => {
          seen.push("part");
          return uploadPart(...part);
        });
        return upload;
      },
    },
  });
  expect(seen).toEqual(["upload", "part", "part"]);
});

it.each<[string, () => ReadableStream<Uint8Array>, object]>([
  [
    "a file with wrong base64 after 9 MiB",
    () => arriving([...largeImages(1, 9 * MIB, `,"${PNG_TEXT}*"]}`)]),
    { reason: "broken", begun: 2 },
  ],
  [
    "wrong base64 within a file of 9 MiB",
    () => arriving([...largeImages(1, 9 * MIB)].with(10, bytesOf("****"))),
    { reason: "broken", begun: 1 },
  ],
  [
    "JSON that is cut short in a file",
    () => arriving([...largeImages(1, 9 * MIB)].slice(0, -2)),
    { reason: "broken", begun: 1 },
  ],
  [
    "JSON that is cut short after a file",
    () => arriving([...largeImages(1, 100)].slice(0, -1)),
    { reason: "broken", begun: 1 },
  ],
  ["41 images", () => arriving(largeImages(41, 100)), { reason: "too_many", begun: 32 }],
  ["68 MB", () => arriving(largeImages(5, 10_200_000)), { reason: "too_large", begun: 5 }],
  [
    "a file above the limit for outputs",
    () => arriving(largeImages(1, 13 * MIB)),
    { reason: "too_large", begun: 1 },
  ],
  [
    "a connection that breaks off",
    () => arriving([...largeImages(1, 1_000_000)].slice(0, 4), true),
    { reason: "unreachable", begun: 1 },
  ],
  ["no bytes", () => arriving([]), { reason: "broken", begun: 0 }],
])(
  "an answer with %s fails, and leaves no part of an upload in the bucket",
  async (_, body, failed) => {
    const limit = { maxFileBytes: 12 * MIB };
    const { answer, uploads, prefix } = await store(body(), "application/json", limit);
    expect(answer).toEqual({ kind: "failed", ...failed });
    for (const [number, id] of uploads) {
      const upload = bucket().resumeMultipartUpload(prefix + number, id);
      await expect(upload.uploadPart(1, new Uint8Array(1))).rejects.toThrow();
    }
  },
);

it.each([
  ["text/html", "<html></html>"],
  ["text/event-stream", "data: [DONE]\n\n"],
  ["text/event-stream", 'data: {"type":"image_generation.partial_image"}\n\n'],
  ["text/event-stream", 'data: {"type":'],
])(
  "an answer of the type %s that contains no result is reported as broken: %s",
  async (type, body) => {
    const { answer } = await store(body, type);
    expect(answer).toEqual({ kind: "failed", reason: "broken", begun: 0 });
  },
);

it("when reading an answer is ended from outside, the result says that the upstream was not reached", async () => {
  const stop = new AbortController();
  const body = new ReadableStream<Uint8Array>({ pull: () => stop.abort() });
  const { answer } = await store(
    body.pipeThrough(new IdentityTransformStream()),
    "application/json",
    { signal: stop.signal },
  );
  expect(answer).toEqual({ kind: "failed", reason: "unreachable", begun: 0 });
});

it("when the bucket does not take a file of an answer, the result says so", async () => {
  vi.spyOn(console, "warn").mockReturnValue();
  const put = vi.fn<() => never>().mockImplementation(() => {
    throw new Error("the bucket is down");
  });
  const failing = { put, createMultipartUpload: put };
  const { answer } = await store(arriving(largeImages(1, 100)), undefined, { bucket: failing });
  expect(answer).toEqual({ kind: "failed", reason: "not_stored", begun: 1 });
});

it("an answer is read no further while the bucket takes a part of a file", async () => {
  let sent = 0;
  function* counted() {
    for (const piece of largeImages(1, 30_000_000)) {
      sent += piece.length;
      yield piece;
    }
  }
  const sentAtParts: number[] = [];
  const real = bucket();
  await store(arriving(counted()), "application/json", {
    bucket: {
      put: real.put.bind(real),
      createMultipartUpload: async (key, options) => {
        const upload = await real.createMultipartUpload(key, options);
        const uploadPart = upload.uploadPart.bind(upload);
        vi.spyOn(upload, "uploadPart").mockImplementation(async (...part) => {
          await scheduler.wait(20);
          sentAtParts.push(sent);
          return uploadPart(...part);
        });
        return upload;
      },
    },
  });
  // The bytes of each part, in base64, and what lies in memory between the network and the scan.
  const most = sentAtParts.map((_, i) => ((i + 1) * 8 * MIB * 4) / 3 + MIB);
  expect(sentAtParts).toHaveLength(4);
  expect(sentAtParts.slice(0, -1).map((at, i) => at <= (most[i] ?? 0))).toEqual([true, true, true]);
});
