import type { IncomingMessage, ServerResponse } from "node:http";
import { LoopbackServer } from "../harness/loopback.ts";
import type { ApiAnswer, Job, JobState, UpstreamApi } from "./api.ts";
import { APIS, FAL_KEY } from "./apis.ts";

const JWKS_PATH = "/fal-keys/jwks.json";

/** A poll and the status of its answer. */
export interface SeenPoll {
  readonly provider: string;
  readonly jobId: string;
  readonly status: number;
}

/** Six providers on one loopback port, each under the base URL of its API. */
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

  /** Creates a job for a task. @returns its id. @throws when the relay does not repeat a challenge. */
  async submit(
    { provider, newId, endpoint }: UpstreamApi,
    isKeyed: boolean,
    taskId: string,
    hookUrl: string,
  ): Promise<string> {
    const seed = 1 + this.jobs.size;
    const id = newId(seed);
    const url = `https://cdn.example.com/${provider}/${id}.mp4`;
    const job = { id, taskId, hookUrl, endpoint: endpoint?.(isKeyed) ?? null, url, seed };
    this.jobs.set(id, { ...job, state: "queued" });
    // MiniMax sends hooks only to a URL that has repeated its challenge.
    if (provider === "minimax") await expectRepeated(hookUrl, id);
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
    const [id = ""] = api.pollPaths.flatMap((pattern) => pattern.exec(path)?.[1] ?? []);
    const isAuthorized = api.isAuthorized ?? ((given) => given === `Bearer ${api.key}`);
    const job = this.jobs.get(id);
    let answer: ApiAnswer = { status: job === undefined ? 404 : 401, body: {} };
    if (job !== undefined && isAuthorized(headers.authorization ?? "")) {
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

async function expectRepeated(hookUrl: string, challenge: string): Promise<void> {
  const body = JSON.stringify({ challenge });
  const response = await fetch(hookUrl, { method: "POST", body });
  const text = await response.text();
  if (response.status !== 200 || text !== body) throw new Error(`the challenge got ${text}`);
}
