import { describe, expect, it } from "vitest";
import { NO_COOL_DOWNS, type CoolDowns } from "../../src/objects/queue/cool-down.ts";
import {
  type AttemptRefusal,
  type Doubt,
  JobQueue,
  type Moment,
  type PlaceAnswer,
  type PlaceQuestion,
} from "../../src/objects/queue/job-queue.ts";
import { type Holder, type QueueRow, restoredState } from "../../src/objects/queue/queue-row.ts";
import { MINUTE, NOW, SECOND } from "./builders.ts";
import { grantsByRule, jobsOfTwo } from "./fair-jobs.ts";

const CONNECTION = "kling-a";
const HOUR = 60 * MINUTE;

interface Settings {
  readonly places?: number | null;
  readonly mostWaiting?: number;
}

/** A queue with its storage and its clock. */
class Kept {
  now = NOW;
  places: number | null;
  readonly #mostWaiting: number;
  readonly stored = new Map<string, QueueRow>();
  coolDowns: CoolDowns = NO_COOL_DOWNS;
  queue = new JobQueue(CONNECTION, [], NO_COOL_DOWNS, NOW);
  written = 0;
  told: readonly Holder[] = [];
  doubts: readonly Doubt[] = [];

  constructor({ places = 1, mostWaiting = 100 }: Settings = {}) {
    this.places = places;
    this.#mostWaiting = mostWaiting;
  }

  get moment(): Moment {
    return { now: this.now, places: this.places, mostWaiting: () => this.#mostWaiting };
  }

  ask(submissionId: string, question: Partial<PlaceQuestion> = {}): PlaceAnswer {
    const order = { submissionId, taskId: `task-${submissionId}`, via: CONNECTION, attempt: 1 };
    const asked = { ...order, account: null, since: this.now, mayWait: true, ...question };
    const answer = this.queue.ask(asked, this.moment);
    this.#store();
    return answer;
  }

  leave(submissionId: string, { upTo = Infinity, hasRun = false } = {}): void {
    this.queue.leave(submissionId, upTo, hasRun, this.moment);
    this.#store();
  }

  refuse(
    submissionId: string,
    refusal: AttemptRefusal["refusal"],
    changes: Partial<AttemptRefusal> = {},
  ): void {
    const refused = { submissionId, attempt: 1, refusal, retryAfterMs: null, ...changes };
    this.queue.refuse(refused, this.moment);
    this.#store();
  }

  /** Answers for the calls that were told of their place last. */
  answerGrants(answer: "taken" | "gone" | null): void {
    for (const row of this.told) this.queue.answerGrant(row, answer, this.moment);
    this.#store();
  }

  /** Answers for the tasks that were asked last. */
  answerDoubts(isNeeded: boolean | null): void {
    for (const doubt of this.doubts) this.queue.answerDoubt(doubt, isNeeded, this.moment);
    this.#store();
  }

  /** Lets time pass, and does what is due then. @returns the submissions whose tasks are asked. */
  pass(ms: number): readonly string[] {
    this.now += ms;
    this.queue.work(this.moment);
    this.#store();
    this.doubts = this.queue.takeDoubts(this.now);
    return ids(this.doubts);
  }

  restart(): void {
    const rows = Array.from(this.stored.values(), (row) => {
      const { state } = row;
      const at = state.kind === "waiting" ? 0 : state.at;
      return { ...row, state: restoredState(state.kind, at, this.now) };
    });
    this.queue = new JobQueue(CONNECTION, rows, this.coolDowns, this.now);
    this.#store();
  }

  /** Ids of the submissions that have a place. */
  get placed(): readonly string[] {
    return [...this.stored].flatMap(([id, { state }]) => (state.kind === "waiting" ? [] : id));
  }

  get waiting(): readonly string[] {
    const ids = [...this.stored].flatMap(([id, { state }]) => (state.kind === "waiting" ? id : []));
    return ids.toSorted((a, b) => this.position(a) - this.position(b));
  }

  position(id: string): number {
    return this.queue.position(id, this.now)?.position ?? NaN;
  }

  #store(): void {
    this.told = this.queue.takeGrants(this.now);
    const { rows, coolDowns } = this.queue.takeChanges();
    for (const [id, row] of rows) {
      this.written++;
      if (row === null) this.stored.delete(id);
      else this.stored.set(id, row);
    }
    this.coolDowns = coolDowns ?? this.coolDowns;
  }
}

