import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "undici";
import { type Cpu, cpuMsOf } from "./cpu.ts";
import type { Receiver } from "./receiver.ts";

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

/** What one round has measured of one server. Latencies in milliseconds. */
export interface Round {
  readonly acceptMs: readonly number[];
  /** From the request with the result to the arrival of the callback. */
  readonly callbackMs: readonly number[];
  readonly acceptedPerS: number;
  readonly deliveredPerS: number;
  /** CPU time of the server per task, in milliseconds. */
  readonly cpuMs: number;
  /** Number of tasks that were accepted and whose callback has not come. */
  readonly lost: number;
  /** Number of tasks whose callback has come more than once. */
  readonly doubled: number;
  /** Number of tasks that the server has not accepted. */
  readonly refused: number;
}

interface Load {
  readonly connections: number;
  /** Time in milliseconds during which new tasks are sent. */
  readonly forMs: number;
}

/** Number of tasks per connection that may wait for their callbacks. */
const OPEN_PER_CONNECTION = 4;
/** Longest wait for the last callbacks, in milliseconds. */
const DRAIN_MS = 10_000;
/** Time after the last callback in which a server finishes its work and a doubled callback arrives. */
const SETTLE_MS = 200;

interface SentTask {
  readonly id: string;
  readonly sentAt: number;
  readonly isAccepted: boolean;
  readonly acceptMs: number;
}

/**
 * Hands tasks to the server, each connection the next one after the answer to the one before, unless four
 * tasks per connection wait for their callbacks. One connection waits for the callback before each next task.
 */
export async function taskRound(
  { url, pids, tasks }: Served,
  receiver: Receiver,
  { connections, forMs }: Load,
): Promise<Round> {
  await using pool = poolOf(url, connections);
  const sent: SentTask[] = [];
  const maxOpen = connections === 1 ? 1 : connections * OPEN_PER_CONNECTION;
  receiver.reset();
  const cpu = cpuMsOf(pids);
  const startedAt = performance.now();
  const connection = async () => {
    while (performance.now() - startedAt < forMs) {
      const id = randomUUID();
      const task = await send(pool.value, id, tasks(id, receiver.expect(id)));
      sent.push(task);
      if (!task.isAccepted) receiver.forget(id);
      await receiver.fewerThan(maxOpen, startedAt + forMs + DRAIN_MS);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  const acceptedS = (performance.now() - startedAt) / 1000;
  await receiver.fewerThan(1, performance.now() + DRAIN_MS);
  await sleep(SETTLE_MS);
  const accepted = sent.filter(({ isAccepted }) => isAccepted);
  return {
    ...callbacksOf(accepted, receiver, startedAt),
    acceptMs: accepted.map(({ acceptMs }) => acceptMs),
    acceptedPerS: accepted.length / acceptedS,
    cpuMs: cpuPer(accepted.length, pids, cpu),
    refused: sent.length - accepted.length,
  };
}

/** What one round of reads has measured. */
export interface ReadRound {
  readonly readsPerS: number;
  readonly readMs: readonly number[];
  /** CPU time of the server per read, in milliseconds. */
  readonly cpuMs: number;
}

/** Sends the requests in turn again and again, each connection the next one after an answer. */
export async function readRound(
  { url, pids }: Served,
  asks: readonly Ask[],
  { connections, forMs }: Load,
): Promise<ReadRound> {
  await using pool = poolOf(url, connections);
  const readMs: number[] = [];
  const cpu = cpuMsOf(pids);
  const startedAt = performance.now();
  let next = 0;
  const connection = async () => {
    while (performance.now() - startedAt < forMs) {
      const ask = asks[next++ % asks.length];
      if (ask === undefined) throw new Error("there is nothing to read");
      const askedAt = performance.now();
      const status = await statusOf(pool.value, ask);
      if (status !== 200) throw new Error(`GET ${ask.path} was answered with ${status}`);
      readMs.push(performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  const seconds = (performance.now() - startedAt) / 1000;
  return { readMs, readsPerS: readMs.length / seconds, cpuMs: cpuPer(readMs.length, pids, cpu) };
}

/** Sends the requests of one task. The latency is that of the last one. */
async function send(pool: Pool, id: string, asks: readonly Ask[]): Promise<SentTask> {
  let sentAt = 0;
  for (const ask of asks) {
    sentAt = performance.now();
    const status = await statusOf(pool, ask);
    if (status >= 300) return { id, sentAt, isAccepted: false, acceptMs: 0 };
  }
  return { id, sentAt, isAccepted: true, acceptMs: performance.now() - sentAt };
}

/** Sends one request and reads its whole answer. @returns its status. */
async function statusOf(pool: Pool, { method, path, headers, body }: Ask): Promise<number> {
  const answer = await pool.request({ method, path, headers: { ...headers }, body });
  await answer.body.dump();
  return answer.statusCode;
}

function callbacksOf(accepted: readonly SentTask[], receiver: Receiver, startedAt: number) {
  const arrivals = accepted.map(({ id, sentAt }) => ({ sentAt, times: receiver.arrivalsOf(id) }));
  const firsts = arrivals.flatMap(({ sentAt, times: [first] }) =>
    first === undefined ? [] : [{ sentAt, first }],
  );
  const lastAt = firsts.reduce((latest, { first }) => Math.max(latest, first), startedAt);
  return {
    callbackMs: firsts.map(({ sentAt, first }) => first - sentAt),
    deliveredPerS: firsts.length === 0 ? 0 : (firsts.length * 1000) / (lastAt - startedAt),
    lost: accepted.length - firsts.length,
    doubled: arrivals.filter(({ times }) => times.length > 1).length,
  };
}

function cpuPer(count: number, pids: readonly number[], before: Cpu): number {
  return (cpuMsOf(pids) - before) / Math.max(1, count);
}

function poolOf(url: string, connections: number): { value: Pool } & AsyncDisposable {
  const value = new Pool(url, { connections, pipelining: 1, keepAliveTimeout: 60_000 });
  return { value, [Symbol.asyncDispose]: () => value.close() };
}
