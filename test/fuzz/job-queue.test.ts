import * as fc from "fast-check";
import { REFUSAL_CLASSES } from "../../src/core/record/refusal.ts";
import { type CoolDowns, NO_COOL_DOWNS } from "../../src/objects/queue/cool-down.ts";
import {
  type AttemptRefusal,
  JobQueue,
  type Moment,
  type PlaceQuestion,
} from "../../src/objects/queue/job-queue.ts";
import {
  compareRows,
  type Holder,
  type QueueRow,
  restoredState,
} from "../../src/objects/queue/queue-row.ts";
import { NOW } from "../core/builders.ts";
import { fuzz, weighted } from "./fuzz.ts";

const CONNECTION = "kling-a";
const MINUTE = 60_000;

/** What happens to a queue. */
type Step =
  | ({ readonly kind: "ask"; readonly id: string; readonly waitedMs: number } & Pick<
      PlaceQuestion,
      "attempt" | "account" | "via" | "mayWait"
    >)
  | {
      readonly kind: "leave";
      readonly id: string;
      readonly upTo: number;
      readonly hasRun: boolean;
    }
  | ({ readonly kind: "refuse"; readonly id: string } & Omit<AttemptRefusal, "submissionId">)
  /** The calls that were told of their places answer. */
  | { readonly kind: "grants"; readonly answer: "taken" | "gone" | null }
  /** The tasks that are asked whether they need their places answer. */
  | { readonly kind: "doubts"; readonly isNeeded: boolean | null }
  | { readonly kind: "pass" | "put_back"; readonly ms: number }
  | { readonly kind: "restart" }
  | { readonly kind: "configure"; readonly places: number | null };

const kind = <Kind extends Step["kind"]>(name: Kind) => fc.constant(name);
const ids = fc.constantFrom("s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8");
const attempt = fc.constantFrom(1, 1, 1, 2, 3);
const questions = fc.record({
  kind: kind("ask"),
  id: ids,
  attempt,
  account: fc.constantFrom("X", "Y", null),
  via: fc.constantFrom(CONNECTION, CONNECTION, "pool"),
  waitedMs: fc.constantFrom(0, 0, 5_000),
  mayWait: fc.constantFrom(true, true, true, false),
});
const refused = fc.record({
  kind: kind("refuse"),
  id: ids,
  attempt,
  refusal: fc.constantFrom(...REFUSAL_CLASSES),
  retryAfterMs: fc.constantFrom(null, null, 30_000),
});
const waits = fc.constantFrom(1, 1_000, 15_000, MINUTE, 10 * MINUTE);
const answers = fc.constantFrom("taken" as const, "gone" as const, null);
const limits = fc.constantFrom(0, 1, 2, 4, Infinity, null);
const leaves = fc.record({
  kind: kind("leave"),
  id: ids,
  upTo: fc.constantFrom(1, 2, Infinity),
  hasRun: fc.boolean(),
});
const step = weighted<Step>(
  [12, questions],
  [6, leaves],
  [4, refused],
  [5, fc.record({ kind: kind("grants"), answer: answers })],
  [2, fc.record({ kind: kind("doubts"), isNeeded: fc.constantFrom(true, false, null) })],
  [5, fc.record({ kind: kind("pass"), ms: waits })],
  [1, fc.record({ kind: kind("put_back"), ms: fc.constantFrom(500, 60 * MINUTE) })],
  [2, fc.record({ kind: kind("restart") })],
  [1, fc.record({ kind: kind("configure"), places: limits })],
);

const lives = fc.record<Life>({
  places: fc.constantFrom(1, 2, 4),
  mostWaiting: fc.constantFrom(2, 100, 100),
  steps: fc.array(step, { minLength: 5, maxLength: 60, size: "max" }),
});

interface Life {
  readonly places: number;
  readonly mostWaiting: number;
  readonly steps: readonly Step[];
}

/** A queue whose rows are stored, so that it can be compared with them. */
class Stored {
  now = NOW;
  places: number | null;
  readonly #mostWaiting: number;
  readonly #type: typeof JobQueue;
  readonly rows = new Map<string, QueueRow>();
  #coolDowns: CoolDowns = NO_COOL_DOWNS;
  queue: JobQueue;
  #told: readonly Holder[] = [];
  /** True when somebody has waited. */
  hasWaited = false;

  constructor({ places, mostWaiting }: Life, type: typeof JobQueue) {
    this.places = places;
    this.#mostWaiting = mostWaiting;
    this.#type = type;
    this.queue = new type(CONNECTION, [], NO_COOL_DOWNS, this.now);
  }

