import type { Hook, TaskPlan } from "./plan.ts";
import type { Evidence } from "./task-faults.ts";

/** What a run has shown: its figures, and what was wrong or too low to prove anything. */
export interface ChaosReport {
  readonly counters: Counters;
  readonly faults: readonly string[];
}

/** Figures of a run, by name. */
export class Counters {
  readonly #counts = new Map<string, number>();

  add(name: string, count = 1): void {
    this.#counts.set(name, this.of(name) + count);
  }

  addAll(other: Counters): void {
    for (const [name, count] of other.#counts) this.add(name, count);
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  addTask({ history, task, posts, entries }: Evidence): void {
    const { state, plan, refused, orders } = history;
    this.add("tasks");
    if (state !== "created") this.add(`tasks ${state}`);
    else this.add(plan.ending === null ? "left open" : `ended by ${plan.ending.via}`);
    for (const hook of hooksOf(plan)) this.add(`hooks ${hook}`);
    this.add("POSTs", posts.length);
    this.add("endings refused", refused.size);
    this.add("series ordered", orders.length);
    for (const { kind } of entries) this.add(`booked: ${kind}`);
    for (const { number, outcome = "open" } of task?.callback?.attempts ?? []) {
      this.add(`attempts ${outcome}`);
      if (outcome === "interrupted") this.add(`interrupted attempts, number ${number}`);
    }
  }

  /** Lists the figures that are too low for the run to prove anything. */
  tooLow(least: Readonly<Record<string, number>>): string[] {
    return Object.entries(least).flatMap(([name, count]) => {
      return this.of(name) >= count ? [] : [`too few: ${name}: ${this.of(name)} of ${count}`];
    });
  }

  toString(): string {
    const entries = [...this.#counts].toSorted(([a], [b]) => a.localeCompare(b));
    return entries.map(([name, count]) => `${String(count).padStart(7)}  ${name}`).join("\n");
  }
}

function hooksOf({ ending }: TaskPlan): readonly Hook[] {
  return ending?.via === "hook" ? ending.hooks : [];
}
