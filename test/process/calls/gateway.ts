import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { LoopbackServer } from "../harness/loopback.ts";

const KEY = "process-test-gateway-key";

/** A call that the gateway has received. */
export interface ReceivedCall {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** Size of the body in bytes, and its SHA-256 in hex. */
  readonly bytes: number;
  readonly digest: string;
}

/** Answers a call, at any time. */
type Answering = (call: ReceivedCall, response: ServerResponse) => void;

/** A gateway (https://github.com/QuantumNous/new-api) on a loopback port, whose answers the test writes. */
export class Gateway extends LoopbackServer {
  /** Calls whose bodies have arrived, in their order. */
  readonly calls: ReceivedCall[] = [];
  readonly #answer: Answering;

  private constructor(answer: Answering) {
    super((request, response) => void this.#take(request, response));
    this.#answer = answer;
  }

  static async start(answer: Answering): Promise<Gateway> {
    return new Gateway(answer).listen();
  }

  /** Variables of a relay whose connection `newapi` leads here. */
  get vars(): Readonly<Record<string, string>> {
    return { NEWAPI_BASE_URL: this.origin, NEWAPI_API_KEY: KEY };
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The relay may be killed while it sends, and while it is answered.
    response.on("error", () => {});
    const digest = createHash("sha256");
    let bytes = 0;
    try {
      for await (const piece of request) {
        digest.update(piece);
        bytes += piece.length;
      }
    } catch {
      return;
    }
    const { url: path = "", headers } = request;
    const call = { path, headers, bytes, digest: digest.digest("hex") };
    this.calls.push(call);
    this.#answer(call, response);
  }
}
