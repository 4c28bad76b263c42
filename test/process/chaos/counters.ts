import type { Deaths } from "./kills.ts";
import type { Remembered } from "./evidence.ts";

/** What makes two minutes of chaos a test. An idle machine reaches ten times as much. */
const LEAST_IN_TWO_MINUTES: Readonly<Record<string, number>> = {
  kills: 10,
  "restarts with a short watchdog": 2,
  tasks: 200,
  POSTs: 200,
  "requests repeated": 50,
  "interrupted attempts, number 1": 10,
  "interrupted attempts, number 2": 10,
  "interrupted attempts, number 3": 10,
  "attempts delivered": 20,
  "series ordered": 1,
  "words refused": 1,
  "tasks refused": 1,
  "ended by event": 50,
  "ended by cancel": 5,
  "ended by deadline": 1,
  "ended by hook": 5,
  "polls answered": 1,
  "charges caught": 1,
  "refunds caught": 1,
};

/** Figures of a run, by name. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string, count = 1): void {
    this.#counts.set(name, this.of(name) + count);
  }

  addAll(other: Tally): void {
    for (const [name, count] of other.#counts) this.add(name, count);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  deaths({ kills, shortWatchdogs, caught }: Deaths): void {
    this.add("kills", kills);
    this.add("restarts with a short watchdog", shortWatchdogs);
    for (const each of caught)
      this.add(each.startsWith("charge") ? "charges caught" : "refunds caught");
  }

  task({ story, task, posts, entries }: Remembered): void {
    const { state, plan, refused, orders } = story;
    this.add("tasks");
    if (state !== "created") this.add(`tasks ${state}`);
    else this.add(plan.word === null ? "left open" : `ended by ${plan.word.via}`);
    this.add("POSTs", posts.length);
    this.add("words refused", refused.size);
    this.add("series ordered", orders.length);
    for (const { kind } of entries) this.add(`booked: ${kind}`);
    for (const { number, outcome = "open" } of task?.callback?.attempts ?? []) {
      this.add(`attempts ${outcome}`);
      if (outcome === "interrupted") this.add(`interrupted attempts, number ${number}`);
    }
  }

  /** Where so many minutes were too quiet to say anything. */
  idle(minutes: number): string[] {
    const share = Math.min(1, minutes / 2);
    return Object.entries(LEAST_IN_TWO_MINUTES).flatMap(([name, least]) => {
      const isMet = this.of(name) >= Math.floor(least * share);
      return isMet ? [] : [`it was no test: ${name}: ${this.of(name)}`];
    });
  }

  toString(): string {
    const entries = [...this.#counts].toSorted(([a], [b]) => a.localeCompare(b));
    return entries.map(([name, count]) => `${String(count).padStart(7)}  ${name}`).join("\n");
  }
}
