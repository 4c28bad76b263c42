import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { Client, SECRETS } from "../harness/client.ts";
import { inParallel } from "../harness/parallel.ts";
import { type Post, Receiver } from "../harness/receiver.ts";
import { seeded } from "../harness/seeded.ts";
import { isRefundStored } from "../harness/stored-ledger.ts";
import { live, type Lived } from "./task-run.ts";
import { PatientOperator, UpgradedTask } from "./operator.ts";
import { Periods } from "./periods.ts";
import { PERIODS, TENANTS, upgradeLives } from "./plan.ts";
import { currentRelease, earlierReleases, type Release } from "./releases.ts";
import { Upstream } from "../upstreams/fake-upstream.ts";
import { Workerd } from "../harness/workerd.ts";

const TIMEOUT_MS = 2_000;
const WAIT_MS = 1_000;
/** Until the watchdog of an attempt or a refund has looked, and all has happened that follows. */
const QUIET_MS = TIMEOUT_MS + 5_000 + WAIT_MS + TIMEOUT_MS + 2_000;
const GRANT = 1_000_000;
const PARALLEL = 12;
const TMPFS = "/dev/shm";

/** Booked in an account. */
export type Entry = z.infer<typeof Entry>;
const Entry = z.object({
  kind: z.string(),
  amount: z.int(),
  balance: z.int(),
  task_id: z.string().optional(),
});
const Page = z.object({ data: z.array(Entry), next_cursor: z.string().nullable() });
const Secrets = z.object({ callbacks: z.tuple([z.string()], z.string()) });

/** A task as its operator, the relay and the receiver remember it. */
export interface Upgraded extends Lived {
  readonly task: UpgradedTask;
  readonly posts: readonly Post[];
}

export interface UpgradeReport {
  readonly upgraded: readonly Upgraded[];
  /** Of each account, oldest first. */
  readonly books: readonly (readonly Entry[])[];
  readonly lostAnswers: number;
  /** Tasks whose `task.failed` arrived while no account's file held their refund. */
  readonly tooEarly: readonly string[];
  /** Of callbacks, by account; `""`: those of the relay. */
  readonly secrets: ReadonlyMap<string, string>;
  readonly output: string;
  readonly releaseAt: (time: number) => Release;
}

/**
 * 1,000 tasks live over six periods: at the end of each the relay is killed, and another release goes on
 * with its storage, earlier ones and the current one in turn. Then silence until nothing can be due any
 * more; no task is read before that, since a read could wake what is stuck.
 */
export async function upgradeRun(seed: number): Promise<UpgradeReport> {
  const releases = await releasesInTurn();
  await using upstream = await Upstream.start();
  await using relay = await Workerd.start({
    vars: {
      ...SECRETS,
      CALLBACK_SCHEDULE_S: `0,${WAIT_MS / 1000},${WAIT_MS / 1000}`,
      CALLBACK_TIMEOUT_S: String(TIMEOUT_MS / 1000),
      ALLOW_LOCAL_CALLBACKS: "true",
      CONNECTIONS: upstream.connections,
    },
    script: releases[0]?.script ?? "",
    // What a killed process has written survives there too, and 1,000 files take no minute to make.
    parent: existsSync(TMPFS) ? TMPFS : tmpdir(),
  });
  const priced = new Set<string>();
  const tooEarly: string[] = [];
  await using receiver = await Receiver.start((path, headers) => {
    const id = path.slice(1);
    const isOwed = headers["x-event"] === "task.failed" && priced.has(id);
    if (isOwed && !isRefundStored(relay.storage, id)) tooEarly.push(id);
  });
  const lives = upgradeLives(seed, receiver);
  for (const { id, credits } of lives) if (credits > 0) priced.add(id);
  const operator = new PatientOperator(relay);
  const client = new Client(relay);
  await openAccounts(operator);

  const periods = new Periods(relay, seeded(seed + 1));
  const passing = async () => {
    for (const release of releases) await periods.pass(release);
  };
  const living = lives.map((life) => live(life, { client, operator, upstream, periods }));
  const [lived] = await Promise.all([Promise.all(living), passing()]);
  await silence(receiver);

  const remember = async (one: Lived): Promise<Upgraded> => {
    const { json } = await client.ask("GET", `/v1/tasks/${one.life.id}`);
    return { ...one, task: UpgradedTask.parse(json), posts: receiver.postsAt(`/${one.life.id}`) };
  };
  return {
    upgraded: await inParallel(PARALLEL, lived, remember),
    books: await Promise.all(TENANTS.map((id) => entriesOf(client, id))),
    lostAnswers: operator.lostAnswers,
    tooEarly,
    secrets: await secretsOf(client),
    output: relay.output,
    releaseAt: (time) => periods.releaseAt(time),
  };
}

/** For each period: earlier releases in the even ones, the current one in the odd ones. */
async function releasesInTurn(): Promise<Release[]> {
  const earlier = await earlierReleases();
  const current = await currentRelease();
  return Array.from({ length: PERIODS }, (_, nth) => {
    const before = earlier[(nth / 2) % earlier.length];
    return before ?? current;
  });
}

async function openAccounts(operator: PatientOperator): Promise<void> {
  for (const id of TENANTS) {
    await operator.insist([201], "/v1/accounts", { id });
    const grant = { reference: "opening", amount: GRANT };
    await operator.insist([201], `/v1/accounts/${id}/grants`, grant);
  }
}

async function silence(receiver: Receiver): Promise<void> {
  const from = Date.now();
  const lastNews = () => Math.max(from, receiver.posts.at(-1)?.arrivedAt ?? 0);
  while (Date.now() - lastNews() < QUIET_MS) await sleep(100);
}

async function entriesOf(client: Client, accountId: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query = cursor === "" ? "" : `?cursor=${cursor}`;
    const { json } = await client.ask("GET", `/v1/accounts/${accountId}/entries${query}`);
    const page = Page.parse(json);
    entries.push(...page.data);
    cursor = page.next_cursor;
  }
  return entries.toReversed();
}

async function secretsOf(client: Client): Promise<Map<string, string>> {
  const paths: [string, string][] = [
    ["", "/v1/signing-secrets"],
    ...TENANTS.map((id): [string, string] => [id, `/v1/accounts/${id}/signing-secrets`]),
  ];
  const secrets = paths.map(async ([id, path]): Promise<[string, string]> => {
    const { json } = await client.ask("GET", path);
    return [id, Secrets.parse(json).callbacks[0]];
  });
  return new Map(await Promise.all(secrets));
}
