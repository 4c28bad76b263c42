import { describe, expect, it, vi } from "vitest";
import { S3Store } from "../../src/objects/output/s3-store.ts";

const SETTINGS = {
  url: "https://s3.example.net",
  bucket: "films",
  bucketUrl: "https://s3.example.net/films",
  region: "eu-1",
  keyId: "test-only-store-key",
  secret: "test-only-store-secret",
};
const KEY = "outputs/task/1/1";
const VIDEO = { httpMetadata: { contentType: "video/mp4" } };
const never = () => new AbortController().signal;

/** Returns a store whose server gives these answers in turn, and the requests that it has got. */
function storeThatAnswers(...answers: readonly (Response | Error)[]) {
  const rest = [...answers];
  const requests: Request[] = [];
  const store = new S3Store(SETTINGS, async (request) => {
    requests.push(request);
    const answer = rest.shift();
    if (answer instanceof Response) return answer;
    throw answer ?? new Error("asked more often than expected");
  });
  return { store, requests };
}

const refusal = (status: number, code: string) =>
  new Response(
    `<?xml version="1.0"?><Error><Code>${code}</Code><AWSAccessKeyId>${SETTINGS.keyId}</AWSAccessKeyId></Error>`,
    { status },
  );
const uploadOf = async (...answers: readonly (Response | Error)[]) => {
  const created = new Response(
    "<InitiateMultipartUploadResult><UploadId>a&amp;b/+=</UploadId></InitiateMultipartUploadResult>",
  );
  const { store, requests } = storeThatAnswers(created, ...answers);
  return { upload: await store.createMultipartUpload(KEY, VIDEO, never()), requests };
};
const PARTS = [
  { partNumber: 1, etag: '"a"' },
  { partNumber: 2, etag: '"b"' },
];

describe("a request to an S3-compatible store", () => {
  it("is signed for the region and the service S3, without the secret, and with a body that is not hashed", async () => {
    const { store, requests } = storeThatAnswers(new Response());
    await store.put(KEY, new Uint8Array([1, 2, 3]), VIDEO, never());
    const [request] = requests;
    expect([request?.method, request?.url, request?.redirect]).toEqual([
      "PUT",
      "https://s3.example.net/films/outputs/task/1/1",
      "manual",
    ]);
    const headers = Object.fromEntries(request?.headers ?? []);
    expect(headers).toMatchObject({
      authorization: expect.stringMatching(
        /^AWS4-HMAC-SHA256 Credential=test-only-store-key\/\d{8}\/eu-1\/s3\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=[0-9a-f]{64}$/,
      ),
      "content-type": "video/mp4",
      "x-amz-content-sha256": "UNSIGNED-PAYLOAD",
    });
    expect(JSON.stringify(headers)).not.toContain(SETTINGS.secret);
  });

  it.each([
    ["a status of 500 and more", () => refusal(503, "SlowDown")],
    ["too many requests", () => refusal(429, "TooManyRequests")],
    ["a lost connection", () => new Error("the connection was lost")],
  ])("is repeated twice after %s", async (_, failing) => {
    const { store, requests } = storeThatAnswers(failing(), failing(), new Response());
    await store.put(KEY, new Uint8Array(3), VIDEO, never());
    expect(requests).toHaveLength(3);
    const third = storeThatAnswers(failing(), failing(), failing(), new Response());
    await expect(third.store.put(KEY, new Uint8Array(3), VIDEO, never())).rejects.toThrow();
  });

  it("with a stream is not repeated, because its bytes are gone", async () => {
    const { store, requests } = storeThatAnswers(refusal(503, "SlowDown"), new Response());
    const stored = store.put(KEY, new Blob(["bytes"]).stream(), VIDEO, never());
    await expect(stored).rejects.toThrow("the store of outputs answered 503 SlowDown");
    expect(requests).toHaveLength(1);
  });

  it("is not repeated after a refusal, whose error has the word of the store and nothing else of its answer", async () => {
    const { store, requests } = storeThatAnswers(refusal(403, "SignatureDoesNotMatch"));
    const stored = store.put(KEY, new Uint8Array(3), VIDEO, never());
    await expect(stored).rejects.toThrow(
      /^the store of outputs answered 403 SignatureDoesNotMatch$/,
    );
    expect(requests).toHaveLength(1);
  });

  it("that is not answered is given up, once", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const ask = vi.fn<(request: Request) => Promise<Response>>(({ signal }) => {
        const { promise, reject } = Promise.withResolvers<Response>();
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener("abort", () => reject(signal.reason));
        return promise;
      });
      const read = new S3Store(SETTINGS, ask).head(KEY);
      const refused = expect(read).rejects.toThrow("has not answered in time");
      await vi.advanceTimersByTimeAsync(10_000);
      await refused;
      expect(ask).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });

  it("ends at once when the copy is ended", async () => {
    const stop = new AbortController();
    const ask = async ({ signal }: Request) => {
      stop.abort();
      signal.throwIfAborted();
      return new Response();
    };
    const stored = new S3Store(SETTINGS, ask).put(KEY, new Uint8Array(3), VIDEO, stop.signal);
    await expect(stored).rejects.toThrow("has not answered in time");
  });
});

const file = (status: number, headers: Record<string, string>) =>
  new Response(status === 304 ? null : "bytes", {
    status,
    headers: { ETag: '"tag"', "Content-Type": "video/mp4", ...headers },
  });

