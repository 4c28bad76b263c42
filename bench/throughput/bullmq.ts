import { execFile, execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { Child } from "../../test/process/harness/child.ts";
import { freePort } from "../../test/process/harness/loopback.ts";
import type { Served } from "./server.ts";
import { plainEvent } from "./tasks.ts";

const BENCH = join(import.meta.dirname, "..");

/** Returns the version of Redis; null when it is not installed. */
export function redisVersion(): string | null {
  try {
    const text = execFileSync("redis-server", ["--version"], { encoding: "utf8" });
    return /\bv=(\S+)/.exec(text)?.[1] ?? null;
  } catch {
    return null;
  }
}

/** Installs BullMQ into `bench/`, unless it is there. */
export async function installBullMq(): Promise<void> {
  if (existsSync(join(BENCH, "node_modules/ioredis"))) return;
  await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit"], { cwd: BENCH });
}

/** Starts Redis, which syncs every write, and a service with BullMQ. @param parent directory of its data. */
export async function startBullMq(parent: string): Promise<Served> {
  await using stack = new AsyncDisposableStack();
  const home = await mkdtemp(join(parent, "task-relay-redis-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const [redisPort, port] = [String(await freePort()), String(await freePort())];
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""];
  const place = ["--dir", home, "--port", redisPort, "--bind", "127.0.0.1"];
  const redis = new Child("redis-server", [...place, ...durable], process.env);
  stack.defer(() => redis.kill9());
  const env = { ...process.env, REDIS_PORT: redisPort, PORT: port };
  const service = new Child(
    process.execPath,
    [join(import.meta.dirname, "bullmq-service.ts")],
    env,
  );
  stack.defer(() => service.kill9());
  const url = `http://127.0.0.1:${port}`;
  await service.answering(url);
  const started = stack.move();
  return {
    url,
    pids: [redis.pid, service.pid].flatMap((pid) => pid ?? []),
    tasks: plainEvent,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
