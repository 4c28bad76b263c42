import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, vi } from "vitest";
import { removeExpired } from "../../src/index-db/sweep.ts";
import * as z from "zod";
import type { Meters } from "../../scripts/cost/lives.ts";
import { hashOf } from "../../src/core/hash.ts";
import { AccountObject } from "../../src/objects/account/account-object.ts";
import { CallObject } from "../../src/objects/call/call-object.ts";
import { HostPauses } from "../../src/objects/host-pauses.ts";
import { JobObject } from "../../src/objects/job-object.ts";
import { jobObject } from "../../src/objects/object-names.ts";
import { OutputObject } from "../../src/objects/output/output-object.ts";
import { QueueObject } from "../../src/objects/queue/queue-object.ts";
import { ObjectPlatform } from "../../src/objects/task/object-platform.ts";
import { TaskObject } from "../../src/objects/task/task-object.ts";
import { TimeBudget } from "../../src/lib/time-budget.ts";
import { accountStub } from "../worker/accounts.ts";
import { callWith, type Message } from "../worker/client.ts";
import { realMs, until } from "../worker/clock.ts";
import { stubOf } from "../worker/objects.ts";
import { started } from "../worker/started.ts";
import type { Outside } from "../worker/outside.ts";
import { VIDEO } from "../worker/tasks.ts";
import { gated, metered, restartWith } from "./bindings.ts";
import { DAY, db } from "./support.ts";

/** Time in milliseconds after which the platform evicts an idle object from memory. */
const IDLE_MS = 10_000;
/** Longest time in milliseconds ahead for which an object sets its alarm while it works. */
const WATCHDOG_MS = 35_000;

/** Submission of another task, which has the only place of a connection. What is done for it is not counted. */
const OTHER = "other-submission";

/** Index of a relay: none, one that works, or one all of whose queries fail. */
export type IndexKind = "none" | "works" | "away";