const ids = (holders: readonly Holder[]) => holders.map(({ submissionId }) => submissionId);

describe("a queue with a free place", () => {
  it("grants it at once, without telling the object of the call, which has not begun", () => {
    const kept = new Kept();
    expect(kept.ask("a")).toEqual({ kind: "granted" });
    expect(kept.placed).toEqual(["a"]);
    expect(kept.told).toEqual([]);
  });

  it("grants as many places as the connection has, and lets the others wait in the order of asking", () => {
    const kept = new Kept({ places: 2 });
    const answers = ["a", "b", "c", "d"].map((id) => kept.ask(id));
    expect(answers).toEqual([
      { kind: "granted" },
      { kind: "granted" },
      { kind: "waiting" },
      { kind: "waiting" },
    ]);
    expect(kept.waiting).toEqual(["c", "d"]);
  });

  it("grants all at once without a limit", () => {
    const kept = new Kept({ places: Infinity });
    for (let number = 0; number < 50; number++) kept.ask(`s${number}`);
    expect(kept.placed).toHaveLength(50);
  });
});

describe("a place that becomes free", () => {
  it("goes to the submission that has waited longest, whose call is told", () => {
    const kept = new Kept();
    for (const id of ["a", "b", "c"]) kept.ask(id);
    kept.leave("a");
    expect(ids(kept.told)).toEqual(["b"]);
    expect([kept.placed, kept.waiting]).toEqual([["b"], ["c"]]);
  });

  it("goes to the account with the fewest places, though another account has waited longer with 500 submissions", () => {
    const kept = new Kept({ places: 2, mostWaiting: 1_000 });
    for (let number = 0; number < 502; number++) kept.ask(`x${number}`, { account: "X" });
    kept.now += SECOND;
    kept.ask("y", { account: "Y" });
    expect(kept.position("y")).toBe(1);
    kept.leave("x0");
    expect(ids(kept.told)).toEqual(["y"]);
  });

  it("goes to two accounts in turn as long as both wait: 500 jobs at five places, of which one account has asked for 400 before the other", () => {
    const jobs = jobsOfTwo(400, 100);
    const kept = new Kept({ places: 5, mostWaiting: 500 });
    for (const { id, account, since } of jobs) kept.ask(id, { account, since: NOW + since });
    const granted = [...kept.placed];
    for (const id of granted) {
      kept.leave(id);
      granted.push(...ids(kept.told));
      kept.answerGrants("taken");
    }
    expect(granted).toEqual(grantsByRule(jobs, 5));
    // As soon as two jobs of the first account have ended, each account has two or three of the five places.
    for (let at = 7; at < 200; at++) {
      const ofSecond = granted.slice(at - 5, at).filter((id) => id.startsWith("y")).length;
      expect([2, 3]).toContain(ofSecond);
    }
  });

  it("counts the tasks of the operator as those of one account", () => {
    const kept = new Kept();
    for (const id of ["o1", "o2"]) kept.ask(id);
    kept.ask("x", { account: "X" });
    kept.leave("o1");
    expect(ids(kept.told)).toEqual(["o2"]);
    kept.leave("o2");
    expect(ids(kept.told)).toEqual(["x"]);
  });

  it("goes to a submission that was refused before one of the same account that has waited less", () => {
    const kept = new Kept();
    const since = kept.now;
    kept.ask("a");
    kept.now += SECOND;
    kept.ask("b");
    kept.refuse("a", "rate");
    kept.ask("a", { attempt: 2, since });
    expect(kept.position("a")).toBe(1);
    kept.pass(SECOND);
    expect(ids(kept.told)).toEqual(["a"]);
  });
});

