import type { IncomingMessage, ServerResponse } from "node:http";
import { LoopbackServer } from "../harness/loopback.ts";
import { APIS, type Job, type JobState, type UpstreamApi } from "./apis.ts";

/** The providers of `APIS` on one loopback port, each under the base URL of its API. */
export class FakeUpstream extends LoopbackServer {
  /** Jobs by id. */
  readonly jobs = new Map<string, Job>();
  /** Number of polls that were answered. */
  polls = 0;
  /** Promises by job id; polls of these jobs are answered when the promise has settled. */
  readonly holds = new Map<string, Promise<unknown>>();

  private constructor() {
    super((request, response) => void this.#handle(request, response));
  }

  static async start(): Promise<FakeUpstream> {
    return new FakeUpstream().listen();
  }

  /**
   * Value of the variable `CONNECTIONS`: each provider with an API key (`ark-keyed`) and without one
   * (`ark-plain`).
   */
  get connections(): string {
    const entries = APIS.flatMap(({ provider, base, authorization, secrets }) => {
      const key = authorization.replace(/^\w+ /, "");
      const known = { provider, base_url: `${this.origin}${base}`, ...secrets };
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

  /** Sets the state that polls find. */
  set(id: string, state: JobState): void {
    this.job(id).state = state;
  }

  /**
   * Posts a hook in the provider's format and with its signature; returns the relay's answer.
   * @param headers headers in place of the signature.
   */
  async hook(
    { provider, show, sign }: UpstreamApi,
    id: string,
    state: JobState,
    headers?: Readonly<Record<string, string>>,
  ): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
    const job = this.job(id);
    const body = JSON.stringify(show(job, state));
    const signed = headers ?? sign?.(job, body);
    const sent = { "Content-Type": "application/json", "User-Agent": provider, ...signed };
    const response = await fetch(job.hookUrl, { method: "POST", headers: sent, body });
    const { status, headers: answered } = response;
    return { status, headers: answered, text: await response.text() };
  }

  async #handle({ url = "", headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    // The relay aborts polls of tasks that have ended.
    response.on("error", () => {});
    const api = APIS.find(({ base }) => url.startsWith(`${base}/`));
    const id = api?.pollPath.exec(url.slice(api.base.length))?.[1] ?? "";
    const job = this.jobs.get(id);
    if (api === undefined || job === undefined) return void response.writeHead(404).end();
    if (headers.authorization !== api.authorization) return void response.writeHead(401).end();
    await this.holds.get(id);
    if (response.destroyed) return;
    this.polls++;
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(api.show(job, job.state)));
  }
}
