import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { LOCAL_VARS } from "../harness/client.ts";
import { forThisFile } from "../harness/for-this-file.ts";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";
import { closedPort, Receiver } from "../harness/receiver.ts";
import { Workerd } from "../harness/workerd.ts";
import { ARK_MODEL, ARK_TASKS } from "./fake-ark.ts";

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

const server = await forThisFile(ClosingServer.start());
const { origin: closed } = new URL(await closedPort());
const relay = await forThisFile(
  Workerd.start({
    vars: {
      ...LOCAL_VARS,
      CALLBACK_SCHEDULE_S: "0,1,1",
      CONNECTIONS: JSON.stringify({
        closing: { provider: "ark", base_url: server.origin, key: "test-only-key" },
        closed: { provider: "ark", base_url: closed, key: "test-only-key" },
      }),
    },
  }),
);

async function submit(connection: string, key: string): Promise<number> {
  const path = `/v1/submit/${connection}${ARK_TASKS}`;
  const headers = { "Idempotency-Key": key };
  const response = await relay.client.send("POST", path, CALL, { headers });
  await response.text();
  return response.status;
}

it("on plain workerd, submissions arrive at a host that closes each connection just when a second request is sent on it", async () => {
  const statuses = [];
  for (let i = 0; i < 3; i += 1) statuses.push(await submit("closing", randomUUID()));
  expect(statuses).toEqual([200, 200, 200]);
  expect(server.paths.filter((path) => path === ARK_TASKS)).toHaveLength(3);
});

it("on plain workerd, the first attempt of each callback arrives at a host that closes each connection just when a second request is sent on it", async () => {
  for (let i = 0; i < 3; i += 1) {
    const id = await relay.client.finish(`${server.origin}/callback`);
    const { callback } = await relay.client.settled(id);
    expect(callback?.attempts).toMatchObject([{ outcome: "delivered" }]);
  }
  expect(server.paths.filter((path) => path === "/callback")).toHaveLength(3);
});

it("on plain workerd, a receiver that reads a callback and closes the connection gets three requests in all", async () => {
  await using receiver = await Receiver.start();
  const id = await relay.client.finish(receiver.at("/closing", { kind: "close" }));
  const { callback } = await relay.client.settled(id);
  expect(callback?.attempts).toMatchObject(
    [1, 2, 3].map((number) => ({ number, outcome: "unreachable" })),
  );
  expect(receiver.postsAt("/closing")).toHaveLength(3);
});

it("on plain workerd, a submission whose connection cannot be opened is refused with 523, and its Idempotency-Key stays free", async () => {
  const key = randomUUID();
  expect(await submit("closed", key)).toBe(523);
  expect(await submit("closing", key)).toBe(200);
});
