import type { Count } from "../../index-db/statistics.ts";

type Counted = Omit<Count, "model" | "host">;

/** Returns how many tasks there are, and how many have each status. */
export function tasksView(rows: readonly Counted[]) {
  return {
    total: rows.reduce((total, { tasks }) => total + tasks, 0),
    pending: sumOf(rows, "status", "pending"),
    processing: sumOf(rows, "status", "processing"),
    completed: sumOf(rows, "status", "completed"),
    failed: sumOf(rows, "status", "failed"),
  };
}

/** Returns how many callbacks have each status, and the number of all their attempts. */
export function callbacksView(rows: readonly Counted[]) {
  return {
    waiting: sumOf(rows, "callback", "waiting"),
    sending: sumOf(rows, "callback", "sending"),
    delivered: sumOf(rows, "callback", "delivered"),
    failed: sumOf(rows, "callback", "failed"),
    attempts: rows.reduce((total, { attempts }) => total + attempts, 0),
  };
}

function sumOf(rows: readonly Counted[], key: "status" | "callback", value: string): number {
  return rows.reduce((total, row) => total + (row[key] === value ? row.tasks : 0), 0);
}

/** Divides a part by its whole, rounded to four decimal places; null when the whole is 0. */
export function ratio(part: number, whole: number): number | null {
  return whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000;
}