  get moment(): Moment {
    return { now: this.now, places: this.places, mostWaiting: () => this.#mostWaiting };
  }

  do(taken: Step): void {
    const { moment, queue } = this;
    switch (taken.kind) {
      case "ask":
        return this.#ask(taken);
      case "leave":
        return queue.leave(taken.id, taken.upTo, taken.hasRun, moment);
      case "refuse":
        return queue.refuse({ ...taken, submissionId: taken.id }, moment);
      case "grants":
        for (const row of this.#told) queue.answerGrant(row, taken.answer, this.moment);
        return;
      case "doubts":
        for (const row of queue.takeDoubts(this.now)) {
          queue.answerDoubt(row, taken.isNeeded, this.moment);
        }
        return;
      case "pass":
        this.now += taken.ms;
        return queue.work(this.moment);
      case "put_back":
        this.now -= taken.ms;
        return queue.work(this.moment);
      case "restart":
        return this.#restart();
      case "configure":
        this.places = taken.places;
        return queue.work(this.moment);
    }
  }

  /** Stores what has changed. */
  store(): void {
    this.#told = this.queue.takeGrants(this.now);
    const { rows, coolDowns } = this.queue.takeChanges();
    for (const [name, row] of rows) {
      if (row === null) this.rows.delete(name);
      else this.rows.set(name, row);
    }
    this.#coolDowns = coolDowns ?? this.#coolDowns;
  }

  #ask(asked: Extract<Step, { readonly kind: "ask" }>): void {
    const since = this.now - asked.waitedMs;
    const order = { ...asked, submissionId: asked.id, taskId: `task-${asked.id}`, since };
    const known = this.rows.get(asked.id);
    const first = this.queue.ask(order, this.moment);
    const isStale = known !== undefined && known.attempt > asked.attempt;
    must((first.kind === "stale") === isStale, "answers stale only after a later attempt");
    if (first.kind === "waiting") this.hasWaited = true;
    this.store();
    const row = this.rows.get(asked.id);
    const isLate = known !== undefined && known.attempt >= asked.attempt;
    must(isLate || row === undefined || row.account === asked.account, "keeps the account");
    const again = this.queue.ask(order, this.moment);
    must(again.kind === first.kind, "gives the same answer again");
    must(this.queue.takeChanges().rows.size === 0, "changes nothing when it answers again");
  }

  #restart(): void {
    const rows = Array.from(this.rows.values(), (row) => {
      const at = row.state.kind === "waiting" ? 0 : row.state.at;
      return { ...row, state: restoredState(row.state.kind, at, this.now) };
    });
    this.queue = new this.#type(CONNECTION, rows, this.#coolDowns, this.now);
    this.queue.work(this.moment);
  }
}

const isWaiting = ({ state }: QueueRow) => state.kind === "waiting";
const isPlaced = (row: QueueRow | undefined) => row !== undefined && !isWaiting(row);

/** Returns how many of these rows of an account have a place. */
function placesOf(rows: readonly QueueRow[], account: string | null): number {
  return rows.filter((row) => row.account === account && !isWaiting(row)).length;
}

/** Returns the waiting submissions in the order of the grants, found by granting one place after the other. */
function orderOf(rows: readonly QueueRow[]): readonly string[] {
  const placed = rows.filter((row) => !isWaiting(row));
  let waiting = rows.filter(isWaiting);
  const order: string[] = [];
  while (waiting.length > 0) {
    const [next] = waiting.toSorted(
      (a, b) => placesOf(placed, a.account) - placesOf(placed, b.account) || compareRows(a, b),
    );
    if (next === undefined) break;
    order.push(next.submissionId);
    placed.push({ ...next, state: { kind: "held", at: 0, askAt: 0 } });
    waiting = waiting.filter((row) => row !== next);
  }
  return order;
}

/** Expects that nobody has got a place before somebody whose turn was earlier. */
function requireFair(before: ReadonlyMap<string, QueueRow>, after: readonly QueueRow[]): void {
  const granted = after.filter((row) => {
    const known = before.get(row.submissionId);
    return isPlaced(row) && (known?.attempt !== row.attempt || !isPlaced(known));
  });
  for (const account of new Set(granted.map((row) => row.account))) {
    const [last] = granted
      .filter((row) => row.account === account)
      .toSorted((a, b) => compareRows(b, a));
    if (last === undefined) continue;
    const places = placesOf(after, account) - 1;
    for (const row of after.filter(isWaiting)) {
      const order = places - placesOf(after, row.account) || compareRows(last, row);
      must(order < 0, `grants ${row.submissionId} before ${last.submissionId}`);
    }
  }
}

