import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Callback } from "../../src/core/record/callback.ts";
import { jsonEqual, type JsonValue } from "../../src/core/json.ts";
import { nextStep, wakeAt } from "../../src/core/step.ts";
import {
  isOpen,
  isSettled,
  isTerminal,
  type OpenTask,
  type TaskRecord,
  type TerminalTask,
} from "../../src/core/record/task.ts";
import type { Policy } from "../../src/core/policy.ts";
import { parseRecord } from "../../src/task/record-schema.ts";
import { BEGINNING, type Command, commands, eventOf, next, type World } from "./world.ts";

const SEED = 20_261_020;
/** For a machine that does other things too. */
const TIMEOUT = 60_000;

/** What holds of any record, however it came about. */
function checkRecord({ record, policy, longest, refunds }: World): void {
  if (record === null) return;
  const wake = wakeAt(record, policy);
  expect(Number.isFinite(wake)).toBe(true);
  expect(nextStep(record, policy, wake)).not.toBeNull();
  expect(nextStep(record, policy, wake - 1)).toBeNull();
  expect(wake).toBe(dutyTime(record, policy));
  checkCredits(record, refunds);
  if (isOpen(record)) checkTracking(record);
  if (!isTerminal(record) || record.callback === null) return;
  const { attempts, lastNumber, series, state } = record.callback;
  expect(series.started).toBeLessThanOrEqual(series.ordered ?? longest);
  expect(attempts.length).toBeLessThanOrEqual(20);
  const open = state.kind === "in_flight" ? [state.number] : [];
  const numbers = [...attempts.map(({ number }) => number), ...open];
  expect(numbers).toEqual(numbers.map((_, i) => lastNumber - numbers.length + 1 + i));
}

/** Where the credits of a record are follows from its status; nothing is sent before they are back. */
function checkCredits(record: TaskRecord, refunds: number): void {
  const { status, registration } = record;
  const kind = record.credits?.state.kind;
  const isPriced = registration !== null && registration.credits !== null;
  expect(kind !== undefined).toBe(isPriced);
  if (kind !== undefined) expect(POSSIBLE[status]).toContain(kind);
  expect(refunds).toBe(kind === "refunded" ? 1 : 0);
  if (!isTerminal(record)) return;
  expect(record.callback?.state.kind === "held").toBe(
    kind === "refunding" && record.callback !== null,
  );
  if (kind !== "refunding") return;
  expect(isSettled(record)).toBe(false);
  const nothingSent = { attempts: [], lastNumber: 0, series: { number: 1, started: 0 } };
  if (record.callback !== null) expect(record.callback).toMatchObject(nothingSent);
}

const POSSIBLE: Readonly<Record<TaskRecord["status"], readonly string[]>> = {
  charging: ["charging"],
  pending: ["charged"],
  processing: ["charged"],
  completed: ["charged"],
  failed: ["refunding", "refunded"],
};

/** Polls are planned for attached jobs only, hooks kept only until there is one. */
function checkTracking({ upstream, tracking: { poll, keptHooks } }: OpenTask): void {
  const hasJob = upstream !== null && upstream.job !== null;
  expect(poll !== null).toBe(hasJob);
  if (poll !== null) expect(poll.at).toBeGreaterThanOrEqual(poll.notBefore);
  if (upstream === null || hasJob) expect(keptHooks).toEqual([]);
  const statuses = keptHooks.map(({ news }) => news.status);
  expect(new Set(statuses).size).toBe(statuses.length);
  for (const { news } of keptHooks) expect(JSON.stringify(news).length).toBeLessThanOrEqual(8192);
}

/** When the record's one duty is due, told independently of the core. */
function dutyTime(record: TaskRecord, policy: Policy): number {
  if (record.status === "charging") return record.credits.state.retryAt;
  if (isOpen(record)) return pollTime(record, policy) ?? record.deadlineAt;
  if (record.credits?.state.kind === "refunding") return record.credits.state.retryAt;
  const state = record.callback?.state;
  if (state?.kind === "due") return Math.max(state.nextAttemptAt, policy.pausedUntil);
  return state?.kind === "in_flight" ? state.startedAt : record.expiresAt;
}

/** Null: nobody can be asked before the deadline, or at it. */
function pollTime({ upstream, tracking, createdAt, deadlineAt }: OpenTask, policy: Policy) {
  const limits = policy.polls.get(upstream?.connection ?? "");
  const { pausedUntil } = policy;
  if (tracking.poll === null || limits === undefined || pausedUntil > deadlineAt) return null;
  const { at, notBefore } = tracking.poll;
  const askAt = Math.max(notBefore, Math.min(deadlineAt, Math.max(at, pausedUntil)));
  return limits.maxAgeMs !== null && askAt - createdAt >= limits.maxAgeMs ? null : askAt;
}

