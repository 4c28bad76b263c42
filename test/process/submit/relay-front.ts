import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream";
import { createServer, type Server } from "node:tls";
import { promisify } from "node:util";
import { forward, LoopbackServer, portOf } from "../harness/loopback.ts";

/** Beginning of an `Idempotency-Key` whose calls get no answer. */
export const BROKEN = "broken";

/** A call as a client has sent it. */
interface ClientCall {
  readonly method: string;
  readonly path: string;
  /** Its `Idempotency-Key`. */
  readonly key: string;
}

/** A proxy in front of a relay. It breaks the connection of calls with certain keys when the relay has answered them. */
export class RelayFront extends LoopbackServer {
  readonly #calls: ClientCall[] = [];

  private constructor(relay: () => string) {
    super((request, response) => this.#forward(relay(), request, response));
  }

  /** Starts it. @param relay returns the URL of the relay, which may start later. */
  static async start(relay: () => string): Promise<RelayFront> {
    return new RelayFront(relay).listen();
  }

  /** Returns the number of submissions with an `Idempotency-Key`. */
  countOf(key: string): number {
    return this.#calls.filter((call) => call.method === "POST" && call.key === key).length;
  }

  /** Returns the number of reads of a job. */
  readsOf(jobId: string): number {
    return this.#calls.filter(({ method, path }) => method === "GET" && path.includes(jobId))
      .length;
  }

  #forward(relay: string, request: IncomingMessage, response: ServerResponse): void {
    const { method = "", url: path = "", headers } = request;
    const key = String(headers["idempotency-key"]);
    this.#calls.push({ method, path, key });
    if (!key.startsWith(BROKEN)) return forward(relay, request, response);
    forward(relay, request, response, (answer) => {
      answer.resume();
      answer.once("end", () => response.destroy());
    });
  }
}

/** Speaks TLS in front of a server, with a certificate of its own. Needs the command `openssl`. */
export class TlsFront implements AsyncDisposable {
  readonly origin: string;
  /** File of the certificate that clients must trust. */
  readonly certificate: string;
  readonly #directory: string;
  readonly #server: Server;

  private constructor(server: Server, directory: string, certificate: string) {
    this.#server = server;
    this.#directory = directory;
    this.origin = `https://localhost:${portOf(server)}`;
    this.certificate = certificate;
  }

  /** Starts in front of the server at an `http:` origin. */
  static async start(origin: string): Promise<TlsFront> {
    const directory = await mkdtemp(join(tmpdir(), "task-relay-tls-"));
    const [key, certificate] = [join(directory, "key.pem"), join(directory, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    const files = ["-newkey", "rsa:2048", "-keyout", key, "-out", certificate];
    await promisify(execFile)("openssl", ["req", "-x509", "-nodes", ...files, ...subject]);
    const pair = { key: await readFile(key), cert: await readFile(certificate) };
    const server = createServer(pair, (socket) => {
      const inner = connect(Number(new URL(origin).port), "127.0.0.1");
      // A client may hang up, or the server behind may break the connection.
      pipeline(socket, inner, socket, () => {});
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new TlsFront(server, directory, certificate);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