describe("the position of a submission", () => {
  it("is its number in the order in which the places go to accounts with the fewest places first", () => {
    const kept = new Kept();
    kept.ask("x0", { account: "X" });
    for (const id of ["x1", "x2", "x3"]) kept.ask(id, { account: "X", since: ++kept.now });
    for (const id of ["y1", "y2"]) kept.ask(id, { account: "Y", since: ++kept.now });
    kept.ask("z1", { account: "Z", since: ++kept.now });
    expect(kept.waiting).toEqual(["y1", "z1", "x1", "y2", "x2", "x3"]);
    const granted: string[] = [];
    for (const places of [2, 3, 4, 5, 6, 7]) {
      kept.places = places;
      kept.pass(0);
      granted.push(...ids(kept.told));
    }
    expect(granted).toEqual(["y1", "z1", "x1", "y2", "x2", "x3"]);
  });

  it("falls when somebody before it leaves, and does not exist for a submission with a place or an unknown one", () => {
    const kept = new Kept();
    for (const id of ["a", "b", "c"]) kept.ask(id);
    kept.leave("b");
    expect(kept.position("c")).toBe(1);
    const { now, queue } = kept;
    expect([queue.position("a", now), queue.position("nobody", now)]).toEqual([null, null]);
  });

  it("waits for a place, or for the end of the cool-down that keeps it from getting one", () => {
    const kept = new Kept({ places: 2 });
    for (const id of ["a", "b", "c"]) kept.ask(id);
    const cause = () => kept.queue.position("c", kept.now)?.cause;
    expect(cause()).toBe("no_place");
    kept.refuse("a", "rate", { retryAfterMs: MINUTE });
    expect(cause()).toBe("upstream_refused");
    kept.now += MINUTE;
    expect(cause()).toBe("no_place");
  });
});

describe("the state of a queue", () => {
  it("has the waits of the latest 1,000 grants, each counted once", () => {
    const kept = new Kept({ places: 1 });
    kept.ask("first");
    expect(kept.queue.state(kept.now).waitMs).toEqual({ p50: 0, p99: 0 });
    const since = kept.now;
    for (let second = 1; second <= 1_000; second++) {
      kept.ask("next", { since });
      kept.now = since + second * SECOND;
      kept.leave(second === 1 ? "first" : "last");
      kept.answerGrants("taken");
      kept.leave("next");
      kept.ask("last", { since: kept.now });
    }
    const { waitMs } = kept.queue.state(kept.now);
    expect(waitMs).toEqual({ p50: 0, p99: 990 * SECOND });
  });
});

describe("a repeated question for a place", () => {
  it("gets the same answer and changes nothing, when the submission waits and when it has a place", () => {
    const kept = new Kept();
    const first = ["a", "b"].map((id) => kept.ask(id));
    const { written } = kept;
    kept.now += SECOND;
    expect(["a", "b"].map((id) => kept.ask(id))).toEqual(first);
    expect(kept.written).toBe(written);
  });

  it("is answered with the place that was granted meanwhile, and the call is not told of it again", () => {
    const kept = new Kept();
    for (const id of ["a", "b"]) kept.ask(id);
    kept.leave("a");
    expect(kept.ask("b")).toEqual({ kind: "granted" });
    kept.pass(MINUTE);
    expect(kept.told).toEqual([]);
  });

  it("of an earlier attempt is stale and changes nothing", () => {
    const kept = new Kept();
    kept.ask("a", { attempt: 2 });
    const { written } = kept;
    expect(kept.ask("a", { attempt: 1 })).toEqual({ kind: "stale" });
    expect(kept.written).toBe(written);
  });

  it("of a later attempt gives the place of the earlier one back, though its refusal was never reported", () => {
    const kept = new Kept();
    kept.ask("a", { account: "X" });
    kept.ask("b", { account: "Y" });
    kept.ask("a", { account: "X", attempt: 2, since: kept.now + 1 });
    expect([kept.placed, kept.waiting]).toEqual([["b"], ["a"]]);
  });
});

