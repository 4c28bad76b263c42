import type { IncomingMessage, ServerResponse } from "node:http";
import { createFalClient } from "@fal-ai/client";
import { expect, it } from "vitest";
import { LOCAL_VARS, OPERATOR_KEY } from "../harness/client.ts";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";
import { Workerd } from "../harness/workerd.ts";

const QUEUE = "https://queue.fal.run";
const REQUEST = "/fal-ai/fox/requests/764cabcf-b745-4b3e-ae38-1200304cf45b";
const RESULT = { video: { url: "https://v3.fal.media/files/fox.mp4" } };
const STATUSES = ["IN_QUEUE", "IN_PROGRESS", "COMPLETED"];

/** A fal with one request, whose status advances with each read of it. */
class FakeFal extends LoopbackServer {
  readonly reads: string[] = [];

  private constructor() {
    super((request, response) => void this.#handle(request, response));
  }

  static async start(): Promise<FakeFal> {
    return new FakeFal().listen();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "" } = request;
    await bodyOf(request);
    const [path = ""] = url.split("?");
    if (method === "GET") this.reads.push(path);
    response.setHeader("Content-Type", "application/json").end(JSON.stringify(this.#answer(path)));
  }

  #answer(path: string): object {
    if (path === REQUEST) return RESULT;
    const statuses = this.reads.filter((read) => read.endsWith("/status")).length;
    const request = QUEUE + REQUEST;
    return {
      request_id: REQUEST.slice(REQUEST.lastIndexOf("/") + 1),
      status: path.endsWith("/status")
        ? STATUSES[Math.min(statuses, STATUSES.length) - 1]
        : "IN_QUEUE",
      response_url: request,
      status_url: `${request}/status`,
      cancel_url: `${request}/cancel`,
    };
  }
}

it("subscribe of fal's SDK in the mode streaming gets each status and the result through the relay", async () => {
  await using fal = await FakeFal.start();
  const vars = { ...LOCAL_VARS, FAL_KEY: "process-test-fal-key", FAL_BASE_URL: fal.origin };
  await using relay = await Workerd.start({ vars });
  const client = createFalClient({
    credentials: OPERATOR_KEY,
    requestMiddleware: async ({ url, ...request }) => ({
      ...request,
      url: url.replace(QUEUE, `${relay.url}/v1/submit/fal`),
    }),
  });
  const seen: string[] = [];
  const { data } = await client.subscribe("fal-ai/fox/video", {
    input: { prompt: "a fox" },
    mode: "streaming",
    onQueueUpdate: ({ status }) => seen.push(status),
  });
  expect(data).toEqual(RESULT);
  // The call that submits reports the first status too.
  expect([...new Set(seen)]).toEqual(STATUSES);
});
