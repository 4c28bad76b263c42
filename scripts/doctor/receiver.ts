import { createServer } from "node:http";

/** A callback receiver on this machine that accepts any callback and remembers the last one. */
export interface LocalReceiver {
  readonly url: string;
  /**
   * Returns the times of the callback that arrived: its timestamp in Unix seconds, and its arrival in Unix
   * milliseconds; null when none arrived.
   */
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