describe("a submission that may not wait", () => {
  it("is told that the connection is busy, and leaves no row", () => {
    const kept = new Kept();
    kept.ask("a");
    expect(kept.ask("b", { mayWait: false })).toEqual({ kind: "busy", retryAfterMs: 5 * SECOND });
    expect([...kept.stored.keys()]).toEqual(["a"]);
    expect(kept.written).toBe(1);
  });

  it("is told the rest of a cool-down that is longer than 5 s", () => {
    const kept = new Kept({ places: 5 });
    kept.ask("a");
    kept.refuse("a", "rate", { retryAfterMs: MINUTE });
    kept.now += 10 * SECOND;
    const answer = kept.ask("b", { mayWait: false });
    expect(answer).toEqual({ kind: "busy", retryAfterMs: 50 * SECOND });
  });
});

describe("the limit of waiting submissions", () => {
  it("refuses another one, but neither a repeated question nor a submission whose call was refused", () => {
    const kept = new Kept({ mostWaiting: 1 });
    for (const id of ["a", "b"]) kept.ask(id);
    expect(kept.ask("c")).toEqual({ kind: "full", retryAfterMs: 5 * SECOND });
    expect(kept.ask("b").kind).toBe("waiting");
    kept.refuse("a", "busy");
    expect(kept.ask("a", { attempt: 2, since: NOW }).kind).toBe("waiting");
    expect(kept.waiting).toHaveLength(2);
  });

  it("counts only submissions that are addressed to the same connection or pool", () => {
    const kept = new Kept({ mostWaiting: 1 });
    for (const id of ["a", "b"]) kept.ask(id);
    expect(kept.ask("c", { via: "pool" })).toEqual({ kind: "waiting" });
    expect(kept.ask("d", { via: "pool" }).kind).toBe("full");
  });

  it("of 0 lets nobody wait, but does not keep a free place from anybody", () => {
    const kept = new Kept({ mostWaiting: 0 });
    expect([kept.ask("a").kind, kept.ask("b").kind]).toEqual(["granted", "full"]);
  });
});

describe("a submission that leaves", () => {
  it("is removed whether it waits or has a place, once", () => {
    const kept = new Kept({ places: 1 });
    for (const id of ["a", "b", "c"]) kept.ask(id);
    for (const id of ["b", "b", "a", "a", "nobody"]) kept.leave(id);
    expect([kept.placed, kept.waiting]).toEqual([["c"], []]);
  });

  it("keeps the row of a later attempt, when the order to leave is late", () => {
    const kept = new Kept();
    kept.ask("a", { attempt: 2 });
    kept.leave("a", { upTo: 1 });
    expect(kept.placed).toEqual(["a"]);
    kept.leave("a", { upTo: 2 });
    expect(kept.placed).toEqual([]);
  });
});

