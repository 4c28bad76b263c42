import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:net";
import { expect, it } from "vitest";
import * as z from "zod";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { bodyOf, LoopbackServer, portOf } from "../harness/loopback.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { ARK_MODEL, ARK_TASKS } from "./fake-ark.ts";
import { TlsFront } from "./relay-front.ts";

const Answer = z.looseObject({ code: z.optional(z.string()) });
const CALL = { model: ARK_MODEL, content: [{ type: "text", text: "a fox" }] };

/**
 * A server that answers one request on each connection, and resets the connection at the first bytes of the next one,
 * like a server that closes an idle connection just when a request arrives.
 */
class ClosingServer extends LoopbackServer {
  /** Paths of the requests that were read. */
  readonly paths: string[] = [];
  readonly #used = new WeakSet<object>();

  static async start(): Promise<ClosingServer> {
    return new ClosingServer().listen();
  }

  private constructor() {
    super((request, response) => void this.#handle(request, response));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#used.has(request.socket)) return void request.socket.resetAndDestroy();
    this.#used.add(request.socket);
    await bodyOf(request);
    this.paths.push(request.url ?? "");
    response.writeHead(200, { "Content-Type": "application/json" }).end('{"id": "cgt-1"}');
  }
}

/** A TCP server that closes each connection: at once, or at its first bytes, without an answer. */
class HangingUpServer implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.port = portOf(server);
  }

  static async start(isAtOnce: boolean): Promise<HangingUpServer> {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      if (isAtOnce) socket.destroy();
      else socket.once("data", () => socket.resetAndDestroy());
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new HangingUpServer(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    await once(this.#server, "close");
  }
}

const server = await forThisFile(ClosingServer.start());
const untrusted = await forThisFile(TlsFront.start(server.origin));
const hangingUp = await forThisFile(HangingUpServer.start(true));
const resetting = await forThisFile(HangingUpServer.start(false));
const { origin: closed } = new URL(await closedPort());
const relay = await forThisFile(
  Workerd.start({
    vars: {
      ...LOCAL_VARS,
      CALLBACK_SCHEDULE_S: "0,1,1",
      EXTRA_BASE_HOSTS: "ark.invalid",
      CONNECTIONS: JSON.stringify({
        closing: { provider: "ark", base_url: server.origin, key: "test-only-key" },
        closed: { provider: "ark", base_url: closed, key: "test-only-key" },
        nameless: { provider: "ark", base_url: "https://ark.invalid", key: "test-only-key" },
        untrusted: { provider: "ark", base_url: untrusted.origin, key: "test-only-key" },
        plain: {
          provider: "ark",
          base_url: server.origin.replace("http:", "https:"),
          key: "test-only-key",
        },
        "hanging-up": {
          provider: "ark",
          base_url: `https://localhost:${hangingUp.port}`,
          key: "test-only-key",
        },
        resetting: {
          provider: "ark",
          base_url: `http://localhost:${resetting.port}`,
          key: "test-only-key",
        },
      }),
    },
  }),
);

/** Submits a job. @returns the code of the problem that is the answer, else its HTTP status. */
async function submit(connection: string, key: string): Promise<string | number> {
  const path = `/v1/submit/${connection}${ARK_TASKS}`;
  const headers = { "Idempotency-Key": key };
  const response = await relay.client.send("POST", path, CALL, { headers });
  const problem = Answer.parse(await response.json());
  return problem.code ?? response.status;
}

it("on plain workerd, submissions reach a host that closes each connection as soon as a second request is sent on it", async () => {
  const statuses = [];
  for (let i = 0; i < 3; i += 1) statuses.push(await submit("closing", randomUUID()));
  expect(statuses).toEqual([200, 200, 200]);
  expect(server.paths.filter((path) => path === ARK_TASKS)).toHaveLength(3);
});

it("on plain workerd, the first attempt of each callback reaches a host that closes each connection as soon as a second request is sent on it", async () => {
  for (let i = 0; i < 3; i += 1) {
    const id = await relay.client.finish(`${server.origin}/callback`);
    const { callback } = await relay.client.settled(id);
    expect(callback?.attempts).toMatchObject([{ outcome: "delivered" }]);
  }
  expect(server.paths.filter((path) => path === "/callback")).toHaveLength(3);
});

it("on plain workerd, a receiver that reads a callback and then closes the connection gets three requests in total, one per attempt", async () => {
  await using receiver = await Receiver.start();
  const id = await relay.client.finish(receiver.at("/closing", { kind: "close" }));
  const { callback } = await relay.client.settled(id);
  expect(callback?.attempts).toMatchObject(
    [1, 2, 3].map((number) => ({ number, outcome: "unreachable" })),
  );
  expect(receiver.postsAt("/closing")).toHaveLength(3);
});

it.each(["closed", "nameless", "untrusted", "plain", "hanging-up"])(
  "on plain workerd, a submission whose connection cannot be opened (%s) is not sent: it gets 503 unavailable, and its Idempotency-Key stays free",
  async (connection) => {
    const key = randomUUID();
    const before = server.paths.length;
    expect(await submit(connection, key)).toBe("unavailable");
    expect(server.paths).toHaveLength(before);
    expect(await submit("closing", key)).toBe(200);
  },
);

it("on plain workerd, a submission whose connection breaks after the request was sent is answered with submit_unknown, and so is its repetition", async () => {
  const key = randomUUID();
  expect(await submit("resetting", key)).toBe("submit_unknown");
  expect(await submit("resetting", key)).toBe("submit_unknown");
});
