import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { freePort } from "../harness/child.ts";

const HOSTS = ["127.0.0.1", "::1"];
const PORTS = 3;

/** Listens on loopback, on several ports, and must hear nothing: a connection is a hit already. */
export class Canary implements AsyncDisposable {
  /** `address:port` of every connection. */
  readonly hits: string[] = [];
  readonly ports: number[] = [];
  readonly #servers: Server[] = [];
  #next = 0;

  static async start(): Promise<Canary> {
    const canary = new Canary();
    while (canary.ports.length < PORTS) {
      const port = await freePort();
      for (const host of HOSTS) await canary.#listen(host, port);
      canary.ports.push(port);
    }
    return canary;
  }

  /** A URL of the list, aimed at one port after the other. */
  aimed(spelling: string): string {
    const port = this.ports[this.#next++ % this.ports.length] ?? 0;
    return spelling.replaceAll("PORT", String(port));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) server.close();
  }

  async #listen(host: string, port: number): Promise<void> {
    const server = createServer((socket) => {
      this.hits.push(`${host}:${port}`);
      socket.on("error", () => {});
      socket.destroy();
    });
    server.listen(port, host);
    try {
      await once(server, "listening");
      this.#servers.push(server);
    } catch (error) {
      // A machine without IPv6 has nothing to be hit there.
      if (host === "127.0.0.1") throw error;
    }
  }
}
