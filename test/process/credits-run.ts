import { watch } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { Client, SECRETS, Task } from "./client.ts";
import { type Life, livesOf, Tenant, TENANTS } from "./credits-lives.ts";
import { inParallel } from "./parallel.ts";
import { type Post, Receiver } from "./receiver.ts";
import { seeded } from "./seeded.ts";
import { type Caught, caughtSince, isRefundStored } from "./stored-ledger.ts";
import { Workerd } from "./workerd.ts";

const PARALLEL = 12;
/** Kills after the last task was ended, so that the last refunds meet some too. */
const KILLS_AFTERWARDS = 3;
const MAX_UP_MS = 400;
/** About what the saga takes from one of its commits to the next. */
const MAX_STEP_MS = 4;
const TIMEOUT_MS = 2000;
const RETRY_MS = 1000;
/** Beyond the longest call: when the watchdog of a refund or an attempt looks. */
const WATCHDOG_MS = TIMEOUT_MS + 5000;
const QUIET_MS = WATCHDOG_MS + RETRY_MS + TIMEOUT_MS + 2000;
const PAGE = 50;

const Account = z.object({ balance: z.int() });
const Page = z.object({ data: z.array(z.unknown()), next_cursor: z.string().nullable() });
const CreditsOfTask = z.object({
  credits: z.object({ amount: z.int(), state: z.string() }).optional(),
});

export type Entry = z.infer<typeof Entry>;
const Entry = z.object({
  kind: z.string(),
  amount: z.int(),
  balance: z.int(),
  reference: z.string(),
  task_id: z.string().optional(),
});

export interface Books {
  readonly accountId: string;
  readonly balance: number;
  /** Oldest first. */
  readonly entries: readonly Entry[];
}

/** A task as its operator, the relay and the receiver remember it. */
export interface Lived {
  readonly life: Life;
  /** Whether the operator was told that the task exists; false: that it cannot be paid. */
  readonly isCreated: boolean;
  /** Null: the relay knows nothing of it. */
  readonly task: (Task & z.infer<typeof CreditsOfTask>) | null;
  readonly posts: readonly Post[];
}

export interface CreditsReport {
  readonly lived: readonly Lived[];
  readonly books: readonly Books[];
  readonly kills: number;
  readonly lostAnswers: number;
  /** What the deaths of the relay left half done. */
  readonly caught: readonly Caught[];
  /** Tasks whose `task.failed` arrived while no account's file held their refund. */
  readonly tooEarly: readonly string[];
  readonly output: string;
}

/**
 * Tasks with credits are created and ended, a dozen at a time, while the relay is killed and restarted
 * at random moments; then silence until nothing can be due any more. Nothing is read before that: a
 * read could wake what is stuck.
 */
export async function creditsRun(seed: number): Promise<CreditsReport> {
  await using relay = await Workerd.start({
    vars: {
      ...SECRETS,
      CALLBACK_SCHEDULE_S: `0,${RETRY_MS / 1000},${RETRY_MS / 1000}`,
      CALLBACK_TIMEOUT_S: String(TIMEOUT_MS / 1000),
      ALLOW_LOCAL_CALLBACKS: "true",
    },
  });
  const tooEarly: string[] = [];
  await using receiver = await Receiver.start((path, headers) => {
    const id = path.slice(1);
    const isFailure = headers["x-event"] === "task.failed";
    if (isFailure && !isRefundStored(relay.storage, id)) tooEarly.push(id);
  });

  const client = new Client(relay);
  const tenant = new Tenant(client);
  const lives = livesOf(seed, receiver);
  let isOver = false;
  const living = async () => {
    await Promise.all(TENANTS.map((account) => tenant.open(account)));
    const isCreated = await inParallel(PARALLEL, lives, (life) => tenant.live(life));
    isOver = true;
    return isCreated;
  };
  const [isCreated, deaths] = await Promise.all([
    living(),
    killing(relay, seeded(seed + 1), () => isOver),
  ]);

  await silence(receiver);
  const remember = async (life: Life, isNew: boolean): Promise<Lived> => {
    const { status, json } = await client.ask("GET", `/v1/tasks/${life.id}`);
    const task = status === 404 ? null : Task.and(CreditsOfTask).parse(json);
    return { life, isCreated: isNew, task, posts: receiver.postsAt(`/${life.id}`) };
  };
  return {
    ...deaths,
    lived: await Promise.all(lives.map((life, i) => remember(life, isCreated[i] === true))),
    books: await Promise.all(TENANTS.map(({ id }) => booksOf(client, id))),
    lostAnswers: tenant.lostAnswers,
    tooEarly,
    output: relay.output,
  };
}

/** Kills and restarts the relay until there is nothing left to disturb. */
async function killing(
  relay: Workerd,
  random: () => number,
  isOver: () => boolean,
): Promise<{ readonly kills: number; readonly caught: Caught[] }> {
  const caught: Caught[] = [];
  let kills = 0;
  for (let left = KILLS_AFTERWARDS; left > 0; kills++) {
    if (isOver()) left--;
    const upSince = Date.now();
    await sleep(random() * MAX_UP_MS);
    const stepMs = random() * MAX_STEP_MS;
    // At any moment, or soon after a task or an account was written: or it would seldom meet a charge.
    const written = [null, "tasks", "accounts"][kills % 3] ?? null;
    if (written !== null) await nextWrite(join(relay.storage, written), stepMs);
    await relay.kill9();
    caught.push(...caughtSince(relay.storage, upSince));
    await relay.restart();
  }
  return { kills, caught };
}

/** Until some time after the next write to a file in the directory, if there is one soon. */
async function nextWrite(directory: string, afterMs: number): Promise<void> {
  const giveUp = new AbortController();
  const timer = setTimeout(() => giveUp.abort(), MAX_UP_MS);
  try {
    for await (const _ of watch(directory, { signal: giveUp.signal })) break;
    await sleep(afterMs);
  } catch (error) {
    if (!giveUp.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    giveUp.abort();
  }
}

async function silence(receiver: Receiver): Promise<void> {
  const restartedAt = Date.now();
  const lastNews = () => Math.max(restartedAt, receiver.posts.at(-1)?.arrivedAt ?? 0);
  while (Date.now() - lastNews() < QUIET_MS) await sleep(100);
}

async function booksOf(client: Client, accountId: string): Promise<Books> {
  const path = `/v1/accounts/${accountId}`;
  const { balance } = Account.parse((await client.ask("GET", path)).json);
  const entries: Entry[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query = `limit=${PAGE}${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const page = Page.parse((await client.ask("GET", `${path}/entries?${query}`)).json);
    entries.push(...page.data.map((entry) => Entry.parse(entry)));
    cursor = page.next_cursor;
  }
  return { accountId, balance, entries: entries.toReversed() };
}
