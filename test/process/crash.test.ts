import { describe, expect, it } from "vitest";
import { isSettled } from "./client.ts";
import { type CrashPlan, type CrashReport, crashRun, type Remembered } from "./crash-run.ts";

const MAX_ATTEMPTS = 3;
/** Any other run is as good; this one can be had again with CRASH_SEED. */
const SEED = Number(process.env["CRASH_SEED"] ?? Math.floor(Math.random() * 1e9));

describe("kill -9 at random during 600 first, second and third attempts", () => {
  it("leaves every accepted task settled, with at most three POSTs and no false delivered", async () => {
    await survives({ seed: SEED, watchdogMs: 7000 });
  });

  it("does so too when the watchdog looks before an attempt can have ended", async () => {
    await survives({ seed: SEED + 10, entry: "short-watchdog.ts", watchdogMs: 200 });
  });
});

async function survives(plan: CrashPlan): Promise<void> {
  console.log(`seed ${plan.seed}`);
  const report = await crashRun(plan);
  console.log(figuresOf(report));

  // What the relay has forgotten it must never have begun: only an event whose answer was lost.
  const known = report.unknown.filter(({ task, posts }) => task !== null || posts.length > 0);
  const owed = [...report.accepted, ...known];
  expect(owed.flatMap(faultsOf)).toEqual([]);

  for (const post of owed.flatMap(({ posts }) => posts)) {
    expect(report.verify(post)).toEqual(JSON.parse(post.body));
  }
  expect(report.output).not.toMatch(/alarm\.failed|loop\.failed|internal error/);

  // It was a test: the kills met attempts of every number.
  const interrupted = interruptedByNumber(report);
  expect(interrupted.length).toBe(MAX_ATTEMPTS);
  for (const count of interrupted) expect(count).toBeGreaterThanOrEqual(10);
}

/** Where the record of a settled task and the ledger of its receiver contradict the promises. */
function faultsOf({ id, task, posts }: Remembered): string[] {
  const attempts = task?.callback?.attempts ?? [];
  const status = task?.callback?.status;
  const faults: [string, boolean][] = [
    ["unknown to the relay", task === null],
    ["not settled", task !== null && !isSettled(task)],
    ["more than three POSTs", posts.length > MAX_ATTEMPTS],
    ["more than three attempts", attempts.length > MAX_ATTEMPTS],
    ["numbers with a gap", attempts.some(({ number }, i) => number !== i + 1)],
    ["an attempt left open", attempts.some(({ outcome }) => outcome === undefined)],
    ["a number sent twice", new Set(posts.map(numberOf)).size < posts.length],
    ["a POST without a record", posts.some((post) => attempts[numberOf(post) - 1] === undefined)],
    ["different bodies", new Set(posts.map(({ body }) => body)).size > 1],
    ["went on after a success", attempts.slice(0, -1).some(isSuccess)],
    ["failed too early", status === "failed" && attempts.length < MAX_ATTEMPTS],
    ["status of another outcome", (status === "delivered") !== attempts.some(isSuccess)],
    ...attempts.map(({ number, outcome, status_code }): [string, boolean] => {
      const answered = posts.find((post) => numberOf(post) === number)?.answeredStatus;
      const isAnswer = outcome === "delivered" || outcome === "rejected";
      return [`a false ${outcome}`, isAnswer && answered !== status_code];
    }),
  ];
  return faults.flatMap(([fault, isThere]) => (isThere ? [`${id}: ${fault}`] : []));
}

function numberOf({ headers }: { readonly headers: Readonly<Record<string, string>> }): number {
  return Number(headers["x-attempt"]);
}

function isSuccess({ outcome }: { readonly outcome?: string | undefined }): boolean {
  return outcome === "delivered";
}

function attemptsOf(report: CrashReport) {
  return report.accepted.flatMap(({ task }) => task?.callback?.attempts ?? []);
}

function interruptedByNumber(report: CrashReport): number[] {
  const interrupted = attemptsOf(report).filter(({ outcome }) => outcome === "interrupted");
  const groups = Map.groupBy(interrupted, ({ number }) => number);
  return [1, 2, 3].flatMap((number) => groups.get(number)?.length ?? []);
}

function figuresOf(report: CrashReport): string {
  const outcomes = attemptsOf(report).map(({ outcome }) => outcome ?? "open");
  const states = report.accepted.map(({ task }) => task?.callback?.status ?? "lost");
  const posts = report.accepted.flatMap((remembered) => remembered.posts);
  const recorded = report.unknown.filter(({ task }) => task !== null);
  return [
    `${report.kills} kills; ${report.accepted.length} tasks accepted: ${countsOf(states)}`,
    `answers lost: ${report.unknown.length}, recorded all the same: ${recorded.length}`,
    `${posts.length} POSTs; attempts: ${countsOf(outcomes)}`,
    `interrupted first, second, third attempts: ${interruptedByNumber(report).join(", ")}`,
  ].join("\n");
}

function countsOf(values: readonly string[]): string {
  const groups = Map.groupBy(values, (value) => value);
  return [...groups].map(([value, same]) => `${value} ${same.length}`).join(", ");
}
