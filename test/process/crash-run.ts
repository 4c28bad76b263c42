import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, completedEvent, SECRETS, Task } from "./client.ts";
import { inParallel } from "./parallel.ts";
import { type Behaviour, type Post, Receiver } from "./receiver.ts";
import { seeded } from "./seeded.ts";
import { Workerd } from "./workerd.ts";

const TASKS = 600;
const BATCH = 40;
/** Kills after the last event, so that the last tasks' attempts meet some too. */
const KILLS_AFTERWARDS = 6;
const TIMEOUT_MS = 2000;
const WAIT_MS = 1000;
const SLACK_MS = 2000;
const PARALLEL = 8;
/** Between two events of one sender; a batch goes on while the relay dies. */
const MAX_PAUSE_MS = 400;

export interface CrashPlan {
  readonly seed: number;
  readonly entry?: string;
  /** How long the watchdog of this entry waits before it looks after an attempt. */
  readonly watchdogMs: number;
}

/** A task as the relay and the receiver remember it. */
export interface Remembered {
  readonly id: string;
  /** Null: the relay knows nothing of it. */
  readonly task: Task | null;
  readonly posts: readonly Post[];
}

export interface CrashReport {
  readonly kills: number;
  readonly accepted: readonly Remembered[];
  /** Events whose answer was lost in a crash. */
  readonly unknown: readonly Remembered[];
  readonly verify: (post: Post) => unknown;
  readonly output: string;
}

/**
 * 600 tasks, posted in batches while the relay is killed and restarted at random moments; then silence
 * until nothing can be due any more. Nothing is read before that: a read could wake what is stuck.
 */
export async function crashRun({ seed, entry, watchdogMs }: CrashPlan): Promise<CrashReport> {
  const scripts = seeded(seed);
  const moments = seeded(seed + 1);
  await using receiver = await Receiver.start();
  await using relay = await Workerd.start({
    vars: {
      ...SECRETS,
      CALLBACK_SCHEDULE_S: `0,${WAIT_MS / 1000},${WAIT_MS / 1000}`,
      CALLBACK_TIMEOUT_S: String(TIMEOUT_MS / 1000),
      ALLOW_LOCAL_CALLBACKS: "true",
    },
    ...(entry === undefined ? {} : { entry }),
  });
  const client = new Client(relay);
  const accepted: string[] = [];
  const unknown: string[] = [];
  let isUp = true;
  const post = async () => {
    await sleep(scripts() * MAX_PAUSE_MS);
    if (!isUp) return;
    const id = randomUUID();
    const callbackUrl = receiver.at(`/${id}`, ...aScript(scripts));
    const isAccepted = await isRecorded(client, id, callbackUrl);
    (isAccepted ? accepted : unknown).push(id);
  };

  let kills = 0;
  for (let left = KILLS_AFTERWARDS; left > 0; kills++) {
    const missing = Math.min(BATCH, TASKS - accepted.length);
    const posted = inParallel(PARALLEL, Array.from({ length: missing }), post);
    await sleep(50 + moments() * 2000);
    isUp = false;
    await relay.kill9();
    await posted;
    await relay.restart();
    isUp = true;
    if (missing === 0) left--;
  }

  const quietMs = watchdogMs + WAIT_MS + TIMEOUT_MS + SLACK_MS;
  const restartedAt = Date.now();
  const lastNews = () => receiver.posts.at(-1)?.arrivedAt ?? 0;
  while (Date.now() - Math.max(restartedAt, lastNews()) < quietMs) await sleep(100);

  const remember = async (id: string): Promise<Remembered> => {
    const { status, json } = await client.ask("GET", `/v1/tasks/${id}`);
    const task = status === 404 ? null : Task.parse(json);
    return { id, task, posts: receiver.postsAt(`/${id}`) };
  };
  return {
    kills,
    accepted: await inParallel(PARALLEL, accepted, remember),
    unknown: await inParallel(PARALLEL, unknown, remember),
    verify: await client.verifier(),
    output: relay.output,
  };
}

/** Fails none, one, two or all three times; every answer takes its time. */
function aScript(random: () => number): Behaviour[] {
  const failures = Math.floor(random() * 4);
  return [0, 1, 2].map((i) => ({
    kind: "answer",
    status: i < failures ? 500 : 200,
    afterMs: 50 + random() * 1450,
  }));
}

/** Whether the relay said that it has the event. @throws when it refused it. */
async function isRecorded(client: Client, id: string, callbackUrl: string): Promise<boolean> {
  let status: number;
  try {
    ({ status } = await client.ask("POST", "/v1/events", completedEvent(id, callbackUrl)));
  } catch {
    return false;
  }
  if (status !== 202) throw new Error(`the event of a new task was answered with ${status}`);
  return true;
}
