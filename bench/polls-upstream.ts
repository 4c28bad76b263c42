import type { IncomingMessage, ServerResponse } from "node:http";
import { LoopbackServer } from "../test/process/harness/loopback.ts";

/** Name of the connection to this upstream. */
export const CONNECTION = "bench-ark";
const BASE = "/api/v3";
const KEY = "bench-ark-key";
const POLL_PATH = /^\/api\/v3\/contents\/generations\/tasks\/([^/?]+)$/;

/** A fake of the provider Ark whose jobs end at set times and which sends no hooks. */
export class PollsUpstream extends LoopbackServer {
  /** Times at which the jobs end, by id, in Unix milliseconds. */
  readonly #ends = new Map<string, number>();
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

  /** Adds a job. @param endsAt time at which it ends, in Unix milliseconds. */
  add(id: string, endsAt: number): void {
    this.#ends.set(id, endsAt);
  }

  pollsOf(id: string): number {
    return this.#polls.get(id) ?? 0;
  }

  #answer({ url = "", headers }: IncomingMessage, response: ServerResponse): void {
    // The relay aborts a poll when its task has ended meanwhile.
    response.on("error", () => {});
    const id = POLL_PATH.exec(url)?.[1] ?? "";
    const endsAt = this.#ends.get(id);
    if (endsAt === undefined || headers.authorization !== `Bearer ${KEY}`) {
      return void response.writeHead(404).end();
    }
    this.#polls.set(id, this.pollsOf(id) + 1);
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify(shown(id, endsAt)));
  }
}

/** Returns the present state of a job, in the form in which Ark reports it. */
function shown(id: string, endsAt: number): object {
  if (Date.now() < endsAt) return { id, status: "running" };
  const content = { video_url: `https://cdn.example.com/${id}.mp4` };
  return { id, status: "succeeded", content, updated_at: Math.floor(endsAt / 1000) };
}
