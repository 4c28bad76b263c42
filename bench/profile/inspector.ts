import { once } from "node:events";
import * as z from "zod";
import { Profile } from "./profile.ts";

const Targets = z.array(z.object({ webSocketDebuggerUrl: z.string() }));
const Message = z.object({ id: z.int().optional(), result: z.unknown().optional() });
const Stopped = z.object({ profile: Profile });
const SAMPLE_EVERY_US = 200;

const HeapUsage = z.object({ usedSize: z.number() });
/** Memory of an isolate in bytes: objects of JavaScript, those of the runtime, and the bytes of buffers. */
const IsolateUsage = z.object({
  usedSize: z.number(),
  embedderHeapUsedSize: z.number(),
  backingStorageSize: z.number(),
});
const HEAP_EVERY_MS = 20;

type Ask = (method: string, params?: object) => Promise<unknown>;

/** Profiles the CPU time of a running workerd while `work` runs. @param port of its inspector. */
export function profiled(port: number, work: () => Promise<unknown>): Promise<Profile> {
  return inspected(port, async (ask) => {
    await ask("Profiler.enable");
    await ask("Profiler.setSamplingInterval", { interval: SAMPLE_EVERY_US });
    await ask("Profiler.start");
    await work();
    return Stopped.parse(await ask("Profiler.stop")).profile;
  });
}

/**
 * Returns what `work` returns, and the largest heap of a running Worker meanwhile, in bytes, garbage included.
 * @param port of the inspector of its workerd.
 */
export function withHeap<T>(port: number, work: () => Promise<T>) {
  return inspected(port, async (ask) => {
    let heapBytes = 0;
    const measure = async () => {
      const { usedSize } = HeapUsage.parse(await ask("Runtime.getHeapUsage"));
      heapBytes = Math.max(heapBytes, usedSize);
    };
    await measure();
    const timer = setInterval(() => void measure(), HEAP_EVERY_MS);
    const result = await work().finally(() => clearInterval(timer));
    await measure();
    return { result, heapBytes };
  });
}

/**
 * Returns the memory of the isolate of a Worker of a running workerd, without garbage, in bytes.
 * @param port of the inspector of its workerd.
 * @param wake sends a request to the Worker: its garbage is collected when it runs.
 */
export function isolateMemory(
  port: number,
  worker: string,
  wake: () => Promise<unknown>,
): Promise<number> {
  return inspected(
    port,
    async (ask) => {
      const collected = ask("HeapProfiler.collectGarbage").then(() => true);
      let isCollected = false;
      while (!isCollected) isCollected = await Promise.race([collected, wake().then(() => false)]);
      const usage = IsolateUsage.parse(await ask("Runtime.getHeapUsage"));
      return usage.usedSize + usage.embedderHeapUsedSize + usage.backingStorageSize;
    },
    worker,
  );
}

/** Inspects the Worker of this name, or the first one. */
async function inspected<T>(port: number, work: (ask: Ask) => Promise<T>, worker = ""): Promise<T> {
  const list = await fetch(`http://127.0.0.1:${port}/json`);
  const urls = Targets.parse(await list.json()).map((target) => target.webSocketDebuggerUrl);
  const url = urls.find((each) => each.endsWith(worker));
  if (url === undefined) throw new Error("workerd has nothing to profile");
  // The inspector of `wrangler dev` requires the origin.
  const socket = new WebSocket(url, { headers: { Origin: "http://localhost" } });
  await once(socket, "open");
  const answers = new Map<number, (result: unknown) => void>();
  socket.addEventListener("message", ({ data }) => {
    // A message without an id is an event of the inspector.
    const { id = 0, result } = Message.parse(JSON.parse(String(data)));
    answers.get(id)?.(result);
  });
  let lastId = 0;
  const ask: Ask = (method, params = {}) =>
    new Promise<unknown>((resolve) => {
      answers.set(++lastId, resolve);
      socket.send(JSON.stringify({ id: lastId, method, params }));
    });
  try {
    return await work(ask);
  } finally {
    socket.close();
  }
}
