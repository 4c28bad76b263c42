import { createServer } from "node:http";

/** A receiver on this machine that takes one callback. */
export interface LocalReceiver {
  readonly url: string;
  /** Times of the callback that arrived: its own in Unix seconds, and that of its arrival in milliseconds. */
  readonly received: () => { readonly sentAtS: number; readonly arrivedAt: number } | null;
  readonly close: () => void;
}

export async function startReceiver(): Promise<LocalReceiver> {
  let received: { sentAtS: number; arrivedAt: number } | null = null;
  const server = createServer((request, response) => {
    received = { sentAtS: Number(request.headers["x-timestamp"]), arrivedAt: Date.now() };
    request.resume();
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port on 127.0.0.1");
  return {
    url: `http://127.0.0.1:${address.port}/doctor`,
    received: () => received,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
