import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { pipeline, Transform } from "node:stream";
import { portOf } from "../harness/loopback.ts";

/** Number of bytes at the start of a request that contain its method. */
const METHOD_BYTES = 8;
/** Pattern of a header that makes a write conditional. */
const CONDITION = /\r\nif-(?:none-)?match: [^\r]*/gi;

/**
 * A server between the nodes of a cluster and their store, which can make the store slow, leave conditions out, and counts the requests to it. The
 * store takes one request on a connection.
 */
export class StoreFront implements Disposable {
  /** Shortest time in milliseconds from a request of a node to the store's answer. */
  delayMs = 0;
  /** True to leave out the conditions of writes, as a store does that knows none. */
  ignoresConditions = false;
  /** Numbers of requests by their method, e.g. `PUT`. */
  readonly counts = new Map<string, number>();
  readonly #server: Server;
  readonly #storePort: number;

  private constructor(storePort: number) {
    this.#storePort = storePort;
    this.#server = createServer((client) => this.#pass(client));
  }

  static async start(storePort: number): Promise<StoreFront> {
    const front = new StoreFront(storePort);
    front.#server.listen(0, "127.0.0.1");
    await once(front.#server, "listening");
    return front;
  }

  get origin(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  [Symbol.dispose](): void {
    this.#server.close();
  }

  #pass(client: Socket): void {
    const store = connect(this.#storePort, "127.0.0.1");
    client.once("data", (start: Buffer) => {
      const [method = ""] = start.toString("latin1", 0, METHOD_BYTES).split(" ");
      this.counts.set(method, (this.counts.get(method) ?? 0) + 1);
    });
    // A node may give a request up.
    if (this.ignoresConditions) pipeline(client, withoutConditions(), store, () => {});
    else pipeline(client, store, () => {});
    setTimeout(() => {
      if (client.destroyed) store.destroy();
      else pipeline(store, client, () => {});
    }, this.delayMs);
  }
}

/** Leaves the conditions out of a request, which workerd does not sign. */
function withoutConditions(): Transform {
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      const text = piece.toString("latin1").replaceAll(CONDITION, "");
      done(null, Buffer.from(text, "latin1"));
    },
  });
}
