import type { IncomingMessage, ServerResponse } from "node:http";
import { bodyOf, LoopbackServer } from "../harness/loopback.ts";
import type { ApiAnswer, ApiRequest, Job, JobState, UpstreamApi } from "./api.ts";
import { APIS, FAL_KEY } from "./apis.ts";

const JWKS_PATH = "/fal-keys/jwks.json";

/** A poll and the status of its answer. */
export interface SeenPoll {
  readonly provider: string;
  readonly jobId: string;
  readonly status: number;
}

/** Six providers on one loopback port, each under the base URL of its API. */
export class FakeUpstream implements AsyncDisposable {
  /** Submitted jobs by id. */
  readonly jobs = new Map<string, Job>();
  readonly polls: SeenPoll[] = [];
  /** Polls of these jobs are answered once the promise is settled. */
  readonly holds = new Map<string, Promise<unknown>>();
  /** Jobs with a poll that is held now. */
  readonly held = new Set<string>();
  #server: LoopbackServer | null = null;
  #submissions = 0;

  static async start(): Promise<FakeUpstream> {
    const upstream = new FakeUpstream();
    upstream.#server = await LoopbackServer.start((request, response) => {
      void upstream.#handle(request, response);
    });
    return upstream;
  }

  get origin(): string {
    return this.#server?.origin ?? "";
  }

  /** The variable `CONNECTIONS`: each provider with an API key (`ark-keyed`) and without (`ark-plain`). */
  get connections(): string {
    const entries = APIS.flatMap(({ provider, base, key, secrets }) => {
      const jwks = provider === "fal" ? { jwks_url: `${this.origin}${JWKS_PATH}` } : {};
      const known = { provider, base_url: `${this.origin}${base}`, ...secrets, ...jwks };
      return [
        [`${provider}-keyed`, { ...known, key }],
        [`${provider}-plain`, known],
      ];
    });
    return JSON.stringify(Object.fromEntries(entries));
  }

  job(id: string): Job {
    const job = this.jobs.get(id);
    if (job === undefined) throw new Error(`there is no job ${id}`);
    return job;
  }

  /** Changes the state that polls find. */
  set(id: string, state: JobState): void {
    this.job(id).state = state;
  }

  /**
   * Posts a hook in the provider's format and with its signature.
   * @param headers replace the signature.
   * @returns the relay's answer, or null when the provider sends no hook in this state.
   */
  async hook(
    { provider, hook, sign }: UpstreamApi,
    id: string,
    state: JobState,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly text: string } | null> {
    const job = this.job(id);
    const content = hook(job, state);
    if (content === null) return null;
    const body = JSON.stringify(content);
    const signed = headers ?? sign(job, body);
    const sent = { "Content-Type": "application/json", "User-Agent": provider, ...signed };
    const response = await fetch(job.hookUrl, { method: "POST", headers: sent, body });
    return { status: response.status, text: await response.text() };
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The relay aborts polls of tasks that have ended.
    response.on("error", () => {});
    const answer = await this.#answer(request);
    if (response.destroyed) return;
    response.writeHead(answer.status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(answer.body));
  }

  async #answer(request: IncomingMessage): Promise<ApiAnswer> {
    const { url = "", method, headers } = request;
    if (url === JWKS_PATH) return { status: 200, body: { keys: [FAL_KEY.jwk] } };
    const api = APIS.find(({ base }) => url.startsWith(`${base}/`));
    if (api === undefined) return { status: 404, body: {} };
    const path = url.slice(api.base.length);
    const authorization = headers.authorization ?? "";
    if (method !== "POST") return this.#poll(api, path, authorization);
    const body: unknown = JSON.parse((await bodyOf(request)) ?? "null");
    return this.#submit(api, { method, path, authorization, body });
  }

  async #submit(api: UpstreamApi, request: ApiRequest): Promise<ApiAnswer> {
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

  async #poll(api: UpstreamApi, path: string, authorization: string): Promise<ApiAnswer> {
    const id = api.polled(path) ?? "";
    const job = this.jobs.get(id);
    let answer: ApiAnswer = { status: job === undefined ? 404 : 401, body: {} };
    if (job !== undefined && api.isAuthorized(authorization)) {
      const hold = this.holds.get(id);
      if (hold !== undefined) {
        this.held.add(id);
        await hold;
        this.held.delete(id);
      }
      answer = api.answer(job, path);
    }
    this.polls.push({ provider: api.provider, jobId: id, status: answer.status });
    return answer;
  }
}

async function repeatsChallenge(hookUrl: string, challenge: string): Promise<boolean> {
  const body = JSON.stringify({ challenge });
  const response = await fetch(hookUrl, { method: "POST", body });
  return response.status === 200 && (await response.text()) === body;
}
