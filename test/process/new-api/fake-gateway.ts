import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";

/** A request as the gateway received it. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body: string;
}

/** Answers of the gateway to a submit of these models, in place of a new video. */
const REFUSALS = new Map<string, readonly [status: number, body: string]>([
  ["refused", [400, '{"code":"invalid_request","message":"prompt is required","data":null}']],
  ["no-channel", [503, '{"error":{"code":"model_not_found","message":"No channel."}}']],
  ["proxy-timeout", [504, "<html>504 Gateway Time-out</html>"]],
]);

const SUBMIT_PATH = /^\/(?:v1\/video\/generations|v1\/videos|kling\/v1\/videos\/text2video)$/;
/** Link of every image of a model whose name does not begin with `gpt-`. */
export const IMAGE = "https://cdn.example.com/fox.png";
/** Content of every other image, of speech, and of texts. */
export const PICTURE = Buffer.from(`\u0089PNG\r\n\u001a\n${"p".repeat(3_000)}`, "latin1");
export const SPEECH = Buffer.from(`ID3\u0004${"s".repeat(3_000)}`, "latin1");
export const TRANSCRIPTION = { text: "A fox." };
export const CHAT = { choices: [{ message: { role: "assistant", content: "A fox." } }] };
/** Time that the gateway takes for the answer to a slow call, in milliseconds. */
const SLOW_MS = 500;
const POLL_PATH = /^\/v1\/video\/generations\/(task_\w+)$/;

/** A new-api gateway on loopback, whose videos and images are complete at once. Its keys belong to one user each. */
export class FakeGateway extends LoopbackServer {
  readonly received: Received[] = [];
  readonly #users: ReadonlyMap<string, string>;
  /** Users to whom the videos belong, by task id. */
  readonly #videos = new Map<string, string>();

  private constructor(users: ReadonlyMap<string, string>) {
    super((request, response) => void this.#handle(request, response));
    this.#users = users;
  }

  /** Starts the gateway. @param users name of the user of each API key. */
  static async start(users: Readonly<Record<string, string>>): Promise<FakeGateway> {
    return new FakeGateway(new Map(Object.entries(users))).listen();
  }

  /** Returns the submissions of a model. */
  submissionsOf(model: string): readonly Received[] {
    return this.received.filter(({ method, body }) => method === "POST" && body.includes(model));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "", headers } = request;
    const body = (await bodyOf(request)) ?? "";
    const key = headers.authorization?.replace(/^Bearer /, "") ?? "";
    this.received.push({ method, path, key, body });
    const user = this.#users.get(key);
    const [pathname = ""] = path.split("?");
    const polled = POLL_PATH.exec(pathname)?.[1];
    if (user === undefined) answer(response, 401, '{"error":{"message":"Invalid token"}}');
    else if (polled !== undefined) answer(response, ...this.#video(polled, user));
    else this.#post(pathname, body, user, response);
  }

  #post(path: string, body: string, user: string, response: ServerResponse): void {
    const slow = SLOW_ANSWERS.get(path);
    if (SUBMIT_PATH.test(path)) this.#submit(body, user, response);
    else if (slow !== undefined) setTimeout(() => slow(response, body), SLOW_MS);
    else answer(response, 404, '{"error":{"message":"Invalid URL"}}');
  }

  #video(id: string, user: string): [number, string] {
    const missing = { code: "task_not_exist", message: "task_not_exist", data: null };
    if (this.#videos.get(id) !== user) return [400, JSON.stringify(missing)];
    const data = {
      id: 7,
      task_id: id,
      status: "SUCCESS",
      fail_reason: "",
      result_url: `https://cdn.example.com/${id}.mp4`,
      progress: "100%",
    };
    return [200, JSON.stringify({ code: "success", message: "", data })];
  }

  #submit(body: string, user: string, response: ServerResponse): void {
    const model = /"model(?:_name)?":"([\w-]+)"/.exec(body)?.[1] ?? "";
    if (model === "lost") return void response.destroy();
    const refusal = REFUSALS.get(model);
    if (refusal !== undefined) return answer(response, ...refusal);
    const id = `task_${randomBytes(16).toString("hex")}`;
    this.#videos.set(id, user);
    const video = { id, task_id: id, object: "video", model, status: "queued", progress: 0 };
    answer(response, 200, JSON.stringify(video));
  }
}

/** Functions that send the answers at the paths whose answers are the results. */
const SLOW_ANSWERS = new Map<string, (response: ServerResponse, body: string) => void>([
  ["/v1/images/generations", sendImage],
  ["/v1/images/edits", sendImage],
  [
    "/v1/audio/speech",
    (response) => void response.writeHead(200, { "Content-Type": "audio/mpeg" }).end(SPEECH),
  ],
  ["/v1/audio/transcriptions", (response) => answer(response, 200, JSON.stringify(TRANSCRIPTION))],
  ["/v1/chat/completions", (response) => answer(response, 200, JSON.stringify(CHAT))],
]);

function sendImage(response: ServerResponse, body: string): void {
  const isInline = /\bgpt-image/.test(body);
  const image = isInline ? { b64_json: PICTURE.toString("base64") } : { url: IMAGE };
  const usage = {
    input_tokens: 9,
    input_tokens_details: { image_tokens: 0, text_tokens: 9 },
    output_tokens: 272,
    total_tokens: 281,
  };
  const data = [{ ...image, revised_prompt: "a fox" }];
  answer(response, 200, JSON.stringify({ created: 1788400582, data, size: "1024x1024", usage }));
}

function answer(response: ServerResponse, status: number, body: string): void {
  const type = body.startsWith("{") ? "application/json" : "text/html";
  const headers = { "Content-Type": type, "Content-Encoding": "gzip" };
  response.writeHead(status, headers).end(gzipSync(body));
}
