import type { IncomingMessage, ServerResponse } from "node:http";
import * as z from "zod";
import { parseJson } from "../../../src/core/json.ts";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";

/** Text in a request whose job starts, and whose caller is not answered. */
export const LOST = "lost";
const JOB = "job-4711";
const OUTPUT = "https://cdn.example.com/fox.mp4";
const NOW = "2026-01-01T00:00:00.000Z";
const JSON_TYPE = { "Content-Type": "application/json" };

/** A call of an upstream's API. A body that the pattern or schema does not match is refused. */
interface SubmitPath {
  readonly path: RegExp;
  readonly body: z.ZodType | RegExp;
  readonly answer: object;
}

/** The part of an upstream's API that its fake takes, by the upstream's documentation. */
interface Api {
  /** What stands before the key in `Authorization`; null where the key stands alone in `x-goog-api-key`. */
  readonly scheme: "Bearer" | "Key" | null;
  readonly submits: readonly SubmitPath[];
  readonly polls: readonly (readonly [path: RegExp, answer: object])[];
}

const prompt = z.string().startsWith("a ");
const hookUrl = z.string().includes("/hooks/");
const images: SubmitPath = {
  path: /^\/v1\/images\/generations$/,
  body: z.strictObject({ model: z.string(), prompt }),
  answer: { created: 1_790_000_000, data: [{ url: OUTPUT }] },
};
/** The call for a video, whose body is a form. */
const videos: SubmitPath = {
  path: /^\/v1\/videos$/,
  body: /name="prompt"\r\n(?:.+\r\n)*\r\na /,
  answer: { id: JOB, task_id: JOB, object: "video", status: "queued" },
};
const prediction = {
  id: JOB,
  model: "acme/fox",
  version: "hidden",
  input: {},
  output: null,
  logs: "",
  error: null,
  created_at: NOW,
  urls: { get: `https://api.replicate.com/v1/predictions/${JOB}`, cancel: "" },
};
const queueUrl = `https://queue.fal.run/fal-ai/fox/requests/${JOB}`;
const queued = {
  request_id: JOB,
  response_url: queueUrl,
  status_url: `${queueUrl}/status`,
  cancel_url: `${queueUrl}/cancel`,
  status: "IN_QUEUE",
  queue_position: 0,
};