describe("reading from an S3-compatible store", () => {
  it.each([
    [{ offset: 2, length: 3 }, "bytes=2-4"],
    [{ offset: 2 }, "bytes=2-"],
    [{ suffix: 3 }, "bytes=-3"],
  ])(
    "asks for the range %j as %s, and takes the size of the whole file from the answer",
    async (range, text) => {
      const { store, requests } = storeThatAnswers(file(206, { "Content-Range": "bytes 2-4/90" }));
      expect(await store.get(KEY, { range })).toMatchObject({
        size: 90,
        httpEtag: '"tag"',
        httpMetadata: { contentType: "video/mp4" },
      });
      expect(requests[0]?.headers.get("Range")).toBe(text);
    },
  );

  it("asks for a file that the client may have only if its tag differs, and reads the facts alone where it does not", async () => {
    const { store, requests } = storeThatAnswers(
      file(304, {}),
      file(200, { "Content-Length": "5" }),
    );
    const known = await store.get(KEY, { onlyIf: { etagDoesNotMatch: "tag" } });
    expect(known).toEqual({
      size: 5,
      httpEtag: '"tag"',
      httpMetadata: { contentType: "video/mp4" },
    });
    expect(requests.map(({ method, headers }) => [method, headers.get("If-None-Match")])).toEqual([
      ["GET", '"tag"'],
      ["HEAD", null],
    ]);
  });

  it("returns a strong entity tag also where a proxy has made it a weak one", async () => {
    const { store } = storeThatAnswers(file(200, { "Content-Length": "5", ETag: 'W/"tag"' }));
    expect((await store.head(KEY))?.httpEtag).toBe('"tag"');
  });

  it("returns null for a file that is not there, and fails for a bucket that is not there", async () => {
    expect(await storeThatAnswers(refusal(404, "NoSuchKey")).store.get(KEY, {})).toBeNull();
    expect(await storeThatAnswers(new Response(null, { status: 404 })).store.head(KEY)).toBeNull();
    await expect(storeThatAnswers(refusal(404, "NoSuchBucket")).store.get(KEY, {})).rejects.toThrow(
      "answered 404 NoSuchBucket",
    );
  });

  it("fails when the store sends all of a file in place of the range, or not the length or the tag of a file", async () => {
    const whole = file(200, { "Content-Length": "5" });
    const { store } = storeThatAnswers(whole);
    await expect(store.get(KEY, { range: { offset: 1 } })).rejects.toThrow(
      "answered a request for a range with 200",
    );
    await expect(storeThatAnswers(file(200, {})).store.get(KEY, {})).rejects.toThrow("length");
    const untagged = new Response("bytes", { headers: { "Content-Length": "5" } });
    await expect(storeThatAnswers(untagged).store.get(KEY, {})).rejects.toThrow("entity tag");
  });
});

const failed = () => refusal(200, "InternalError");

describe("an upload in parts to an S3-compatible store", () => {
  it("names the upload, numbers its parts, and lists their tags at its completion", async () => {
    const tagged = new Response(null, { headers: { ETag: '"a"' } });
    const { upload, requests } = await uploadOf(
      tagged,
      new Response("<CompleteMultipartUploadResult/>"),
    );
    expect(upload.uploadId).toBe("a&b/+=");
    expect(await upload.uploadPart(1, new Uint8Array(3))).toEqual(PARTS[0]);
    await upload.complete(PARTS);
    const [created, part, completion] = requests;
    expect(created?.url).toMatch(/\?uploads=?$/);
    expect(part?.url).toMatch(/\?partNumber=1&uploadId=a%26b%2F%2B%3D$/);
    expect([completion?.method, await completion?.text()]).toEqual([
      "POST",
      expect.stringContaining(
        '<Part><PartNumber>1</PartNumber><ETag>"a"</ETag></Part><Part><PartNumber>2</PartNumber><ETag>"b"</ETag></Part>',
      ),
    ]);
  });

  it("has failed when its completion is answered with 200 and an error, which may pass", async () => {
    const { upload, requests } = await uploadOf(failed(), failed(), failed());
    await expect(upload.complete(PARTS)).rejects.toThrow("answered 200 InternalError");
    expect(requests).toHaveLength(4);
    const again = await uploadOf(failed(), new Response("<CompleteMultipartUploadResult/>"));
    await again.upload.complete(PARTS);
  });

  it("may be aborted again after it has ended, but not in a bucket that is not there", async () => {
    const { upload } = await uploadOf(refusal(404, "NoSuchUpload"), refusal(404, "NoSuchBucket"));
    await upload.abort();
    await expect(upload.abort()).rejects.toThrow("answered 404 NoSuchBucket");
  });

  it("is not begun when the store does not name it", async () => {
    const { store } = storeThatAnswers(new Response("<html></html>"));
    await expect(store.createMultipartUpload(KEY, VIDEO, never())).rejects.toThrow("did not name");
  });
});

describe("deleting from an S3-compatible store", () => {
  it("deletes each file, also one that is gone already", async () => {
    const { store, requests } = storeThatAnswers(
      new Response(null, { status: 204 }),
      refusal(404, "NoSuchKey"),
    );
    await store.delete(["outputs/a", "outputs/b"]);
    expect(requests.map(({ method, url }) => `${method} ${url}`).toSorted()).toEqual([
      "DELETE https://s3.example.net/films/outputs/a",
      "DELETE https://s3.example.net/films/outputs/b",
    ]);
  });

  it("fails when the store refuses to delete a file", async () => {
    const { store } = storeThatAnswers(refusal(403, "AccessDenied"));
    await expect(store.delete(["outputs/a"])).rejects.toThrow("answered 403 AccessDenied");
  });
});

describe("the fault of an S3-compatible store", () => {
  it("is null when a read of an unused key finds nothing, and otherwise what the store has answered", async () => {
    expect(await storeThatAnswers(refusal(404, "NoSuchKey")).store.fault()).toBeNull();
    expect(await storeThatAnswers(refusal(403, "InvalidAccessKeyId")).store.fault()).toBe(
      "the store of outputs answered 403 InvalidAccessKeyId",
    );
  });
});
