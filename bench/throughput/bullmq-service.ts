import { createServer, type IncomingMessage } from "node:http";
import { Queue, Worker } from "bullmq";
import { request } from "undici";
import * as z from "zod";

// Process that takes the same events as the relay and sends their callbacks by BullMQ. The environment names
// the ports: `REDIS_PORT`, and `PORT` of this server.

const Environment = z.object({ REDIS_PORT: z.coerce.number(), PORT: z.coerce.number() });
const Event = z.object({ id: z.string(), callback_url: z.string() });

const CONCURRENCY = 64;
const TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 600_000;
const OPTIONS = { attempts: 3, backoff: { type: "fixed", delay: 180_000 } };

const { REDIS_PORT, PORT } = Environment.parse(process.env);
const connection = { host: "127.0.0.1", port: REDIS_PORT, maxRetriesPerRequest: null };
const callbacks = new Queue("callbacks", { connection });
const worker = new Worker("callbacks", ({ data }) => send(data), {
  connection,
  concurrency: CONCURRENCY,
});
worker.on("error", (error) => console.error(error));

const server = createServer((incoming, response) => {
  const answer = (status: number) => response.writeHead(status).end();
  accept(incoming).then(answer, (error: unknown) => {
    console.error(error);
    answer(503);
  });
});
// A connection that is closed for idleness can lose a request that is on its way.
server.keepAliveTimeout = KEEP_ALIVE_MS;
await callbacks.waitUntilReady();
server.listen(PORT, "127.0.0.1");

async function accept(incoming: IncomingMessage): Promise<number> {
  if (incoming.method !== "POST") return 200;
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  const event: unknown = JSON.parse(Buffer.concat(chunks).toString());
  await callbacks.add("callback", event, { ...OPTIONS, jobId: Event.parse(event).id });
  return 202;
}

async function send(event: unknown): Promise<void> {
  const { statusCode, body } = await request(Event.parse(event).callback_url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(event),
    headersTimeout: TIMEOUT_MS,
  });
  await body.dump();
  if (statusCode >= 300) throw new Error(`answered with ${statusCode}`);
}
