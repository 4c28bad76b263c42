import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { bodyOf, freePort, LoopbackServer } from "./loopback.ts";

/** Behaviour of the receiver for one POST. */
export type Behaviour =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly afterMs?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Uint8Array;
    }
  /** The receiver never answers. */
  | { readonly kind: "hang" }
  /** The receiver sends the status line and the headers, and then nothing. */
  | { readonly kind: "hang_after_headers"; readonly status: number }
  /** The receiver sends a body without an end, as fast as it is read. */
  | { readonly kind: "endless_body"; readonly status: number }
  /** The receiver closes the connection in the middle of the body. */
  | { readonly kind: "broken_body"; readonly status: number }
  /** The receiver closes the connection without an answer. */
  | { readonly kind: "close" };

/** A received request. Times in Unix milliseconds. */
export interface Post {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly arrivedAt: number;
  /** Time at which a complete answer was handed to the connection; null when there was none. */
  answeredAt: number | null;
  answeredStatus: number | null;
  /** Number of bytes of an endless body that were written. */
  bytesWritten: number;
  /** Time at which the exchange ended, because it was answered in full or the connection was closed. */
  closedAt: number | null;
}

type OnArrival = (path: string, headers: Readonly<Record<string, string>>) => void;

const CHUNK = Buffer.alloc(16 * 1024, "x");

/** A client's server on loopback, which records every request and answers by script. */
export class Receiver extends LoopbackServer {
  readonly posts: Post[] = [];
  readonly #scripts = new Map<string, readonly Behaviour[]>();
  readonly #onArrival: OnArrival;

  private constructor(onArrival: OnArrival) {
    super((request, response) => void this.#handle(request, response));
    this.#onArrival = onArrival;
  }

  /**
   * Starts the receiver. @param onArrival function that is called when the headers have arrived, before the
   * request is answered.
   */
  static async start(onArrival: OnArrival = () => {}): Promise<Receiver> {
    return new Receiver(onArrival).listen();
  }

  /**
   * Returns the URL of a path whose requests are treated with these behaviours in turn; the last one repeats.
   */
  at(path: string, ...behaviours: readonly Behaviour[]): string {
    this.#scripts.set(path, behaviours);
    return this.origin + path;
  }

  postsAt(path: string): readonly Post[] {
    return this.posts.filter((post) => post.path === path);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const arrivedAt = Date.now();
    const { url: path = "", method = "" } = request;
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    );
    this.#onArrival(path, headers);
    // An answer that is cut off by the relay's end is recorded with `answeredAt: null`.
    response.on("error", () => {});
    const body = await bodyOf(request);
    if (body === null) return;
    const nth = this.postsAt(path).length;
    const unanswered = { answeredAt: null, answeredStatus: null, bytesWritten: 0, closedAt: null };
    const post: Post = { method, path, headers, body, arrivedAt, ...unanswered };
    this.posts.push(post);
    response.on("close", () => (post.closedAt = Date.now()));
    const script = this.#scripts.get(path) ?? [];
    await behave(script[nth] ?? script.at(-1) ?? { kind: "answer", status: 404 }, post, response);
  }
}

/** Returns a URL on a port without a listener. */
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

/** Writes data as fast as the connection takes it, without an end. */
function writeFor(response: ServerResponse, post: Post): void {
  const write = () => {
    do post.bytesWritten += CHUNK.length;
    while (!response.destroyed && response.write(CHUNK));
  };
  response.on("drain", write);
  write();
}
