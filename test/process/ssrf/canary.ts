import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { freePort } from "../harness/loopback.ts";

const HOSTS = ["127.0.0.1", "::1"];
const PORTS = 3;

/**
 * Server that listens on several loopback ports; any connection to it means that the relay called a forbidden
 * URL.
 */
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

  /** Replaces `PORT` in a URL by one of the ports, in turn. */
  aimed(url: string): string {
    const port = this.ports[this.#next++ % this.ports.length] ?? 0;
    return url.replaceAll("PORT", String(port));
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
      // On a machine without IPv6, nothing can reach this address.
      if (host === "127.0.0.1") throw error;
    }
  }
}
