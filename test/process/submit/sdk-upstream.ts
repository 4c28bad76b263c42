import type { IncomingMessage, ServerResponse } from "node:http";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";

/** Text in a request whose job starts, and whose caller is not answered. */
export const LOST = "a fox that gets lost";
const JOB = "job-4711";
const OUTPUT = "https://cdn.example.com/fox.mp4";
const JSON_TYPE = { "Content-Type": "application/json" };

/** Answers of Replicate, fal and gateways with OpenAI's API, by method and path. */
const ANSWERS: readonly (readonly [call: RegExp, body: object])[] = [
  [/^POST \/v1\/models\/[^/]+\/[^/]+\/predictions$/, { id: JOB, status: "starting", input: {} }],
  [/^GET \/v1\/predictions\//, { id: JOB, status: "succeeded", input: {}, output: OUTPUT }],
  [/^POST \/fal-ai\/[\w/-]+\?/, { request_id: JOB, status: "IN_QUEUE" }],
  [/^GET \/fal-ai\/.*\/status$/, { request_id: JOB, status: "COMPLETED" }],
  [/^GET \/fal-ai\//, { video: { url: OUTPUT } }],
  [/^POST \/v1\/videos$/, { id: JOB, object: "video", status: "queued" }],
  [/^GET \/v1\/videos\//, { id: JOB, object: "video", status: "completed", url: OUTPUT }],
  [/^POST \/v1\/images\/generations$/, { created: 1_790_000_000, data: [{ url: OUTPUT }] }],
];

/** The upstreams whose SDKs are tested, on one loopback port. They send no hooks, so that the relay polls their jobs. */
export class SdkUpstream extends LoopbackServer {
  /** Submissions, each with its path and query. */
  readonly #submits: { readonly path: string; readonly body: string }[] = [];

  private constructor() {
    super((request, response) => void this.#handle(request, response));
  }

  static async start(): Promise<SdkUpstream> {
    return new SdkUpstream().listen();
  }

  /** Variables of a relay whose connections lead here. */
  get vars(): Readonly<Record<string, string>> {
    const key = "process-test-sdk-key";
    return {
      REPLICATE_BASE_URL: this.origin,
      REPLICATE_API_TOKEN: key,
      FAL_BASE_URL: this.origin,
      FAL_KEY: key,
      OPENAI_VIDEOS_BASE_URL: this.origin,
      OPENAI_VIDEOS_API_KEY: key,
    };
  }

  /** Returns the number of submissions to a path with a prompt. */
  countOf(path: RegExp, prompt: string): number {
    return this.#submits.filter((each) => path.test(each.path) && each.body.includes(prompt))
      .length;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "" } = request;
    const body = (await bodyOf(request)) ?? "";
    if (method === "POST") this.#submits.push({ path, body });
    if (body.includes(LOST)) return void response.destroy();
    const answer = ANSWERS.find(([call]) => call.test(`${method} ${path}`))?.[1];
    response.writeHead(answer === undefined ? 404 : 200, JSON_TYPE);
    response.end(JSON.stringify(answer ?? {}));
  }
}

/** Id and output of the job that the upstreams name. */
export const SDK_JOB = { id: JOB, output: OUTPUT };
