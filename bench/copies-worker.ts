import { DurableObject } from "cloudflare:workers";
import type { CopyOrder } from "../src/core/duties/copy-order.ts";
import {
  OutputObject as Copier,
  type OutputBindings,
} from "../src/objects/output/output-object.ts";
import type { StoreWriter } from "../src/objects/output/output-store.ts";
import { storeCopy } from "../src/objects/output/store-copy.ts";
import { statedBytes } from "../src/outbound/open-source.ts";
import { env } from "../src/startup.ts";

// Classes of objects that the harness binds; nothing calls them.
export {
  AccountObject,
  CallObject,
  ConnectionObject,
  DeploymentObject,
  DigestObject,
  HostObject,
  JobObject,
  ListenersObject,
  OfferBookObject,
  QueueObject,
} from "./startup/bare-worker.ts";

interface Bindings extends OutputBindings {
  readonly OUTPUT_OBJECTS: DurableObjectNamespace<Copier>;
  /** Server to which the bucket sends what it gets. */
  readonly SINK: string;
}

const MAX_BYTES = 1024 ** 3;
const LIFE_MS = 86_400_000;

/** The object of the relay that copies outputs, with a bucket that sends what it gets to a server, as R2's binding does. */
export class OutputObject extends Copier {
  constructor(ctx: DurableObjectState, { TASKS, SINK }: Bindings) {
    super(ctx, Object.create(env, { TASKS: { value: TASKS }, OUTPUTS: { value: bucketAt(SINK) } }));
  }
}

/** Object of a task, which is told that its copies have ended. */
export class TaskObject extends DurableObject {
  endCopies(): boolean {
    return true;
  }
}

/**
 * Worker that copies an output as the relay does: with `mode=order` an object of the relay does so later, otherwise the
 * answer is the result of the copy. With `mode=pass` it sends the output on without reading it.
 */
export default {
  async fetch(request: Request, { OUTPUT_OBJECTS, SINK }: Bindings): Promise<Response> {
    const { searchParams, origin } = new URL(request.url);
    const [source, id] = [searchParams.get("source"), searchParams.get("id") ?? "bench"];
    if (source === null) return new Response("ok");
    const mode = searchParams.get("mode");
    if (mode === "order") {
      await OUTPUT_OBJECTS.getByName(id).copy(orderOf(id, source, origin));
      return Response.json({ kind: "ordered" });
    }
    const response = await fetch(source);
    if (response.body === null) throw new Error("the source has sent no body");
    if (mode === "pass") {
      return Response.json({ kind: "kept", bytes: await sent(SINK, response.body) });
    }
    const result = await storeCopy(response.body, statedBytes(response), {
      bucket: bucketAt(SINK),
      key: "outputs/bench",
      maxBytes: MAX_BYTES,
      onUpload: () => undefined,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    });
    return Response.json(result);
  },
};

function orderOf(taskId: string, source: string, origin: string): CopyOrder {
  const life = { recordedAt: 1, expiresAt: Date.now() + LIFE_MS };
  const owner = { origin, account: "acme", connection: null, customerKey: null };
  return {
    taskId,
    ...life,
    ...owner,
    deleted: [],
    outputs: [{ number: 1, source }],
    isUnproven: true,
  };
}

/** Returns a bucket that sends what is stored to a server. */
function bucketAt(sink: string): StoreWriter {
  return {
    put: async (key, value) => ({ size: await sent(`${sink}/${key}`, value) }),
    createMultipartUpload: async (key) => {
      const sizes: number[] = [];
      return {
        uploadId: "upload",
        uploadPart: async (partNumber, value) => {
          sizes.push(await sent(`${sink}/${key}`, value));
          return { partNumber, etag: "" };
        },
        complete: async () => ({ size: sizes.reduce((sum, size) => sum + size, 0) }),
        abort: async () => undefined,
      };
    },
    resumeMultipartUpload: () => ({ abort: async () => undefined }),
    delete: async () => undefined,
  };
}

/** Sends bytes to a server. Returns their number as the server has counted it. */
async function sent(url: string, body: ReadableStream | Uint8Array): Promise<number> {
  return Number(await (await fetch(url, { method: "PUT", body })).text());
}
