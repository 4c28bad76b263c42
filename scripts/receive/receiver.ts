import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { LOOPBACK } from "../dev/port.ts";
import type { ReceiveOptions } from "./options.ts";
import { reportOf } from "./report.ts";
import { type Received, verdictOn } from "./verdict.ts";

const NO_CONTENT = 204;

/**
 * HTTP server that prints each callback and whether its signature is valid, and answers as the options say.
 */
export class CallbackReceiver {
  readonly #options: ReceiveOptions;
  /** Number of attempts that have come of each callback, by `webhook-id`. */
  readonly #counts = new Map<string, number>();

  constructor(options: ReceiveOptions) {
    this.#options = options;
  }

  /** Description of what the server answers. */
  get plan(): string {
    const { failures, failure } = this.#options;
    if (failures === 0) return "answers: 204";
    const failed = failures === Infinity ? "all attempts" : `first ${failures} of each callback`;
    return `answers: ${textOf(failure)} (${failed})${failures === Infinity ? "" : ", then 204"}`;
  }

  /** Listens on an address; does nothing for an IPv6 address where the machine has no IPv6. */
  async listen(host: string): Promise<void> {
    const server = createServer((request, response) => void this.#receive(request, response));
    server.listen(this.#options.port, host);
    await once(server, "listening").catch((error: unknown) => {
      if (host === LOOPBACK[0]) throw error;
    });
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "/", headers } = request;
    if (method !== "POST") return void response.writeHead(405, { Allow: "POST" }).end();
    const body = await bodyOf(request);
    if (body === null) return;
    const received = { path: url, headers, body };
    const answer = this.#nextAnswer(received);
    console.log(reportOf(received, await verdictOn(received, this.#options), textOf(answer)));
    if (answer !== "hang") response.writeHead(answer).end();
  }

  /** Counts the attempt of the callback and chooses the answer to it. */
  #nextAnswer({ headers }: Received): number | "hang" {
    const id = String(headers["webhook-id"]);
    const count = (this.#counts.get(id) ?? 0) + 1;
    this.#counts.set(id, count);
    return count <= this.#options.failures ? this.#options.failure : NO_CONTENT;
  }
}

function textOf(answer: number | "hang"): string {
  return answer === "hang" ? "none" : String(answer);
}

/** Reads the body of a request; null when the connection breaks before its end. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  let body = "";
  try {
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
  } catch {
    return null;
  }
  return body;
}