/** What holds between a record and what became of it. */
function checkChange(before: World, after: World, given: Command): void {
  const type = eventOf(before, given)?.type;
  const [was, is] = [before.record, after.record];
  if (was?.status === "charging" && was !== is) expect(type).toBe("charge_ended");
  if (was === null || is === null || was === is) return;
  checkVersion(was, is);
  if (type !== "attach") expect(is.upstream).toEqual(was.upstream);
  const { id, model, createdAt, origin, registration } = was;
  expect(is).toMatchObject({ id, model, createdAt, origin, registration });
  if (was.status !== "charging") expect(is.account).toEqual(was.account);
  checkMoney(was, is, type);
  if (!isTerminal(was)) return;
  const { status, body, failure } = was;
  expect(is).toMatchObject({ status, body, failure });
  if (isTerminal(is)) checkCallback(was, is, type);
}

/** A change that a reader could see, which is any but of what is asked when, has a version of its own. */
function checkVersion(was: TaskRecord, is: TaskRecord): void {
  if (jsonEqual(visibleOf(was), visibleOf(is))) expect(is.version).toBe(was.version);
  else expect(is.version).toBeGreaterThan(was.version);
}

function visibleOf(record: TaskRecord): JsonValue {
  return JSON.parse(JSON.stringify({ ...record, version: 0, tracking: null }));
}

/** Credits move only forward, each move by its own event; their amount and reference never change. */
function checkMoney(was: TaskRecord, is: TaskRecord, type: string | undefined): void {
  const { accountId, amount, chargeId } = was.credits ?? {};
  if (was.credits === null) expect(is.credits).toBeNull();
  else expect(is.credits).toMatchObject({ accountId, amount, chargeId });
  const [from, to] = [was.credits?.state.kind, is.credits?.state.kind];
  if (from === to) {
    if (from === "charging") expect(type).toBe("charge_ended");
    return;
  }
  const ended = isTerminal(is) && !isTerminal(was) && is.status === "failed" ? "failure" : type;
  expect([
    "charging charged charge_ended",
    "charged refunding failure",
    "refunding refunded refund_ended",
  ]).toContain(`${from} ${to} ${ended}`);
}

function checkCallback(was: TerminalTask, is: TerminalTask, type: string | undefined): void {
  const isOrder = type === "redeliver";
  expect(isSettled(was)).toBe(isOrder);
  if (type !== "refund_ended") expect(is.credits).toEqual(was.credits);
  const [before, after] = [was.callback ?? NEVER_SENT, is.callback ?? NEVER_SENT];
  expect([0, 1]).toContain(after.lastNumber - before.lastNumber);
  expect(after.series.number - before.series.number).toBe(isOrder ? 1 : 0);
  if (before.deliveredAt !== null) expect(after.deliveredAt).toBe(before.deliveredAt);
}

const NEVER_SENT: Pick<Callback, "lastNumber" | "deliveredAt" | "series"> = {
  lastNumber: 0,
  series: { number: 1, started: 0, ordered: null },
  deliveredAt: null,
};

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(deepFreeze);
  return value;
}

/** What the work loop does by itself once everything works, until the record is gone. */
function wornOut(world: World, seen: (world: World) => void): World {
  let last = world;
  for (let i = 0; i < 60 && last.record !== null; i++) {
    last = next(next(last, { kind: "wake" }), { kind: "step", isUp: true });
    seen(last);
  }
  return last;
}

describe("any sequence of events", () => {
  it(
    "leaves a record for which every rule holds, after every step",
    () => {
      fc.assert(
        fc.property(commands, (sequence) => {
          let world = BEGINNING;
          for (const given of sequence) {
            const before = deepFreeze(world);
            world = next(before, deepFreeze(given));
            checkRecord(world);
            checkChange(before, world, given);
          }
        }),
        { numRuns: 600, seed: SEED },
      );
    },
    TIMEOUT,
  );

  it(
    "ends by itself, a charged failure with one refund and any other with none",
    () => {
      fc.assert(
        fc.property(commands, (sequence) => {
          const world = sequence.reduce(next, BEGINNING);
          let final = world;
          const end = wornOut(world, (seen) => {
            checkRecord(seen);
            if (seen.record !== null) final = seen;
          });
          expect(end.record).toBeNull();
          const isOwed = final.record?.status === "failed" && final.record.credits !== null;
          expect(final.refunds).toBe(isOwed ? 1 : 0);
        }),
        { numRuns: 500, seed: SEED },
      );
    },
    TIMEOUT,
  );

  it(
    "gives the same record when it is replayed, and one that can be read again",
    () => {
      fc.assert(
        fc.property(commands, (sequence) => {
          const once = sequence.reduce(next, BEGINNING);
          expect(sequence.reduce(next, BEGINNING)).toEqual(once);
          const { record } = once;
          if (record !== null) expect(parseRecord(structuredClone(record))).toEqual(record);
        }),
        { numRuns: 500, seed: SEED },
      );
    },
    TIMEOUT,
  );
});
