import { type CopyBucket, storeCopy } from "../src/objects/output/store-copy.ts";
import { statedBytes } from "../src/outbound/open-source.ts";

// Classes of objects that the harness binds; nothing calls them.
export * from "./startup/bare-worker.ts";

const MAX_BYTES = 1024 ** 3;

/**
 * Worker that copies an output as the relay does, into a bucket that sends what it gets to a server, as the binding of R2
 * does. Answers with the result of the copy. With `mode=pass` it sends the output there without reading it.
 */
export default {
  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const [source, sink] = [searchParams.get("source"), searchParams.get("sink")];
    if (source === null || sink === null) return new Response("ok");
    const response = await fetch(source);
    if (response.body === null) throw new Error("the source has sent no body");
    if (searchParams.get("mode") === "pass") {
      return Response.json({ kind: "kept", bytes: await sent(sink, response.body) });
    }
    const result = await storeCopy(response.body, statedBytes(response), {
      bucket: bucketAt(sink),
      key: "outputs/bench",
      maxBytes: MAX_BYTES,
      onUpload: () => undefined,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    });
    return Response.json(result);
  },
};

/** Returns a bucket that sends what is stored to this URL. */
function bucketAt(sink: string): CopyBucket {
  return {
    put: async (_, value) => ({ size: await sent(sink, value) }),
    createMultipartUpload: async () => {
      const sizes: number[] = [];
      return {
        uploadId: "upload",
        uploadPart: async (partNumber, value) => {
          sizes.push(await sent(sink, value));
          return { partNumber, etag: "" };
        },
        complete: async () => ({ size: sizes.reduce((sum, size) => sum + size, 0) }),
        abort: async () => undefined,
      };
    },
  };
}

/** Sends bytes to a server. Returns their number as the server has counted it. */
async function sent(sink: string, body: ReadableStream | Uint8Array): Promise<number> {
  return Number(await (await fetch(sink, { method: "PUT", body })).text());
}