describe("a call that was told of its place", () => {
  it("is told again, after a minute when it was never heard of, and 5 s after a call that has failed", () => {
    const kept = new Kept();
    for (const id of ["a", "b"]) kept.ask(id);
    kept.leave("a");
    kept.pass(59 * SECOND);
    expect(kept.told).toEqual([]);
    kept.pass(SECOND);
    expect(ids(kept.told)).toEqual(["b"]);
    kept.answerGrants(null);
    expect(kept.queue.dueAt).toBe(kept.now + 5 * SECOND);
    kept.pass(5 * SECOND);
    expect(ids(kept.told)).toEqual(["b"]);
    kept.answerGrants("taken");
    kept.pass(MINUTE);
    expect(kept.told).toEqual([]);
  });

  it("gives its place to the next call when it is gone", () => {
    const kept = new Kept();
    for (const id of ["a", "b", "c"]) kept.ask(id);
    kept.leave("a");
    kept.answerGrants("gone");
    expect(ids(kept.told)).toEqual(["c"]);
    expect([...kept.stored.keys()]).toEqual(["c"]);
  });

  it("that is gone when it is told again keeps its place until its task has been asked, because its job may run", () => {
    const kept = new Kept();
    for (const id of ["a", "b"]) kept.ask(id);
    kept.leave("a");
    kept.answerGrants(null);
    kept.pass(5 * SECOND);
    kept.answerGrants("gone");
    expect(kept.placed).toEqual(["b"]);
    expect(kept.queue.dueAt).toBeLessThanOrEqual(kept.now);
    expect(kept.pass(0)).toEqual(["b"]);
  });

  it("that answers for an earlier attempt changes nothing", () => {
    const kept = new Kept();
    for (const id of ["a", "b"]) kept.ask(id);
    kept.leave("a");
    const [old] = kept.told;
    if (old === undefined) throw new Error("nobody was told");
    kept.ask("b", { attempt: 2 });
    kept.queue.answerGrant(old, "gone", kept.moment);
    expect(kept.queue.state(kept.now).held).toBe(1);
  });

  it("writes three rows from the question to the end: it asks, gets a place, and leaves", () => {
    const kept = new Kept();
    kept.ask("a");
    const { written } = kept;
    kept.ask("b");
    kept.leave("a");
    kept.answerGrants("taken");
    kept.leave("b");
    expect(kept.written - written - 1).toBe(3);
  });
});

