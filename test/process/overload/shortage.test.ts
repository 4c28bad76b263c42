import { describe, expect, it } from "vitest";
import type { Shortage } from "./limited-relay.ts";
import {
  type Answer,
  isTaken,
  type OverloadReport,
  overloadRun,
  type Told,
} from "./shortage-run.ts";

const MAX_ATTEMPTS = 3;
const SHORTAGES: readonly [string, Shortage, "in place" | "by a restart"][] = [
  ["whose disk is full", { what: "file_size", left: 0 }, "in place"],
  ["whose disk fills up amid the first page", { what: "file_size", left: 4_000 }, "in place"],
  ["whose disk fills up amid a later page", { what: "file_size", left: 10_000 }, "by a restart"],
  ["that may open no more files", { what: "open_files", left: 0 }, "in place"],
  ["that may open few more files", { what: "open_files", left: 4 }, "by a restart"],
];

// The limits of a running process can be set on Linux alone.
describe.skipIf(process.platform !== "linux").concurrent("a relay", () => {
  it.each(SHORTAGES)(
    "%s takes a request or answers 503, and nothing is half-done",
    async (...row) => {
      const [, shortage, recovery] = row;
      const report = await overloadRun(shortage, recovery);
      console.log(row[0], countsOf(report));
      expect(report.told.flatMap(faultsOf)).toEqual([]);
      expect(report.tasks.flatMap(unsettled)).toEqual([]);
      // It was a test: storage did fail.
      expect(report.told.some(({ answer }) => isUnavailable(answer))).toBe(true);
    },
  );
});

function isUnavailable(answer: Answer): boolean {
  return answer?.status === 503 && answer.code === "unavailable" && Number(answer.retryAfter) > 0;
}

/** Where an answer within the shortage, or what it left behind, contradicts the promise. */
function faultsOf(told: Told): string[] {
  const { what, answer, before, after, postsBefore, postsAfter, repeated } = told;
  const isRefused = isUnavailable(answer);
  const isUnchanged =
    JSON.stringify(after) === JSON.stringify(before) && postsAfter === postsBefore;
  const faults: [string, boolean][] = [
    [
      `answered ${answer?.status} ${answer?.code}`,
      answer !== null && !isTaken(answer) && !isRefused,
    ],
    ["refused, and yet something changed", isRefused && !isUnchanged],
    ["taken, and yet forgotten", isTaken(answer) && after === null],
    [`repeated in vain: ${repeated?.status} ${repeated?.code}`, !isTaken(repeated)],
  ];
  return faults.flatMap(([fault, isThere]) => (isThere ? [`${what}: ${fault}`] : []));
}

function unsettled({ task, delivered, posts }: OverloadReport["tasks"][number]): string[] {
  const { callback, status } = task;
  const isOpen = status === "pending" || status === "processing";
  const isDelivered = callback?.status === "delivered" && delivered >= 1 && posts <= MAX_ATTEMPTS;
  return isOpen || isDelivered ? [] : [`${JSON.stringify(task)}, ${posts} POSTs`];
}

function countsOf({ told }: OverloadReport): string {
  const answers = told.map(({ answer }) => answer?.status ?? "no answer");
  const groups = Map.groupBy(answers, (answer) => answer);
  return [...groups].map(([answer, same]) => `${answer} ${same.length}`).join(", ");
}
