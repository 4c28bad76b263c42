import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "undici";
import { cpuMsOf } from "./cpu.ts";
import type { Receiver } from "./receiver.ts";
import { type Ask, cpuPer, type Load, poolOf, type Served, statusOf } from "./server.ts";

/** Measurements of one server in one round. Latencies in milliseconds. */
export interface Round {
  readonly acceptMs: readonly number[];
  /** Times in milliseconds from the request with the result to the arrival of the callback. */
  readonly callbackMs: readonly number[];
  readonly acceptedPerS: number;
  readonly deliveredPerS: number;
  /** CPU time of the server per task, in milliseconds. */
  readonly cpuMs: number;
  /** CPU time of the driver and the receiver per task, in milliseconds. */
  readonly driverCpuMs: number;
  /** Number of tasks that were accepted and whose callback has not come. */
  readonly lost: number;
  /** Number of tasks whose callback has come more than once. */
  readonly doubled: number;
  /** Number of tasks that the server has not accepted. */
  readonly refused: number;
}

/** Number of tasks per connection that may wait for their callbacks. */
const OPEN_PER_CONNECTION = 4;
/** Longest wait for the last callbacks, in milliseconds. */
const DRAIN_MS = 10_000;
/** Time in milliseconds after the last callback in which a server finishes and a doubled callback arrives. */
const SETTLE_MS = 200;

interface SentTask {
  readonly id: string;
  readonly sentAt: number;
  readonly isAccepted: boolean;
  readonly acceptMs: number;
}

/**
 * Sends tasks to the server. Each connection sends the next task after the answer to the one before, unless
 * four tasks per connection wait for their callbacks. A single connection also waits for the callback before
 * each next task.
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
  const driverCpu = process.cpuUsage();
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
  await receiver.fewerThan(1, performance.now() + DRAIN_MS);
  await sleep(SETTLE_MS);
  const accepted = sent.filter(({ isAccepted }) => isAccepted);
  const { user, system } = process.cpuUsage(driverCpu);
  const acceptedAt = accepted.map(({ sentAt, acceptMs }) => sentAt + acceptMs);
  return {
    ...callbacksOf(accepted, receiver, startedAt),
    acceptMs: accepted.map(({ acceptMs }) => acceptMs),
    acceptedPerS: perSecond(acceptedAt, startedAt),
    driverCpuMs: (user + system) / 1000 / Math.max(1, accepted.length),
    cpuMs: cpuPer(accepted.length, pids, cpu),
    refused: sent.length - accepted.length,
  };
}

/** Sends the requests of one task. The measured latency is that of the last request. */
async function send(pool: Pool, id: string, asks: readonly Ask[]): Promise<SentTask> {
  let sentAt = 0;
  for (const ask of asks) {
    sentAt = performance.now();
    const status = await statusOf(pool, ask);
    if (status >= 300) return { id, sentAt, isAccepted: false, acceptMs: 0 };
  }
  return { id, sentAt, isAccepted: true, acceptMs: performance.now() - sentAt };
}

function callbacksOf(accepted: readonly SentTask[], receiver: Receiver, startedAt: number) {
  const arrivals = accepted.map(({ id, sentAt }) => ({ sentAt, times: receiver.arrivalsOf(id) }));
  const firsts = arrivals.flatMap(({ sentAt, times: [first] }) =>
    first === undefined ? [] : [{ sentAt, first }],
  );
  return {
    callbackMs: firsts.map(({ sentAt, first }) => first - sentAt),
    deliveredPerS: perSecond(
      firsts.map(({ first }) => first),
      startedAt,
    ),
    lost: accepted.length - firsts.length,
    doubled: arrivals.filter(({ times }) => times.length > 1).length,
  };
}

/** Returns how many of these times fall into one second on average, from the start to the last time. */
function perSecond(times: readonly number[], startedAt: number): number {
  const lastAt = times.reduce((latest, time) => Math.max(latest, time), startedAt);
  return times.length === 0 ? 0 : (times.length * 1000) / (lastAt - startedAt);
}
