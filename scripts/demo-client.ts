import { createServer, type IncomingMessage, type Server } from "node:http";

/**
 * Callback receiver of a client that is down until `start` is called: its port is reserved, but nothing
 * listens on it.
 */
export interface DemoClient {
  readonly url: string;
  /** Starts the callback receiver; the promise resolves with the first callback that arrives. */
  readonly start: () => Promise<ReceivedCallback>;
  readonly close: () => Promise<void>;
}

export interface ReceivedCallback {
  readonly headers: Record<string, string>;
  readonly body: string;
}

export async function createDemoClient(): Promise<DemoClient> {
  const port = await unusedPort();
  const server = createServer();
  return {
    url: `http://127.0.0.1:${port}/callbacks`,
    start: async () => {
      const { promise, resolve } = Promise.withResolvers<ReceivedCallback>();
      server.on("request", async (request, response) => {
        const received = await read(request);
        response.writeHead(204).end();
        resolve(received);
      });
      await listen(server, port);
      return promise;
    },
    close: () => close(server),
  };
}

async function read(request: IncomingMessage): Promise<ReceivedCallback> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  return { headers: Object.fromEntries(headers), body };
}

async function unusedPort(): Promise<number> {
  const server = createServer();
  await listen(server, 0);
  const address = server.address();
  await close(server);
  if (address === null || typeof address === "string") throw new Error("no port on 127.0.0.1");
  return address.port;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve());
  });
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
