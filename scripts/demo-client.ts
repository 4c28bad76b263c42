import { createServer, type IncomingMessage, type Server } from "node:http";

/** A client's receiver that is down at first: its port is known, and nobody listens on it. */
export interface DemoClient {
  readonly url: string;
  /** Starts listening; resolves with the first callback that arrives. */
  readonly comeUp: () => Promise<Received>;
  readonly close: () => Promise<void>;
}

export interface Received {
  readonly headers: Record<string, string>;
  readonly body: string;
}

export async function clientDown(): Promise<DemoClient> {
  const port = await unusedPort();
  const server = createServer();
  return {
    url: `http://127.0.0.1:${port}/callbacks`,
    comeUp: async () => {
      const arrived = new Promise<Received>((resolve) => {
        server.on("request", async (request, response) => {
          const received = await read(request);
          response.writeHead(204).end();
          resolve(received);
        });
      });
      await listening(server, port);
      return arrived;
    },
    close: () => closed(server),
  };
}

async function read(request: IncomingMessage): Promise<Received> {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)]);
  return { headers: Object.fromEntries(headers), body };
}

async function unusedPort(): Promise<number> {
  const server = createServer();
  await listening(server, 0);
  const address = server.address();
  await closed(server);
  if (address === null || typeof address === "string") throw new Error("no port on 127.0.0.1");
  return address.port;
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve());
  });
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
