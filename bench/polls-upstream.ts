import type { IncomingMessage, ServerResponse } from "node:http";
import { LoopbackServer } from "../test/process/harness/loopback.ts";

/** Job of the fake upstream. */
export interface UpstreamJob {
  /** Time at which the job ends, in Unix milliseconds. */
  readonly endsAt: number;
  /** States that the upstream says when a job has ended. */
  readonly isEndStated: boolean;
}

/** Name of the connection to this upstream. */
export const CONNECTION = "bench-ark";
const BASE = "/api/v3";
const KEY = "bench-ark-key";
const POLL_PATH = /^\/api\/v3\/contents\/generations\/tasks\/([^/?]+)$/;

/** A fake of the provider Ark whose jobs end at set times and which sends no hooks. */
export class PollsUpstream extends LoopbackServer {
  readonly #jobs = new Map<string, UpstreamJob>();
  readonly #polls = new Map<string, number>();

  private constructor() {
    super((request, response) => this.#answer(request, response));
  }

  static async start(): Promise<PollsUpstream> {
    return new PollsUpstream().listen();
  }

  /** Value of the variable `CONNECTIONS` that leads the relay to this upstream. */
  get connections(): string {
    const connection = { provider: "ark", base_url: this.origin + BASE, key: KEY };
    return JSON.stringify({ [CONNECTION]: connection });
  }

  add(id: string, job: UpstreamJob): void {
    this.#jobs.set(id, job);
  }

  pollsOf(id: string): number {
    return this.#polls.get(id) ?? 0;
  }

  #answer({ url = "", headers }: IncomingMessage, response: ServerResponse): void {
    // The relay aborts a poll when its task has ended meanwhile.
    response.on("error", () => {});
    const id = POLL_PATH.exec(url)?.[1] ?? "";
    const job = this.#jobs.get(id);
    if (job === undefined || headers.authorization !== `Bearer ${KEY}`) {
      return void response.writeHead(404).end();
    }
    this.#polls.set(id, this.pollsOf(id) + 1);
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(shown(id, job)));
  }
}

/** Returns the present state of a job, in the form in which Ark reports it. */
function shown(id: string, { endsAt, isEndStated }: UpstreamJob): object {
  if (Date.now() < endsAt) return { id, status: "running" };
  const content = { video_url: `https://cdn.example.com/${id}.mp4` };
  const end = isEndStated ? { updated_at: Math.floor(endsAt / 1000) } : {};
  return { id, status: "succeeded", content, ...end };
}
