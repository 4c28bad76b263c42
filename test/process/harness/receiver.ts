import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "./child.ts";

/** What the receiver does with one POST. */
export type Behaviour =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly afterMs?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Never answers. */
  | { readonly kind: "hang" }
  /** The status line and the headers, then silence. */
  | { readonly kind: "hang_after_headers"; readonly status: number }
  /** A body without an end, as fast as it is taken. */
  | { readonly kind: "endless_body"; readonly status: number }
  /** Promises a body and breaks the connection in the middle of it. */
  | { readonly kind: "broken_body"; readonly status: number }
  /** Closes the connection without a word. */
  | { readonly kind: "close" };

/** One request as it came over the wire. Times in Unix milliseconds. */
export interface Post {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly arrivedAt: number;
  /** When a whole answer was handed to the connection; null: none was. */
  answeredAt: number | null;
  answeredStatus: number | null;
  /** Of an endless body. */
  bytesWritten: number;
  /** When the exchange was over: answered in full, or the connection gone. */
  closedAt: number | null;
}

const KEEP_ALIVE_MS = 600_000;

type Arrival = (path: string, headers: Readonly<Record<string, string>>) => void;

const CHUNK = Buffer.alloc(16 * 1024, "x");

/** A client's server on loopback: keeps a ledger of every request and misbehaves by script. */
export class Receiver implements AsyncDisposable {
  readonly posts: Post[] = [];
  readonly #server: Server;
  readonly #scripts = new Map<string, readonly Behaviour[]>();
  readonly #onArrival: Arrival;
  #port = 0;

  private constructor(onArrival: Arrival) {
    this.#onArrival = onArrival;
    this.#server = createServer((request, response) => {
      void this.#handle(request, response);
    });
  }

  /** @param onArrival runs as soon as the headers are there, before the request is answered. */
  static async start(onArrival: Arrival = () => {}): Promise<Receiver> {
    const receiver = new Receiver(onArrival);
    receiver.#port = await freePort();
    // A connection closed for idleness may meet a request that is on its way, and loses it.
    receiver.#server.keepAliveTimeout = KEEP_ALIVE_MS;
    receiver.#server.listen(receiver.#port, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  /** A URL of its own whose POSTs meet these behaviours in turn; the last one repeats. */
  at(path: string, ...behaviours: readonly Behaviour[]): string {
    this.#scripts.set(path, behaviours);
    return `http://127.0.0.1:${this.#port}${path}`;
  }

  postsAt(path: string): readonly Post[] {
    return this.posts.filter((post) => post.path === path);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedAt = Date.now();
    const path = request.url ?? "";
    const headers = headersOf(request);
    this.#onArrival(path, headers);
    // What the relay's death cuts off is not an answer; it shows as `answeredAt: null`.
    response.on("error", () => {});
    const body = await bodyOf(request);
    if (body === null) return;
    const nth = this.postsAt(path).length;
    const method = request.method ?? "";
    const unanswered = { answeredAt: null, answeredStatus: null, bytesWritten: 0, closedAt: null };
    const post: Post = { method, path, headers, body, arrivedAt, ...unanswered };
    this.posts.push(post);
    response.on("close", () => (post.closedAt = Date.now()));
    const script = this.#scripts.get(path) ?? [];
    await behave(script[nth] ?? script.at(-1) ?? { kind: "answer", status: 404 }, post, response);
  }
}

/** A URL where nobody listens. */
export async function closedPort(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/closed`;
}

async function behave(behaviour: Behaviour, post: Post, response: ServerResponse): Promise<void> {
  switch (behaviour.kind) {
    case "answer":
      await sleep(behaviour.afterMs ?? 0);
      if (response.destroyed) return;
      post.answeredAt = Date.now();
      post.answeredStatus = behaviour.status;
      response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body);
      return;
    case "hang":
      return;
    case "hang_after_headers":
      response.writeHead(behaviour.status).flushHeaders();
      return;
    case "endless_body":
      response.writeHead(behaviour.status);
      writeFor(response, post);
      return;
    case "broken_body":
      response.writeHead(behaviour.status, { "Content-Length": "1000" });
      response.write("only the beg");
      await sleep(100);
      response.destroy();
      return;
    case "close":
      response.destroy();
      return;
  }
}

/** Writes as long as the connection takes it. */
function writeFor(response: ServerResponse, post: Post): void {
  const write = () => {
    do post.bytesWritten += CHUNK.length;
    while (!response.destroyed && response.write(CHUNK));
  };
  response.on("drain", write);
  write();
}

/** Null when the connection broke before the whole request was there. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) {
      if (Buffer.isBuffer(chunk)) chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString("utf8");
}

function headersOf(request: IncomingMessage): Record<string, string> {
  const entries = Object.entries(request.headers);
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}