/** The APIs by the name of the connection, which is also the first part of their paths. */
const APIS = {
  replicate: {
    scheme: "Bearer",
    submits: [
      {
        path: /^\/v1\/models\/acme\/fox\/predictions$/,
        body: z.strictObject({ input: z.strictObject({ prompt }), webhook: hookUrl }),
        answer: { ...prediction, status: "starting" },
      },
    ],
    polls: [[/^\/v1\/predictions\//, { ...prediction, status: "succeeded", output: OUTPUT }]],
  },
  fal: {
    scheme: "Key",
    submits: [
      {
        path: /^\/fal-ai\/fox\/video\?fal_webhook=/,
        body: z.strictObject({ prompt }),
        answer: queued,
      },
    ],
    polls: [
      [/\/status$/, { request_id: JOB, status: "COMPLETED" }],
      [/^\/fal-ai\/fox\/requests\//, { video: { url: OUTPUT } }],
    ],
  },
  "openai-videos": {
    scheme: "Bearer",
    submits: [images, videos],
    polls: [[/^\/v1\/videos\//, { id: JOB, object: "video", status: "completed", url: OUTPUT }]],
  },
  newapi: {
    scheme: "Bearer",
    submits: [images, videos],
    polls: [
      [
        /^\/v1\/video\/generations\//,
        { code: "success", data: { task_id: JOB, status: "SUCCESS", result_url: OUTPUT } },
      ],
    ],
  },
  runway: {
    scheme: "Bearer",
    submits: [
      {
        path: /^\/v1\/text_to_video$/,
        body: z.strictObject({
          model: z.string(),
          promptText: prompt,
          ratio: z.string(),
          duration: z.int(),
        }),
        answer: { id: JOB },
      },
    ],
    polls: [[/^\/v1\/tasks\//, { id: JOB, createdAt: NOW, status: "SUCCEEDED", output: [OUTPUT] }]],
  },
  luma: {
    scheme: "Bearer",
    submits: [
      {
        path: /^\/generations\/video$/,
        body: z.strictObject({ model: z.string(), prompt, callback_url: hookUrl }),
        answer: { id: JOB, generation_type: "video", state: "queued" },
      },
    ],
    polls: [[/^\/generations\//, { id: JOB, state: "completed", assets: { video: OUTPUT } }]],
  },
  gemini: {
    scheme: null,
    submits: [
      {
        path: /^\/v1\/interactions$/,
        body: z.strictObject({
          model: z.string(),
          input: prompt,
          background: z.literal(true),
          response_format: z.strictObject({ type: z.literal("video"), delivery: z.literal("uri") }),
          webhook_config: z.strictObject({ uris: z.tuple([hookUrl]) }),
        }),
        answer: { id: JOB, object: "interaction", status: "in_progress" },
      },
    ],
    polls: [
      [
        /^\/v1beta\/interactions\//,
        {
          id: JOB,
          status: "completed",
          steps: [{ type: "model_output", content: [{ type: "video", uri: OUTPUT }] }],
        },
      ],
    ],
  },
  ark: {
    scheme: "Bearer",
    submits: [
      {
        path: /^\/contents\/generations\/tasks$/,
        body: z.looseObject({
          model: z.string(),
          content: z.tuple([z.strictObject({ type: z.literal("text"), text: prompt })]),
          callback_url: hookUrl,
        }),
        answer: { id: JOB },
      },
    ],
    polls: [[/^\/contents\//, { id: JOB, status: "succeeded", content: { video_url: OUTPUT } }]],
  },
} satisfies Readonly<Record<string, Api>>;
const apis: ReadonlyMap<string, Api> = new Map(Object.entries(APIS));

/** A request as an upstream has received it. */
export interface UpstreamRequest {
  readonly method: string;
  readonly connection: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/**
 * The upstreams whose SDKs are tested, on one loopback port. They refuse a path, a key or a body that is not as documented,
 * and send no hooks, so that the relay polls their jobs.
 */
export class SdkUpstream extends LoopbackServer {
  readonly requests: UpstreamRequest[] = [];
  readonly #keys: readonly string[];

  private constructor(keys: readonly string[]) {
    super((request, response) => void this.#handle(request, response));
    this.#keys = keys;
  }

  /** Starts the upstreams. @param keys API keys that they know. */
  static async start(...keys: readonly string[]): Promise<SdkUpstream> {
    return new SdkUpstream(keys).listen();
  }

  /** Variables of a relay whose connections lead here, each with this key. */
  varsWith(key: string): Readonly<Record<string, string>> {
    const entries = [...apis.keys()].flatMap((name) => {
      const prefix = name.toUpperCase().replaceAll("-", "_");
      const keyName = name === "replicate" ? "REPLICATE_API_TOKEN" : `${prefix}_API_KEY`;
      return [
        [`${prefix}_BASE_URL`, `${this.origin}/${name}`],
        [name === "fal" ? "FAL_KEY" : keyName, key],
      ];
    });
    return Object.fromEntries(entries);
  }

  /** Returns the submissions to a connection with this prompt. */
  submitted(connection: string, text: string): readonly UpstreamRequest[] {
    return this.requests.filter(
      (each) =>
        each.method === "POST" && each.connection === connection && each.body.includes(text),
    );
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const body = (await bodyOf(request)) ?? "";
    const [, connection = "", path = ""] = /^\/([\w-]+)(\/.*)$/.exec(url) ?? [];
    this.requests.push({ method, connection, headers, body });
    if (body.includes(LOST)) return void response.destroy();
    const [status, answer] = this.#answer(apis.get(connection), `${method} ${path}`, headers, body);
    response.writeHead(status, JSON_TYPE).end(JSON.stringify(answer));
  }

  #answer(
    api: Api | undefined,
    call: string,
    headers: IncomingMessage["headers"],
    body: string,
  ): readonly [status: number, body: object] {
    if (api === undefined) return [404, {}];
    if (!this.#keys.some((key) => hasKey(headers, api, key))) return [401, {}];
    const [method, path = ""] = call.split(" ");
    if (method === "GET") {
      const answer = api.polls.find(([pattern]) => pattern.test(path))?.[1];
      return answer === undefined ? [404, {}] : [200, answer];
    }
    const submit = api.submits.find((each) => each.path.test(path));
    if (submit === undefined) return [404, {}];
    return isAsDocumented(body, submit.body) ? [200, submit.answer] : [400, { body }];
  }
}

function hasKey(headers: IncomingMessage["headers"], { scheme }: Api, key: string): boolean {
  if (scheme === null) return headers["x-goog-api-key"] === key;
  return headers.authorization === `${scheme} ${key}`;
}

/** Returns the key with which a call was sent to an upstream. */
export function keyIn({ headers }: UpstreamRequest): unknown {
  return headers["x-goog-api-key"] ?? headers.authorization?.split(" ")[1];
}

function isAsDocumented(body: string, expected: z.ZodType | RegExp): boolean {
  if (expected instanceof RegExp) return expected.test(body);
  return expected.safeParse(parseJson(body)).success;
}

/** Id and output of the job that the upstreams name. */
export const SDK_JOB = { id: JOB, output: OUTPUT };
