import type { IncomingMessage, ServerResponse } from "node:http";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";

const JSON_TYPE = { "Content-Type": "application/json" };
const VIDEO_PATHS = ["/v1/video/generations", "/v1/videos"];
const POLL_PATH = /^\/v1\/video\/generations\/(task_\d+)$/;

/** A request as the gateway has received it. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
}

/**
 * A new-api gateway (https://github.com/QuantumNous/new-api) on a loopback port. Each of its keys belongs to one user, who
 * alone sees its videos. They are complete when they are asked for the second time; images are answered at once.
 */
export class FakeNewApi extends LoopbackServer {
  readonly received: Received[] = [];
  readonly #users: Readonly<Record<string, string>>;
  readonly #videos = new Map<string, { readonly user: string; polls: number }>();

  private constructor(users: Readonly<Record<string, string>>) {
    super((request, response) => void this.#handle(request, response));
    this.#users = users;
  }

  /** Starts the gateway. @param users name of the user of each API key. */
  static async start(users: Readonly<Record<string, string>>): Promise<FakeNewApi> {
    return new FakeNewApi(users).listen();
  }

  /** Returns the keys of the requests with a method to paths that match. */
  keysOf(method: string, path: RegExp): readonly (string | undefined)[] {
    const matching = this.received.filter((one) => one.method === method && path.test(one.path));
    return matching.map(({ headers }) => headers.authorization);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "", headers } = request;
    await bodyOf(request);
    this.received.push({ method, path, headers });
    const user = this.#users[headers.authorization?.replace(/^Bearer /, "") ?? ""];
    const [status, body] = this.#answer(`${method} ${path}`, user);
    response.writeHead(status, JSON_TYPE).end(JSON.stringify(body));
  }

  #answer(call: string, user: string | undefined): readonly [status: number, body: object] {
    if (user === undefined) return [401, { error: { message: "Invalid token" } }];
    const [method, path = ""] = call.split(" ");
    if (method === "POST" && path === "/v1/images/generations") {
      return [200, { created: 1_790_000_000, data: [{ url: outputOf(`${user}.png`) }] }];
    }
    if (method === "POST" && VIDEO_PATHS.includes(path)) {
      const id = `task_${this.#videos.size + 1}`;
      this.#videos.set(id, { user, polls: 0 });
      return [200, { id, task_id: id, object: "video", status: "queued", progress: 0 }];
    }
    return this.#polled(method === "GET" ? (POLL_PATH.exec(path)?.[1] ?? "") : "", user);
  }

  #polled(id: string, user: string): readonly [status: number, body: object] {
    const video = this.#videos.get(id);
    if (video?.user !== user) {
      return [400, { code: "task_not_exist", message: "task_not_exist", data: null }];
    }
    const isDone = ++video.polls > 1;
    const state = isDone ? { status: "SUCCESS", result_url: outputOf(`${id}.mp4`) } : RUNNING;
    return [200, { code: "success", message: "", data: { id: 7, task_id: id, ...state } }];
  }
}

const RUNNING = { status: "IN_PROGRESS", progress: "50%" };

/** Returns the URL of an output of the gateway. */
export function outputOf(name: string): string {
  return `https://cdn.example.com/${name}`;
}