describe("after a refusal", () => {
  it.each(["busy", "rate"] as const)(
    "of the class %s nobody gets the place of the refused call at once",
    (refusal) => {
      const kept = new Kept();
      for (const id of ["a", "b"]) kept.ask(id);
      kept.refuse("a", refusal);
      expect([kept.placed, kept.waiting]).toEqual([[], ["b"]]);
      expect(kept.queue.state(kept.now).coolUntil).toBe(kept.queue.dueAt);
    },
  );

  it("because the upstream is busy, the next place is granted after 15 s", () => {
    const kept = new Kept();
    for (const id of ["a", "b"]) kept.ask(id);
    kept.refuse("a", "busy");
    kept.pass(15 * SECOND - 1);
    expect(kept.placed).toEqual([]);
    kept.pass(1);
    expect(kept.placed).toEqual(["b"]);
  });

  it("because the upstream is busy, each job that ends lets one submission have a place, and no more", () => {
    const kept = new Kept({ places: 4 });
    for (const id of ["a", "b", "c", "d", "e", "f", "g"]) kept.ask(id);
    kept.refuse("d", "busy");
    kept.refuse("c", "busy");
    expect(kept.placed).toEqual(["a", "b"]);
    kept.leave("a");
    expect(kept.placed).toEqual(["b", "e"]);
  });

  it("because of the rate, places are granted after 1 s, then 2 s, and after at most a minute", () => {
    const kept = new Kept();
    const waits: number[] = [];
    for (let attempt = 1; attempt < 9; attempt++) {
      kept.ask("a", { attempt, since: NOW });
      kept.refuse("a", "rate", { attempt });
      const waitMs = (kept.queue.state(kept.now).coolUntil ?? NaN) - kept.now;
      waits.push(waitMs / SECOND);
      kept.now += waitMs;
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  });

  it("with a stated wait, places are granted after it, at least a second and at most six hours", () => {
    for (const [retryAfterMs, expected] of [
      [30 * SECOND, 30 * SECOND],
      [0, SECOND],
      [48 * HOUR, 6 * HOUR],
    ] as const) {
      const kept = new Kept();
      kept.ask("a");
      kept.refuse("a", "rate", { retryAfterMs });
      expect(kept.queue.state(kept.now).coolUntil).toBe(kept.now + expected);
    }
  });

  it("of several calls that were sent at once, the wait grows only once", () => {
    const kept = new Kept({ places: 5 });
    for (const id of ["a", "b", "c", "d"]) kept.ask(id);
    for (const id of ["a", "b", "c"]) kept.refuse(id, "rate");
    expect(kept.coolDowns.rate).toMatchObject({ times: 1, until: kept.now + SECOND });
  });

  it.each(["funds", "key"] as const)(
    "of the class %s a pool gets no place for 10 min, then 20, and at most 6 h; who addresses the connection itself gets one",
    (refusal) => {
      const kept = new Kept();
      const waits: number[] = [];
      for (let attempt = 1; attempt < 9; attempt++) {
        kept.ask("a", { attempt, since: NOW, via: "pool" });
        kept.refuse("a", refusal, { attempt });
        const { coolUntil, outUntil } = kept.queue.state(kept.now);
        expect(coolUntil).toBe(null);
        waits.push(((outUntil ?? NaN) - kept.now) / MINUTE);
        expect(kept.ask("b", { via: "pool", mayWait: false }).kind).toBe("busy");
        expect(kept.ask("c").kind).toBe("granted");
        kept.refuse("c", "final");
        kept.now = outUntil ?? NaN;
      }
      expect(waits).toEqual([10, 20, 40, 80, 160, 320, 360, 360]);
      expect(kept.ask("b", { via: "pool" }).kind).toBe("granted");
    },
  );

  it("because of the balance, a waiting submission to the connection itself gets a place before those to a pool", () => {
    const kept = new Kept({ places: 2 });
    for (const id of ["a", "z"]) kept.ask(id);
    kept.ask("b", { via: "pool" });
    kept.ask("c");
    kept.refuse("a", "funds");
    expect(kept.placed).toEqual(["z", "c"]);
    expect(kept.waiting).toEqual(["b"]);
  });

  it("a job that began afterwards and has ended makes the next cool-down as short as the first; an older job, or a submission that leaves its place unused, does not", () => {
    for (const [id, hasRun, expected] of [
      ["old", true, 20],
      ["new", false, 20],
      ["new", true, 10],
    ] as const) {
      const kept = new Kept({ places: 3 });
      kept.ask("old");
      kept.now += SECOND;
      kept.ask("a", { via: "pool" });
      kept.refuse("a", "funds");
      kept.now += 10 * MINUTE;
      kept.ask("new");
      kept.leave(id, { hasRun });
      kept.ask("b", { via: "pool" });
      kept.refuse("b", "funds");
      expect((kept.queue.state(kept.now).outUntil ?? NaN) - kept.now).toBe(expected * MINUTE);
    }
  });

  it("the row of an earlier attempt, which a late question has brought back, goes when the refusal is reported again, without another cool-down", () => {
    const kept = new Kept();
    kept.ask("a", { attempt: 2 });
    kept.refuse("a", "rate", { attempt: 2 });
    kept.ask("a", { attempt: 1 });
    kept.pass(SECOND);
    const { coolDowns } = kept;
    expect(kept.placed).toEqual(["a"]);
    kept.refuse("a", "rate", { attempt: 2 });
    expect([...kept.stored.keys()]).toEqual([]);
    expect(kept.coolDowns).toBe(coolDowns);
  });

  it("a repeated or late report of it changes nothing", () => {
    const kept = new Kept();
    kept.ask("a");
    kept.refuse("a", "rate");
    kept.pass(SECOND);
    const { coolDowns } = kept;
    kept.refuse("a", "rate");
    kept.ask("a", { attempt: 2, since: NOW });
    kept.refuse("a", "rate", { attempt: 1 });
    expect(kept.coolDowns).toBe(coolDowns);
    expect(kept.placed).toEqual(["a"]);
  });
});

describe("the configuration", () => {
  it("lowered from 5 places to 1 takes no place back, and the next place is granted when all 5 are free", () => {
    const kept = new Kept({ places: 5 });
    for (const id of ["a", "b", "c", "d", "e", "f"]) kept.ask(id);
    kept.places = 1;
    kept.restart();
    expect(kept.placed).toHaveLength(5);
    for (const id of ["a", "b", "c", "d"]) kept.leave(id);
    expect([kept.placed, kept.waiting]).toEqual([["e"], ["f"]]);
    kept.leave("e");
    expect(kept.placed).toEqual(["f"]);
  });

  it("raised lets the next ones in within a minute", () => {
    const kept = new Kept();
    for (const id of ["a", "b", "c"]) kept.ask(id);
    kept.places = 2;
    kept.restart();
    expect(kept.queue.dueAt).toBeLessThanOrEqual(kept.now + MINUTE);
    kept.pass(MINUTE);
    expect(kept.placed).toEqual(["a", "b"]);
  });

  it("without the connection grants all submissions to it a place, whatever the cool-downs, because their tasks fail by themselves", () => {
    const kept = new Kept();
    for (const id of ["a", "b", "c"]) kept.ask(id);
    kept.refuse("a", "rate");
    kept.places = null;
    kept.restart();
    kept.pass(MINUTE);
    expect(ids(kept.told)).toEqual(["b", "c"]);
    expect(kept.ask("d")).toEqual({ kind: "granted" });
  });

  it("without the connection removes waiting submissions to a pool from the queue, and grants a place to each submission that asks", () => {
    const kept = new Kept({ places: 1 });
    for (const id of ["held", "waits"]) kept.ask(id, { via: "pool" });
    kept.places = null;
    kept.restart();
    kept.pass(MINUTE);
    expect(kept.told).toEqual([]);
    expect([...kept.stored.keys()]).toEqual(["held"]);
    for (const id of ["held", "new", "new"]) {
      expect(kept.ask(id, { via: "pool" })).toEqual({ kind: "granted" });
    }
    expect(kept.placed).toEqual(["held", "new"]);
    expect(kept.told).toEqual([]);
  });

  it("with a fault that disables the connection lets all submissions wait until the fault is mended", () => {
    const kept = new Kept({ places: 1 });
    for (const id of ["a", "b"]) kept.ask(id);
    kept.ask("c", { via: "pool" });
    kept.places = 0;
    kept.restart();
    kept.leave("a");
    kept.pass(MINUTE);
    expect([kept.placed, kept.waiting]).toEqual([[], ["b", "c"]]);
    expect(kept.ask("d", { mayWait: false }).kind).toBe("busy");
    kept.places = 1;
    kept.restart();
    kept.pass(MINUTE);
    expect(kept.placed).toEqual(["b"]);
  });
});

describe("a place of which a queue asks the task whether it needs it", () => {
  it("is first asked about a minute after its grant if it was free at once, ten minutes after it if it was waited for, and again every ten minutes", () => {
    const kept = new Kept();
    for (const id of ["a", "b"]) kept.ask(id);
    expect(kept.pass(MINUTE - 1)).toEqual([]);
    expect(kept.pass(1)).toEqual(["a"]);
    expect(kept.pass(9 * MINUTE)).toEqual([]);
    expect(kept.pass(MINUTE)).toEqual(["a"]);
    kept.leave("a");
    kept.answerGrants("taken");
    expect(kept.pass(10 * MINUTE - 1)).toEqual([]);
    expect(kept.pass(1)).toEqual(["b"]);
  });

  it("is freed when the task does not need it, and kept when it does or gives no answer", () => {
    for (const [isNeeded, placed] of [
      [false, []],
      [true, ["a"]],
      [null, ["a"]],
    ] as const) {
      const kept = new Kept();
      kept.ask("a");
      kept.pass(MINUTE);
      kept.answerDoubts(isNeeded);
      expect(kept.placed).toEqual(placed);
    }
  });

  it("stays with a submission that has asked again before its task answered, and is asked about again a minute later", () => {
    const kept = new Kept();
    kept.ask("a");
    expect(kept.pass(MINUTE)).toEqual(["a"]);
    expect(kept.ask("a")).toEqual({ kind: "granted" });
    kept.answerDoubts(false);
    expect(kept.placed).toEqual(["a"]);
    expect(kept.pass(MINUTE)).toEqual(["a"]);
  });

  it("stays with a later attempt that has got a place meanwhile", () => {
    const kept = new Kept();
    kept.ask("a");
    kept.pass(MINUTE);
    kept.ask("a", { attempt: 2 });
    kept.answerDoubts(false);
    expect(kept.placed).toEqual(["a"]);
  });

  it("is asked about together with at most 19 others in a minute, those first that have waited longest for the question", () => {
    const kept = new Kept({ places: 50 });
    for (let number = 0; number < 50; number++) {
      kept.ask(`s${String(number).padStart(2, "0")}`);
      kept.now += 1;
    }
    const asked = [kept.pass(MINUTE), kept.pass(MINUTE - 1), kept.pass(1), kept.pass(MINUTE)];
    expect(asked.map(({ length }) => length)).toEqual([20, 0, 20, 10]);
    expect(asked[0]?.[0]).toBe("s00");
    expect(kept.queue.dueAt).toBeLessThanOrEqual(kept.now + 10 * MINUTE);
  });
});

describe("a queue that is read from the storage again", () => {
  it("has the same places, order and cool-downs", () => {
    const kept = new Kept({ places: 2 });
    for (const id of ["x1", "x2", "x3", "x4"]) kept.ask(id, { account: "X", since: ++kept.now });
    kept.ask("y", { account: "Y" });
    kept.refuse("x1", "rate", { retryAfterMs: MINUTE });
    const before = [kept.queue.state(kept.now), kept.waiting];
    kept.restart();
    expect([kept.queue.state(kept.now), kept.waiting]).toEqual(before);
  });

  it("tells a call of its place again within ten minutes after the grant; after that it asks the task", () => {
    const kept = new Kept({ places: 1 });
    for (const id of ["a", "b"]) kept.ask(id);
    kept.leave("a");
    kept.restart();
    expect(ids(kept.told)).toEqual(["b"]);
    kept.now += 10 * MINUTE;
    kept.restart();
    expect(kept.told).toEqual([]);
    expect(kept.pass(0)).toEqual(["b"]);
  });

  it("asks the task of a call that is gone when it is told again, because its job may run", () => {
    const kept = new Kept();
    for (const id of ["a", "b"]) kept.ask(id);
    kept.leave("a");
    kept.restart();
    kept.answerGrants("gone");
    expect(kept.placed).toEqual(["b"]);
    expect(kept.pass(0)).toEqual(["b"]);
  });
});

describe("a clock that is put back by an hour", () => {
  it("makes no cool-down longer, in memory and from the storage", () => {
    for (const isRestarted of [false, true]) {
      const kept = new Kept();
      for (const id of ["a", "b"]) kept.ask(id);
      kept.refuse("a", "busy");
      kept.now -= HOUR;
      if (isRestarted) kept.restart();
      kept.pass(0);
      expect(kept.queue.dueAt).toBeLessThanOrEqual(kept.now + 15 * SECOND);
      kept.pass(15 * SECOND);
      expect(kept.placed).toEqual(["b"]);
    }
  });

  it("delays neither the repetition of a grant nor the question to a task", () => {
    const kept = new Kept({ places: 2 });
    for (const id of ["a", "b", "c"]) kept.ask(id);
    kept.leave("b");
    kept.now -= HOUR;
    kept.pass(0);
    kept.pass(MINUTE);
    expect(ids(kept.told)).toEqual(["c"]);
    expect(kept.pass(9 * MINUTE)).toEqual(["a"]);
  });
});

it("a queue without submissions has nothing to do", () => {
  const kept = new Kept();
  kept.ask("a");
  kept.leave("a");
  kept.pass(HOUR);
  expect(kept.queue.dueAt).toBe(Infinity);
  expect(kept.queue.state(kept.now)).toEqual({
    held: 0,
    waiting: 0,
    oldestSince: null,
    waitMs: { p50: 0, p99: 0 },
    coolUntil: null,
    outUntil: null,
    byAccount: [],
  });
});
