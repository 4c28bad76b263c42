import { Pool } from "undici";
import { type Cpu, cpuMsOf } from "./cpu.ts";

/** Request to a server under test. */
export interface Ask {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Server under test. */
export interface Served extends AsyncDisposable {
  readonly url: string;
  /** Ids of the processes whose CPU time counts, with all processes that these started. */
  readonly pids: readonly number[];
  /** Returns the requests that hand over one task, the last of which reports its result. */
  readonly tasks: (id: string, callbackUrl: string) => readonly Ask[];
}

/** Load of one turn. */
export interface Load {
  readonly connections: number;
  /** Time in milliseconds during which new tasks are sent. */
  readonly forMs: number;
}

/** Sends one request and reads its whole answer. @returns its status. */
export async function statusOf(pool: Pool, { method, path, headers, body }: Ask): Promise<number> {
  const answer = await pool.request({ method, path, headers: { ...headers }, body });
  await answer.body.dump();
  return answer.statusCode;
}

/** Returns the CPU time that the server has used since `before`, in milliseconds per task or read. */
export function cpuPer(count: number, pids: readonly number[], before: Cpu): number {
  return (cpuMsOf(pids) - before) / Math.max(1, count);
}

/** Opens a pool of connections to a server. */
export function poolOf(url: string, connections: number): { value: Pool } & AsyncDisposable {
  const value = new Pool(url, { connections, pipelining: 1, keepAliveTimeout: 60_000 });
  return { value, [Symbol.asyncDispose]: () => value.close() };
}
