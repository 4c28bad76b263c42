import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { readCopy } from "../harness/stored-record.ts";
import type { Workerd } from "../harness/workerd.ts";

const LOOK_EVERY_MS = 250;
/**
 * Time in milliseconds without log lines after which the relay counts as quiet; longer than any work that no
 * alarm guards.
 */
const QUIET_MS = 4_000;
/**
 * Time in milliseconds ahead within which an alarm counts as near: all work is due sooner, except timeouts of
 * open tasks and erasures of settled ones.
 */
const NEAR_MS = 150_000;
/** Delay in milliseconds from which a late alarm counts as lost. */
const MISSED_MS = 30_000;
const GIVE_UP_AFTER_MS = 240_000;
const NS_PER_MS = 1_000_000n;

const Count = z.object({ count: z.int() });

/** The signs by which a relay counts as quiet. */
interface Signs {
  readonly output: () => string;
  /** Returns the number of tasks, calls and queues with an alarm in the near future; null when it cannot be read now. */
  readonly nearAlarms: () => number | null;
  /** Time in milliseconds without log lines after which the relay counts as quiet. */
  readonly quietMs: number;
}

/**
 * Waits until the relay logs nothing and no alarm of a task, call or queue is near. Reads the alarms from its files,
 * because a request could wake a task that is stuck.
 */
export function quiescence(
  relay: Workerd,
  meanwhile: () => void,
  giveUpAfterMs = GIVE_UP_AFTER_MS,
): Promise<void> {
  const signs = {
    output: () => relay.output,
    nearAlarms: () => nearAlarms(relay.storage),
    quietMs: QUIET_MS,
  };
  return quiet(signs, meanwhile, giveUpAfterMs);
}

/**
 * Waits until a relay logs nothing and no alarm is near. Counts how often it has looked, because on a busy machine this
 * process and the relay may both stand still for seconds.
 */
export async function quiet(
  signs: Signs,
  meanwhile: () => void,
  giveUpAfterMs = GIVE_UP_AFTER_MS,
): Promise<void> {
  const giveUpAt = Date.now() + giveUpAfterMs;
  let [looks, length] = [0, -1];
  while (looks * LOOK_EVERY_MS < signs.quietMs && Date.now() < giveUpAt) {
    await sleep(LOOK_EVERY_MS);
    meanwhile();
    const isQuiet = signs.output().length === length && signs.nearAlarms() === 0;
    looks = isQuiet ? looks + 1 : 0;
    length = signs.output().length;
  }
}

function nearAlarms(storage: string): number | null {
  const files = ["tasks", "calls", "queues"].map((name) => join(storage, name, "metadata.sqlite"));
  const counts = files.filter((file) => existsSync(file)).map(nearAlarmsIn);
  return counts.reduce((sum, count) => (sum === null || count === null ? null : sum + count), 0);
}

function nearAlarmsIn(file: string): number | null {
  const now = Date.now();
  const [from, until] = [now - MISSED_MS, now + NEAR_MS].map((at) => BigInt(at) * NS_PER_MS);
  const query = "SELECT COUNT(*) AS count FROM _cf_ALARM WHERE scheduled_time BETWEEN ? AND ?";
  return readCopy(file, (alarms) => {
    return Count.parse(alarms.prepare(query).get(from ?? 0n, until ?? 0n)).count;
  });
}
