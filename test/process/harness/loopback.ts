import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  request as send,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Server as TcpServer } from "node:net";
import { pipeline } from "node:stream";

/**
 * Time in milliseconds after which an idle connection is closed, which no test reaches: closing it could lose
 * a request on its way.
 */
const KEEP_ALIVE_MS = 600_000;

/** An HTTP server on a loopback port that the system chose. */
export class LoopbackServer implements AsyncDisposable {
  readonly #server: Server;

  constructor(listener: RequestListener, keepAliveMs = KEEP_ALIVE_MS) {
    this.#server = createServer(listener);
    this.#server.keepAliveTimeout = keepAliveMs;
  }

  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/**
 * Passes a request on to the server at an origin. A connection that breaks on one side is broken on the other.
 * @param take handles the head of the answer; by default the answer is passed back.
 */
export function forward(
  origin: string,
  request: IncomingMessage,
  response: ServerResponse,
  take = passBack,
): void {
  const { method = "", url = "", headers } = request;
  const forwarded = send(origin + url, { method, headers }, (answer) => take(answer, response));
  forwarded.on("error", () => response.destroy());
  response.once("close", () => response.writableFinished || forwarded.destroy());
  request.pipe(forwarded);
}

/** Passes an answer back to the client. */
function passBack(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  // A client may hang up, or the server may break the connection.
  pipeline(answer, response, () => {});
}

/** Returns the number of a port on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const port = portOf(server);
  server.close();
  await once(server, "close");
  return port;
}

/** Reads the body of a request; null when the connection was closed before its end. */
export async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Returns the port on which a server listens. */
export function portOf(server: TcpServer): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}
