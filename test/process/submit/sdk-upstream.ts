import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type * as z from "zod";
import { parseJson } from "../../../src/core/json.ts";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";
import {
  type Answer,
  type Api,
  APIS,
  FILE,
  type JobPath,
  type JobState,
  type SdkJob,
} from "./sdk-apis.ts";

/** Text in a request whose job starts, and whose caller is not answered. */
export const LOST = "lost";
/** States of a job at its first two reads; later it is done. */
const OPEN_STATES: readonly JobState[] = ["queued", "running"];
const NOT_FOUND: Answer = { status: 404, body: {} };
/** First part of the paths of outputs and of uploaded files, which are open to everybody who has the link. */
const STORAGE = "storage";

/** A request as an upstream has received it. */
export interface UpstreamRequest {
  readonly method: string;
  readonly connection: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** Time of its arrival, in Unix milliseconds. */
  readonly at: number;
}

/** A job that an upstream has started. */
interface StartedJob {
  readonly id: string;
  readonly connection: string;
  /** Body of the request that started it. */
  readonly body: string;
  state: JobState;
  reads: number;
}

/**
 * The upstreams whose SDKs are tested, on one loopback port. They refuse a path, a key or a body that is not as documented,
 * and send no hooks, so that the relay polls their jobs. The links in their answers lead to their own host, as those of
 * the real upstreams do, so that a client that follows one calls them itself.
 */
export class SdkUpstream extends LoopbackServer {
  readonly requests: UpstreamRequest[] = [];
  readonly #keys: readonly string[];
  readonly #jobs = new Map<string, StartedJob>();

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
    const entries = Object.keys(APIS).flatMap((name) => {
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

  /** Returns the job that a submission to a connection with this prompt has started. */
  jobOf(connection: string, text: string): SdkJob {
    const found = [...this.#jobs.values()].find(
      (job) => job.connection === connection && job.body.includes(text),
    );
    if (found === undefined) throw new Error(`no job at ${connection} has the prompt: ${text}`);
    return this.#shown(found);
  }

  /** Returns the requests that the upstreams got about a job, in order. */
  about({ id }: SdkJob): readonly UpstreamRequest[] {
    return this.requests.filter(({ path }) => path.includes(id));
  }

  /** Requests to the storage, which SDKs reach by links in answers. */
  get stored(): readonly UpstreamRequest[] {
    return this.requests.filter(({ connection }) => connection === STORAGE);
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const at = Date.now();
    const body = (await bodyOf(request)) ?? "";
    const [, connection = "", path = ""] = /^\/([\w-]+)(\/.*)$/.exec(url) ?? [];
    const received = { method, connection, path, headers, body, at };
    this.requests.push(received);
    if (body.includes(LOST)) return void response.destroy();
    const answer = this.#answer(received, APIS[connection]);
    const isBytes = Buffer.isBuffer(answer.body);
    response.writeHead(answer.status, { "Content-Type": answer.type ?? "application/json" });
    if (answer.body === null) response.end();
    else response.end(isBytes ? answer.body : JSON.stringify(answer.body));
  }

  #answer(request: UpstreamRequest, api: Api | undefined): Answer {
    const { method, connection, path, headers } = request;
    if (connection === STORAGE) {
      return { status: 200, body: Buffer.from(FILE), type: "video/mp4" };
    }
    if (api === undefined) return NOT_FOUND;
    if (!this.#keys.some((key) => hasKey(headers, api, key))) return { status: 401, body: {} };
    const call = api.calls.find((each) => each.method === method && each.path.test(path));
    if (call !== undefined) return this.#aboutJob(request, call);
    const found = method === "GET" ? api.lookups?.[path] : undefined;
    if (found !== undefined) return { status: 200, body: found };
    return method === "POST" ? this.#taken(request, api) : NOT_FOUND;
  }

  #aboutJob({ connection, path }: UpstreamRequest, call: JobPath): Answer {
    const job = this.#jobs.get(call.path.exec(path)?.[1] ?? "");
    if (job?.connection !== connection) return NOT_FOUND;
    if (call.kind === "state") readState(job);
    if (call.kind === "cancel" && job.state !== "done") job.state = "canceled";
    return call.answer(this.#shown(job));
  }

  /** Takes a file, or starts a job. */
  #taken({ connection, path, body }: UpstreamRequest, { uploads = [], submits }: Api): Answer {
    const upload = uploads.find((each) => each.path.test(path));
    const submit = submits.find((each) => each.path.test(path));
    const call = upload ?? submit;
    if (call === undefined) return NOT_FOUND;
    if (!isAsDocumented(body, call.body)) return { status: 400, body: { body } };
    if (submit === undefined) {
      const storage = `${this.#linkTo(STORAGE)}/uploads`;
      return { status: 200, body: upload?.answer(this.#linkTo(connection), storage) ?? null };
    }
    const id = `job-${randomUUID()}`;
    const job: StartedJob = { id, connection, body, state: "queued", reads: 0 };
    this.#jobs.set(id, job);
    return { status: 200, body: submit.answer(this.#shown(job)) };
  }

  #shown({ id, connection, state }: StartedJob): SdkJob {
    const output = `${this.#linkTo(STORAGE)}/${id}.mp4`;
    return { id, state, output, links: this.#linkTo(connection) };
  }

  /** Returns the URL of a part of this server in its answers. */
  #linkTo(part: string): string {
    return `${this.origin}/${part}`;
  }
}

/** Moves a job on, because its state is read. */
function readState(job: StartedJob): void {
  if (job.state === "canceled") return;
  job.state = OPEN_STATES[job.reads] ?? "done";
  job.reads += 1;
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
