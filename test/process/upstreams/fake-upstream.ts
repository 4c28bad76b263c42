import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../harness/child.ts";
import { type ApiAnswer, type Job, type JobState, type UpstreamApi } from "./api.ts";
import { APIS, FAL_KEY } from "./apis.ts";

/** What the upstreams do instead of answering a poll. */
export type PollTrouble =
  | { readonly kind: "redirect"; readonly location: string }
  /** Answers once this is settled. */
  | { readonly kind: "hold"; readonly until: Promise<unknown> };

/** A poll as it came; `status` is what it was answered with. */
export interface SeenPoll {
  readonly provider: string;
  readonly jobId: string;
  readonly status: number;
}

/** Six providers on one loopback port, each under the base URL of its API. */
export class Upstream implements AsyncDisposable {
  /** Submitted jobs by id. */
  readonly jobs = new Map<string, Job>();
  readonly polls: SeenPoll[] = [];
  /** By job; the others are answered truthfully. */
  readonly trouble = new Map<string, PollTrouble>();
  /** Polls that are held open now, by job. */
  readonly held = new Set<string>();
  /** Where fal publishes its keys, from the root on. */
  readonly jwksPath = "/fal-keys/jwks.json";
  readonly #server: Server;
  #port = 0;
  #submissions = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      void this.#handle(request, response);
    });
  }

  static async start(): Promise<Upstream> {
    const upstream = new Upstream();
    upstream.#port = await freePort();
    // A connection closed for idleness may meet a poll that is on its way, and loses it.
    upstream.#server.keepAliveTimeout = 600_000;
    upstream.#server.listen(upstream.#port, "127.0.0.1");
    await once(upstream.#server, "listening");
    return upstream;
  }

  /** As `CONNECTIONS`: for each provider one that may ask (`ark-keyed`), and one that may not. */
  get connections(): string {
    const entries = APIS.flatMap(({ provider, base, key, secrets }) => {
      const jwks = provider === "fal" ? { jwks_url: `${this.origin}${this.jwksPath}` } : {};
      const known = { provider, base_url: `${this.origin}${base}`, ...secrets, ...jwks };
      return [
        [`${provider}-keyed`, { ...known, key }],
        [`${provider}-plain`, known],
      ];
    });
    return JSON.stringify(Object.fromEntries(entries));
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  job(id: string): Job {
    const job = this.jobs.get(id);
    if (job === undefined) throw new Error(`there is no job ${id}`);
    return job;
  }

  /** What the job is to be asked for from now on. */
  set(id: string, state: JobState): void {
    this.job(id).state = state;
  }

  /**
   * Posts a hook in the provider's form and with its signature.
   * @returns status and body of the relay's answer; null: the provider sends none in this state.
   */
  async hook(
    { provider, hook, sign }: UpstreamApi,
    id: string,
    state: JobState,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly text: string } | null> {
    const job = this.job(id);
    const body = hook(job, state);
    if (body === null) return null;
    const text = JSON.stringify(body);
    const signed = headers ?? sign(job, text);
    const sent = { "Content-Type": "application/json", "User-Agent": provider, ...signed };
    const response = await fetch(job.hookUrl, { method: "POST", headers: sent, body: text });
    return { status: response.status, text: await response.text() };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The relay gives up polls whose task has ended.
    response.on("error", () => {});
    const url = request.url ?? "";
    const answer = await this.#answer(url, request, response);
    if (answer === null || response.destroyed) return;
    response.writeHead(answer.status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(answer.body));
  }

  async #answer(
    url: string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<ApiAnswer | null> {
    if (url === this.jwksPath) return { status: 200, body: { keys: [FAL_KEY.jwk] } };
    const api = APIS.find(({ base }) => url.startsWith(`${base}/`));
    if (api === undefined) return { status: 404, body: {} };
    const path = url.slice(api.base.length);
    const authorization = request.headers.authorization ?? "";
    if (request.method === "POST") {
      const body: unknown = JSON.parse(await textOf(request));
      return this.#submit(api, { method: "POST", path, authorization, body });
    }
    return this.#poll(api, path, authorization, response);
  }

  async #submit(
    api: UpstreamApi,
    request: Parameters<UpstreamApi["submission"]>[0],
  ): Promise<ApiAnswer> {
    if (!api.isAuthorized(request.authorization)) return { status: 401, body: {} };
    const { hookUrl, taskId = null } = api.submission(request);
    if (typeof hookUrl !== "string" || (taskId !== null && typeof taskId !== "string")) {
      return { status: 400, body: { missing: "the hook URL in its documented field" } };
    }
    const nth = ++this.#submissions;
    const id = api.newId(nth);
    const path = request.path.split("?")[0] ?? "";
    const url = `https://cdn.example.com/${api.provider}/${id}.mp4`;
    const job: Job = { id, taskId, hookUrl, path, url, seed: nth, state: "queued" };
    // MiniMax sends hooks only to a URL that has repeated its challenge.
    if (api.provider === "minimax" && !(await repeatsChallenge(hookUrl, id))) {
      return { status: 400, body: { missing: "the answer to the challenge" } };
    }
    this.jobs.set(id, job);
    return { status: 200, body: api.accepted(job) };
  }

  async #poll(
    api: UpstreamApi,
    path: string,
    authorization: string,
    response: ServerResponse,
  ): Promise<ApiAnswer | null> {
    const id = api.polled(path) ?? "";
    const job = this.jobs.get(id);
    const answered = (answer: ApiAnswer) => {
      this.polls.push({ provider: api.provider, jobId: id, status: answer.status });
      return answer;
    };
    if (!api.isAuthorized(authorization)) return answered({ status: 401, body: {} });
    if (job === undefined) return answered({ status: 404, body: {} });
    const trouble = this.trouble.get(id);
    if (trouble?.kind === "redirect") {
      answered({ status: 302, body: null });
      response.writeHead(302, { Location: trouble.location }).end();
      return null;
    }
    if (trouble?.kind === "hold") {
      this.held.add(id);
      await trouble.until;
      this.held.delete(id);
    }
    return answered(api.answer(job, path));
  }
}

async function repeatsChallenge(hookUrl: string, challenge: string): Promise<boolean> {
  const body = JSON.stringify({ challenge });
  const response = await fetch(hookUrl, { method: "POST", body });
  return response.status === 200 && (await response.text()) === body;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Waits for what must come true. @throws after `withinMs`. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  withinMs: number,
): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  while (!(await isSo())) {
    if (Date.now() > giveUpAt) throw new Error("it has not come to that");
    await sleep(50);
  }
}
