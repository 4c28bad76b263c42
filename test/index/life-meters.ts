import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { removeExpired } from "../../src/index-db/sweep.ts";
import * as z from "zod";
import type { Meters } from "../../scripts/cost/lives.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { TimeBudget } from "../../src/time-budget.ts";
import { callWith, type Message } from "../worker/client.ts";
import { realMs, until } from "../worker/clock.ts";
import { stubOf } from "../worker/objects.ts";
import type { Outside } from "../worker/outside.ts";
import { gated, metered, restartWith } from "./bindings.ts";
import { DAY, db } from "./support.ts";

/** Time in milliseconds after which the platform evicts an idle object from memory. */
const IDLE_MS = 10_000;
/** Longest time in milliseconds ahead for which an object sets its alarm while it works. */
const WATCHDOG_MS = 35_000;

/** A task on a relay that counts requests, rows and log lines. */
export class MeteredLife {
  /**
   * Id of the task, random except for its end, which decides the times of the polls; so every run counts the
   * same.
   */
  readonly id = `${crypto.randomUUID().slice(0, -8)}40000000`;
  readonly #bindings: object;
  readonly #d1 = metered(db);
  readonly #outside: Outside;
  readonly #variables: object;
  readonly #storages: StorageMeter[] = [];
  readonly #objectCalls = spiesOnObjects();
  readonly #log = (["log", "warn", "error"] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation(() => undefined),
  );
  #requests = 0;
  #queries = 0;
  #indexWrites = 0;

  /** Starts to count. @param bindings further variables; the index is the only binding counted. */
  constructor(outside: Outside, hasIndex: boolean, bindings: object) {
    this.#outside = outside;
    const INDEX_DB = gated(this.#d1.INDEX_DB, async (sql) => {
      this.#queries++;
      if (sql.includes("INSERT INTO tasks")) this.#indexWrites++;
    });
    const variables = { LOG: "normal", INDEX_DB: hasIndex ? INDEX_DB : undefined, ...bindings };
    this.#bindings = { ...env, ...variables };
    this.#variables = variables;
  }

  /** Sends a request to the relay. */
  async send(path: string, message: Message = {}): Promise<Response> {
    if (this.#storages.length === 0) await this.#restart();
    this.#requests++;
    const response = await callWith(this.#bindings, path, message);
    expect(response.status).toBeLessThan(300);
    return response;
  }

  /** Lets time pass with its alarms until `at`, Unix milliseconds. */
  async liveUntil(at: number): Promise<void> {
    const { alarm } = await this.#peek();
    const isDue = alarm !== null && alarm <= at;
    const next = isDue ? Math.max(Date.now(), alarm) : at;
    const isEvicted = next - Date.now() > IDLE_MS;
    vi.setSystemTime(next);
    // The platform evicts an object that has been idle for so long, which then knows only what is stored.
    if (isEvicted) await this.#restart();
    if (!isDue) return;
    await runInDurableObject(stubOf(this.id), async (instance, { storage }) => {
      if (!(instance instanceof TaskObject)) throw new Error("expected the object of a task");
      await storage.deleteAlarm();
      await instance.alarm({ scheduledTime: alarm, isRetry: false, retryCount: 0 });
    });
    await this.liveUntil(at);
  }

  /** Waits until no step of the task is due. */
  async settle(): Promise<void> {
    await until(async () => isIdle(await this.#peek()));
    // The work loop sets its alarm in the turn after the last write.
    await realMs(1);
  }

  async isErased(): Promise<boolean> {
    return (await this.#peek()).record === undefined;
  }

  /** Removes the row of the task, whose retention is over, from the index. */
  async sweep(): Promise<void> {
    const retention = { retentionMs: 28 * DAY, indexRetentionMs: 7 * DAY };
    await removeExpired(this.#d1.INDEX_DB, retention, Date.now(), new TimeBudget(DAY));
  }

  /** Returns the counts so far. */
  async meters(): Promise<Meters> {
    const counts = this.#storages.map(({ count }) => count());
    const read = counts.reduce((sum, rows) => sum + rows.read, 0);
    const written = counts.reduce((sum, rows) => sum + rows.written, 0);
    const objectRequests = callsOf(this.#objectCalls.map(({ spy }) => spy));
    const alarms = callsOf(
      this.#objectCalls.flatMap(({ name, spy }) => (name === "alarm" ? [spy] : [])),
    );
    const [polls, attempts] = [
      this.#outside.sentTo("https://ark."),
      this.#outside.sentTo("https://client."),
    ];
    return {
      workerRequests: this.#requests,
      objectRequests,
      rowsWritten: written,
      rowsRead: read,
      d1Written: this.#d1.rows.written,
      d1Read: this.#d1.rows.read,
      logLines: this.#log.flatMap(({ mock }) => mock.calls).filter(isOfTask).length,
      polls: polls.length,
      attempts: attempts.length,
      indexWrites: this.#indexWrites,
      subrequests:
        objectRequests - alarms + this.#queries + this.#outside.sentTo("https://").length,
    };
  }

  /** Replaces the instance of the object by one that knows only what is stored. */
  async #restart(): Promise<void> {
    await restartWith(this.id, this.#variables);
    this.#storages.push(await meterStorage(this.id));
  }

  async #peek() {
    const get = this.#storages.at(-1)?.get;
    return runInDurableObject(stubOf(this.id), async (_, { storage }) => ({
      record: get?.("task"),
      alarm: await storage.getAlarm(),
    }));
  }
}

/**
 * Tells whether a task has no step to take now: its alarm is set for the next one, that of a settled task for its
 * erasure.
 */
function isIdle({ record, alarm }: { readonly record: unknown; readonly alarm: number | null }) {
  const { callback, tracking } = Stored.parse(record);
  // A hook that claims the end of the job is followed by a poll at once.
  if (callback == null) return tracking?.poll?.hint == null;
  const waitMs = (alarm ?? NaN) - Date.now();
  if (callback.state.kind === "due") return waitMs < WATCHDOG_MS / 2 || waitMs > WATCHDOG_MS;
  return callback.state.kind !== "in_flight" && waitMs > DAY;
}

const Stored = z.object({
  callback: z.object({ state: z.object({ kind: z.string() }) }).nullish(),
  tracking: z.object({ poll: z.object({ hint: z.unknown() }).nullable() }).optional(),
});

const METHODS = ["apply", "hook", "republish", "expireIfDue", "read", "wake", "alarm"] as const;

interface StorageMeter {
  readonly get: (key: string) => unknown;
  readonly count: () => { readonly read: number; readonly written: number };
}

/** Counts the rows of the object of a task as the platform bills them: `deleteAll` is free. */
function meterStorage(id: string): Promise<StorageMeter> {
  return runInDurableObject(stubOf(id), (_, { storage }) => {
    const get = storage.kv.get.bind(storage.kv);
    const reads = [vi.spyOn(storage.kv, "get"), vi.spyOn(storage.kv, "list")];
    const writes = [
      vi.spyOn(storage.kv, "put"),
      vi.spyOn(storage.kv, "delete"),
      vi.spyOn(storage, "setAlarm"),
      vi.spyOn(storage.sql, "exec"),
    ];
    return { get, count: () => ({ read: callsOf(reads), written: callsOf(writes) }) };
  });
}

/** Spies on all methods of the objects of tasks; these lives call no account. */
function spiesOnObjects() {
  const { prototype } = TaskObject;
  return METHODS.map((name) => ({ name, spy: vi.spyOn(prototype, name) }));
}

/** Tells whether a log line belongs to a task; warnings about variables come once per isolate. */
function isOfTask([line]: readonly unknown[]): boolean {
  return !String(line).includes('"event":"config.warning"');
}

function callsOf(
  spies: readonly { readonly mock: { readonly calls: readonly unknown[] } }[],
): number {
  return spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);
}