function requireRules(kept: Stored, before: ReadonlyMap<string, QueueRow>): void {
  const rows = [...kept.rows.values()];
  const waiting = rows.filter(isWaiting);
  const { held, waiting: count, coolUntil, outUntil } = kept.queue.state(kept.now);
  must(held === rows.length - waiting.length, "has the places of the stored rows");
  must(count === waiting.length, "has the waiting submissions of the stored rows");
  const limit = kept.places ?? Infinity;
  const heldBefore = [...before.values()].filter((row) => !isWaiting(row)).length;
  must(held <= Math.max(limit, heldBefore), "grants no place above the limit");
  const mayHave = outUntil === null ? waiting : waiting.filter(({ via }) => via === CONNECTION);
  const isFree = coolUntil === null && held < limit;
  must(!isFree || mayHave.length === 0, "lets nobody wait while a place is free");
  const order = orderOf(rows);
  const positions = order.map((name) => kept.queue.position(name, kept.now)?.position);
  must(
    positions.every((position, index) => position === index + 1),
    `has the order ${order.join(" ")}`,
  );
  if (outUntil === null && kept.places !== null) requireFair(before, rows);
  const dueMs = kept.queue.dueAt - kept.now;
  must(waiting.length === 0 || dueMs <= MINUTE, "looks again within a minute");
  must(rows.length === 0 || dueMs <= 10 * MINUTE, "looks again within ten minutes");
}

/** @throws when the queue does not do what it must. */
function must(does: boolean, what: string): void {
  if (!does) throw new Error(`the queue does not do what it must: it ${what}`);
}

/** Lives through the steps, and returns whether a submission has waited. */
function live(life: Life, type: typeof JobQueue): boolean {
  const kept = new Stored(life, type);
  for (const each of life.steps) {
    const before = new Map(kept.rows);
    kept.do(each);
    kept.store();
    requireRules(kept, before);
  }
  return kept.hasWaited;
}

/** Changes the time and the limits that a queue is given. */
const withMoment = (change: (moment: Moment) => Moment) =>
  class extends JobQueue {
    override work(moment: Moment): void {
      super.work(change(moment));
    }
  };

fuzz(
  "in a queue of a connection the places taken are those of the stored rows and never become more than permitted, nobody waits while one is free, the order is fair, repetitions change nothing, and an alarm comes",
  {
    inputs: lives,
    subject: JobQueue,
    defects: {
      "grants a place too many": withMoment((moment) => {
        return { ...moment, places: moment.places && moment.places + 1 };
      }),
      "grants a place too few": withMoment((moment) => {
        return { ...moment, places: moment.places && moment.places - 1 };
      }),
      "lets nobody go when the connection is removed": withMoment((moment) => {
        return { ...moment, places: moment.places ?? 1 };
      }),
      "does not store that a submission has left": class extends JobQueue {
        override takeChanges() {
          const { rows, coolDowns } = super.takeChanges();
          return { rows: new Map([...rows].filter(([, row]) => row !== null)), coolDowns };
        }
      },
      "does not store a grant": class extends JobQueue {
        override takeChanges() {
          const { rows, coolDowns } = super.takeChanges();
          const kept = [...rows].filter(([, row]) => row?.state.kind !== "granted");
          return { rows: new Map(kept), coolDowns };
        }
      },
      "does not grant the place of a submission that leaves": class extends JobQueue {
        override leave(...[id, upTo, hasRun, moment]: Parameters<JobQueue["leave"]>): void {
          super.leave(id, upTo, hasRun, { ...moment, places: 0 });
        }
      },
      "takes the place from a later attempt": class extends JobQueue {
        override ask(...[question, moment]: Parameters<JobQueue["ask"]>) {
          const answered = super.ask(question, moment);
          return answered.kind === "stale"
            ? super.ask({ ...question, attempt: question.attempt + 1 }, moment)
            : answered;
        }
      },
      "tells a position that is one too low": class extends JobQueue {
        override position(submissionId: string, now: number) {
          const known = super.position(submissionId, now);
          return known && { ...known, position: known.position - 1 };
        }
      },
      "takes all for tasks of the operator": class extends JobQueue {
        override ask(...[question, moment]: Parameters<JobQueue["ask"]>) {
          return super.ask({ ...question, account: question.account && null }, moment);
        }
      },
      "needs no alarm": class extends JobQueue {
        override get dueAt(): number {
          return Infinity;
        }
      },
    },
    check: live,
    cases: 20_000,
    leastShare: 0.05,
  },
);