/** A task on a relay that counts requests, rows and log lines. */
export class MeteredLife {
  readonly id = idWithoutJitter();
  readonly #bindings: object;
  readonly #d1 = metered(db);
  readonly #outside: Outside;
  readonly #index: IndexKind;
  readonly #variables: object;
  readonly #job: string;
  readonly #connection: string;
  readonly #storages: StorageMeter[] = [];
  /** Meters of the storage of objects that are no part of every life. */
  readonly #others: StorageMeter[] = [];
  readonly #objectCalls = spiesOnObjects((storage) => this.#storages.push(meterOf(storage)));
  readonly #log = (["log", "warn", "error"] as const).map((level) =>
    vi.spyOn(console, level).mockImplementation(() => undefined),
  );
  #hasOutputs = false;
  /** Calls of the sender. */
  readonly #sends = vi.spyOn(ObjectPlatform.prototype, "send");
  #requests = 0;
  #queries = 0;
  #indexWrites = 0;

  /**
   * Starts to count.
   * @param bindings further variables; the index is the only binding counted.
   * @param job id of the job; the object that stores to which task it belongs is counted too.
   * @param connection name of the connection at which the job runs.
   */
  constructor(
    outside: Outside,
    index: IndexKind,
    bindings: object,
    job: string,
    connection: string,
  ) {
    this.#job = job;
    this.#connection = connection;
    this.#outside = outside;
    this.#index = index;
    const INDEX_DB = gated(this.#d1.INDEX_DB, async (sql) => {
      this.#queries++;
      if (sql.includes("INSERT INTO index_rows")) this.#indexWrites++;
      if (index === "away") throw new Error("D1 is away");
    });
    const bound = index === "none" ? undefined : INDEX_DB;
    const variables = { LOG: "normal", INDEX_DB: bound, ...bindings };
    this.#bindings = { ...env, ...variables };
    this.#variables = variables;
    // The attempts of an isolate share its readings of the paused hosts, so these are no part of a life.
    vi.spyOn(HostPauses.prototype, "read").mockReturnValue(null);
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
    const { alarm, isMetered } = await this.#peek();
    const isDue = alarm !== null && alarm <= at;
    const next = isDue ? Math.max(Date.now(), alarm) : at;
    const isEvicted = next - Date.now() > IDLE_MS;
    vi.setSystemTime(next);
    // The platform evicts an object that has been idle for so long, which then knows only what is stored. A test that
    // pauses for so long loses its instance too.
    if (isEvicted || !isMetered) await this.#restart();
    if (!isDue) return;
    await runInDurableObject(stubOf(this.id), async (instance, { storage }) => {
      if (!(instance instanceof TaskObject)) throw new Error("expected the object of a task");
      await storage.deleteAlarm();
      await instance.alarm({ scheduledTime: alarm, isRetry: false, retryCount: 0 });
    });
    await until(async () => !isSending(await this.#peek()));
    await this.liveUntil(at);
  }

  /** Waits until no step of the task is due. */
  async settle(): Promise<void> {
    const hasWork = this.#index === "away" || this.#hasOutputs;
    await until(async () => isIdle(await this.#peek(), hasWork));
    // The work loop sets its alarm in the turn after the last write.
    await realMs(1);
  }

  /** Lets another submission take the only place of the connection. */
  async occupy(): Promise<void> {
    const queue = env.QUEUES.getByName(this.#connection);
    await this.#configure(queue);
    const place = { submissionId: OTHER, taskId: OTHER, account: null, via: this.#connection };
    const since = Date.now();
    expect(await queue.ask({ ...place, attempt: 1, since, mayWait: false })).toEqual({
      kind: "granted",
    });
    this.#storages.push(await meterStorage(queue));
  }

  /** Waits until the call of the submission stands in the queue, and returns the object of the call. */
  async queuedCall(): Promise<DurableObjectStub<CallObject>> {
    const asked = this.#objectCalls.find(({ of, name }) => of === QueueObject && name === "ask");
    const question = asked?.spy.mock.calls.map(([given]) => Question.parse(given)).at(-1);
    const call = env.CALLS.getByName(question?.submissionId ?? "");
    await until(async () => {
      const state = await runInDurableObject(call, (_, { storage }) =>
        uncounted(storage.kv, "call"),
      );
      return QueuedState.safeParse(state).success;
    });
    return call;
  }

  /**
   * Lets the other submission give its place back, and waits until the queue has told the object of the call, which knows
   * only what is stored.
   */
  async freePlace(call: DurableObjectStub<CallObject>): Promise<void> {
    await evictDurableObject(call);
    await this.#configure(call);
    this.#storages.push(await meterStorage(call));
    await env.QUEUES.getByName(this.#connection).leave(OTHER);
    await until(() =>
      this.#objectCalls.some(({ name, spy }) => name === "grant" && callsOf([spy]) > 0),
    );
  }

  /** Lets the object of a call do what is due, until nothing is due any more. */
  async makeCall(call: DurableObjectStub<CallObject>): Promise<void> {
    for (;;) {
      const alarm = await runInDurableObject(call, (_, { storage }) => storage.getAlarm());
      if (alarm === null) return;
      vi.setSystemTime(Math.max(Date.now(), alarm));
      await runDurableObjectAlarm(call);
    }
  }

  /** Counts the rows of the ledger of an account. */
  async meterLedger(account: string): Promise<void> {
    this.#others.push(
      await runInDurableObject(accountStub(account), (_, { storage }) => tableMeterOf(storage)),
    );
  }

  /** Binds a bucket to the object that copies the outputs of the task, and counts its rows. */
  async meterOutputs(): Promise<void> {
    this.#hasOutputs = true;
    const copier = await this.#copier();
    await this.#configure(copier);
    this.#others.push(await meterStorage(copier));
  }

  /** Lets the object that copies the outputs of the task do what is due. */
  async workOnOutputs(): Promise<void> {
    const copier = await this.#copier();
    const alarm = await runInDurableObject(copier, (_, { storage }) => storage.getAlarm());
    vi.setSystemTime(Math.max(Date.now(), alarm ?? 0));
    expect(await runDurableObjectAlarm(copier)).toBe(true);
  }

  async #copier() {
    const { record } = await this.#peek();
    const { recordedAt } = Recorded.parse(record);
    return env.OUTPUT_OBJECTS.getByName(`${this.id}:${recordedAt}`);
  }

  async #configure(
    stub: DurableObjectStub<CallObject | QueueObject | OutputObject>,
  ): Promise<void> {
    const value = await started({ ...env, ...this.#variables });
    await runInDurableObject<CallObject | QueueObject | OutputObject, void>(stub, (instance) => {
      Object.defineProperty(instance, "env", { value });
    });
  }

  /** Returns how often readers have read the task so far. */
  reads(): number {
    return callsOf(
      this.#objectCalls.flatMap(({ name, spy }) => (name.startsWith("read") ? [spy] : [])),
    );
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
    const counts = [...this.#storages, ...this.#others].map(({ count }) => count());
    const read = counts.reduce((sum, rows) => sum + rows.read, 0);
    const written = counts.reduce((sum, rows) => sum + rows.written, 0);
    const objectRequests = callsOf(this.#objectCalls.map(({ spy }) => spy));
    const alarms = callsOf(
      this.#objectCalls.flatMap(({ name, spy }) => (name === "alarm" ? [spy] : [])),
    );
    const sent = this.#outside.sentTo("https://");
    const attempts = this.#outside.sentTo("https://client.");
    const polls = sent.filter(({ method, url }) => method === "GET" && url !== VIDEO);
    return {
      workerRequests: this.#requests,
      objectRequests,
      rowsWritten: written,
      rowsRead: read,
      d1Written: this.#d1.rows.written,
      d1Read: this.#d1.rows.read,
      logLines: this.#log
        .flatMap(({ mock }) => mock.calls)
        .filter(([line]) => String(line).includes(this.id)).length,
      polls: polls.length,
      attempts: attempts.length,
      indexWrites: this.#indexWrites,
      subrequests: objectRequests - alarms + this.#queries + sent.length + callsOf([this.#sends]),
    };
  }

  /** Replaces the instance of the object by one that knows only what is stored. */
  async #restart(): Promise<void> {
    await restartWith(this.id, this.#variables);
    if (this.#storages.length === 0) {
      const relay = await started({ ...env, ...this.#variables });
      this.#storages.push(await meterStorage(jobObject(relay, this.#connection, this.#job)));
    }
    this.#storages.push(await meterStorage(stubOf(this.id)));
  }

  async #peek(): Promise<Peeked> {
    return runInDurableObject(stubOf(this.id), async (_, { storage }) => ({
      record: uncounted(storage.kv, "task"),
      alarm: await storage.getAlarm(),
      isMetered: vi.isMockFunction(Reflect.get(storage.kv, "get")),
    }));
  }
}

/** Reads a value from the storage of an object without the spy that counts. */
function uncounted(kv: SyncKvStorage, key: string): unknown {
  const prototype: SyncKvStorage = Object.getPrototypeOf(kv);
  return prototype.get.call(kv, key);
}

/**
 * Tells whether a task has no step to take now: its alarm is set for the next one, that of a settled task for its
 * erasure.
 * @param hasWork true when the alarm of a settled task may be set for a write to the index, or for an order to copy outputs.
 */
function isIdle({ record, alarm }: Peeked, hasWork: boolean) {
  const { callback, tracking } = Stored.parse(record);
  // A hook that claims the end of the job is followed by a poll at once.
  if (callback == null) return tracking?.poll?.hint == null;
  const waitMs = (alarm ?? NaN) - Date.now();
  const { kind } = callback.state;
  const isPlanned = waitMs < WATCHDOG_MS / 2 || waitMs > WATCHDOG_MS;
  if (kind === "due") return isPlanned;
  return kind !== "in_flight" && (waitMs > DAY || (hasWork && isPlanned && waitMs > 0));
}

/** Tells whether an attempt is running whose end its sender will report. */
function isSending({ record }: Peeked): boolean {
  return Stored.optional().parse(record)?.callback?.state.kind === "in_flight";
}

interface Peeked {
  readonly record: unknown;
  readonly alarm: number | null;
  /** False for an instance that no meter counts, because the platform has replaced the one with meters. */
  readonly isMetered: boolean;
}

const Recorded = z.looseObject({ recordedAt: z.number() });
const Stored = z.object({
  callback: z.object({ state: z.object({ kind: z.string() }) }).nullish(),
  tracking: z.object({ poll: z.object({ hint: z.unknown() }).nullable() }).optional(),
});

/**
 * Returns a random id with which a task's polls have waits of the mean length, neither shortened nor lengthened by
 * the jitter; so every run counts the same.
 */
function idWithoutJitter(): string {
  for (;;) {
    const id = crypto.randomUUID();
    if (Math.abs(hashOf(id) / 0xffffffff - 1 / 2) < 0.001) return id;
  }
}

/** Methods that are called from outside an object. `inspect` is missing, because it calls `read` itself. */
const METHODS = [
  "apply",
  "endAttempt",
  "startCall",
  "endCall",
  "endCopies",
  "endSubmission",
  "hook",
  "rewriteIndexRow",
  "expireIfDue",
  "fetch",
  "read",
  "readByLink",
  "wake",
  "alarm",
] as const;

interface StorageMeter {
  readonly count: () => { readonly read: number; readonly written: number };
}

/** Counts the rows of an object as the platform bills them: `deleteAll` is free. */
function meterStorage(
  stub: DurableObjectStub<TaskObject | JobObject | CallObject | QueueObject | OutputObject>,
): Promise<StorageMeter> {
  return runInDurableObject<DurableObject, StorageMeter>(stub, (_, { storage }) =>
    meterOf(storage),
  );
}

function meterOf(storage: DurableObjectStorage): StorageMeter {
  const reads = [vi.spyOn(storage.kv, "get"), vi.spyOn(storage.kv, "list")];
  const writes = [
    vi.spyOn(storage.kv, "put"),
    vi.spyOn(storage.kv, "delete"),
    vi.spyOn(storage, "setAlarm"),
    vi.spyOn(storage.sql, "exec"),
  ];
  return { count: () => ({ read: callsOf(reads), written: callsOf(writes) }) };
}

/** Counts the rows of an object with tables, in which a statement reads and writes several rows. */
function tableMeterOf(storage: DurableObjectStorage): StorageMeter {
  const others = [vi.spyOn(storage.kv, "put"), vi.spyOn(storage, "setAlarm")];
  const exec = vi.spyOn(storage.sql, "exec");
  const cursors = () =>
    exec.mock.results.flatMap(({ type, value }) => (type === "return" ? [value] : []));
  return {
    count: () => ({
      read: cursors().reduce((sum, { rowsRead }) => sum + rowsRead, 0),
      written: cursors().reduce((sum, { rowsWritten }) => sum + rowsWritten, callsOf(others)),
    }),
  };
}

/** Spies on the method with which the object of a call begins to exist. @param onStore is called with its storage. */
function spyOnStoreCall(onStore: (storage: DurableObjectStorage) => void) {
  const storeCall: (typeof CallObject.prototype)["storeCall"] = Reflect.get(
    CallObject.prototype,
    "storeCall",
  );
  return vi.spyOn(CallObject.prototype, "storeCall").mockImplementation(function (
    this: CallObject,
    ...given
  ) {
    onStore(State.parse(Reflect.get(this, "ctx")).storage);
    return Reflect.apply(storeCall, this, given);
  });
}

/**
 * Spies on all methods of the objects of tasks, of their calls and outputs, of those that store which job belongs to them,
 * and of the queues in which they wait, and on the bookings of ledgers. Other calls of shared objects are not counted, nor
 * the alarms of a queue.
 */
function spiesOnObjects(onStore: (storage: DurableObjectStorage) => void) {
  const ofTasks = METHODS.map((name) => {
    return { of: TaskObject, name, spy: vi.spyOn(TaskObject.prototype, name) };
  });
  const ofJobs = (["setTask", "forget"] as const).map((name) => {
    return { of: JobObject, name, spy: vi.spyOn(JobObject.prototype, name) };
  });
  const ofCalls = CALL_METHODS.map((name) => {
    return { of: CallObject, name, spy: vi.spyOn(CallObject.prototype, name) };
  });
  const ofQueues = (["ask", "refuse", "leave", "position"] as const).map((name) => {
    return { of: QueueObject, name, spy: vi.spyOn(QueueObject.prototype, name) };
  });
  const ofOutputs = (["copy", "delete", "alarm"] as const).map((name) => {
    return { of: OutputObject, name, spy: vi.spyOn(OutputObject.prototype, name) };
  });
  const ofLedgers = (["charge", "refund", "release"] as const).map((name) => {
    return { of: AccountObject, name, spy: vi.spyOn(AccountObject.prototype, name) };
  });
  const storing = { of: CallObject, name: "storeCall", spy: spyOnStoreCall(onStore) };
  return [...ofTasks, ...ofJobs, ...ofCalls, storing, ...ofQueues, ...ofOutputs, ...ofLedgers];
}

const CALL_METHODS = ["storeForm", "begin", "drop", "grant", "passOn", "alarm"] as const;
/** The state of an object, of which its storage is counted. */
const State = z.object({ storage: z.custom<DurableObjectStorage>() });
const Question = z.object({ submissionId: z.string() });
/** What the object of a call stores that waits for a place, once its task is registered. */
const QueuedState = z.object({ stay: z.object({ isBegun: z.literal(true) }) });

function callsOf(
  spies: readonly { readonly mock: { readonly calls: readonly (readonly unknown[])[] } }[],
): number {
  const own = ({ mock }: (typeof spies)[number]) =>
    mock.calls.filter((given) => !given.includes(OTHER)).length;
  return spies.reduce((sum, spy) => sum + own(spy), 0);
}
