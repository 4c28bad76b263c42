import type { IncomingMessage, ServerResponse } from "node:http";
import { LoopbackServer } from "../harness/loopback.ts";
import {
  type ApiAnswer,
  APIS,
  FAL_KEY,
  type Job,
  type JobState,
  type UpstreamApi,
} from "./apis.ts";

const JWKS_PATH = "/fal-keys/jwks.json";

/** A poll and the status of its answer. */
export interface SeenPoll {
  readonly provider: string;
  readonly jobId: string;
  readonly status: number;
}

/** The providers of `APIS` on one loopback port, each under the base URL of its API. */
export class FakeUpstream extends LoopbackServer {
  /** Jobs by id. */
  readonly jobs = new Map<string, Job>();
  readonly polls: SeenPoll[] = [];
  /** Polls of these jobs are answered once the promise is settled. */
  readonly holds = new Map<string, Promise<unknown>>();
  /** Jobs with a poll that is held now. */
  readonly held = new Set<string>();

  private constructor() {
    super((request, response) => void this.#handle(request, response));
  }

  static async start(): Promise<FakeUpstream> {
    return new FakeUpstream().listen();
  }

  /** The variable `CONNECTIONS`: each provider with an API key (`ark-keyed`) and without (`ark-plain`). */
  get connections(): string {
    const entries = APIS.flatMap(({ provider, base, authorization, secrets }) => {
      const key = authorization.replace(/^\w+ /, "");
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

  /** Creates a job. @returns its id. */
  submit({ provider, newId }: UpstreamApi, hookUrl: string): string {
    const seed = 1 + this.jobs.size;
    const id = newId(seed);
    const url = `https://cdn.example.com/${provider}/${id}.mp4`;
    this.jobs.set(id, { id, hookUrl, url, seed, state: "queued" });
    return id;
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
    const signed = headers ?? sign?.(job, body);
    const sent = { "Content-Type": "application/json", "User-Agent": provider, ...signed };
    const response = await fetch(job.hookUrl, { method: "POST", headers: sent, body });
    return { status: response.status, text: await response.text() };
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The relay aborts polls of tasks that have ended.
    response.on("error", () => {});
    const answer = await this.#answerTo(request);
    if (response.destroyed) return;
    response.writeHead(answer.status, { "Content-Type": "application/json" });
    response.end(JSON.stringify(answer.body));
  }

  async #answerTo({ url = "", headers }: IncomingMessage): Promise<ApiAnswer> {
    if (url === JWKS_PATH) return { status: 200, body: { keys: [FAL_KEY.jwk] } };
    const api = APIS.find(({ base }) => url.startsWith(`${base}/`));
    if (api === undefined) return { status: 404, body: {} };
    const path = url.slice(api.base.length);
    const id = api.pollPath.exec(path)?.[1] ?? "";
    const job = this.jobs.get(id);
    let answer: ApiAnswer = { status: job === undefined ? 404 : 401, body: {} };
    if (job !== undefined && headers.authorization === api.authorization) {
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
