import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { Day, idealStarts, JOBS, mostInFlight, PLACES, PRICE } from "./day-schedule.ts";

const SEED = Number(process.env["SIM_SEED"] ?? 20_261_129);
/** Longest time in milliseconds from the end of a job to the start of the next one in its place. */
const HANDOVER_MS = 1_000;

/** Returns by how much a job may start late, because the starts before it in its place have each added a handover. */
function allowedMs(nth: number): number {
  return HANDOVER_MS * (1 + Math.ceil(nth / PLACES));
}

/** Runs the day on the simulated platform, in a thread whose modules of the platform are replaced. */
async function theDay(): Promise<Day> {
  const worker = new Worker(new URL("queues/day-worker.ts", import.meta.url), { workerData: SEED });
  try {
    const [message] = await once(worker, "message");
    return Day.parse(message);
  } finally {
    await worker.terminate();
  }
}

it("a thousand jobs that are submitted at once to a connection with five places are all done, none is refused, and each starts when the durations of those before it say", async () => {
  const { violation, answers, refused, jobs, completed, paid } = await theDay();
  expect(violation).toBeNull();
  expect(answers).toEqual({ accepted: JOBS });
  expect({ refused, completed, paid }).toEqual({ refused: 0, completed: JOBS, paid: JOBS * PRICE });
  expect(jobs).toHaveLength(JOBS);
  expect(mostInFlight(jobs)).toBe(PLACES);
  const lateMs = idealStarts(jobs).map((ideal, i) => (jobs[i]?.startedAt ?? Infinity) - ideal);
  expect(lateMs.filter((ms, nth) => ms < 0 || ms > allowedMs(nth))).toEqual([]);
  const workMs = jobs.reduce((sum, { lengthMs }) => sum + lengthMs, 0);
  const lastMs = jobs.at(-1)?.startedAt ?? 0;
  console.log(
    `1,000 jobs of ${Math.round(workMs / JOBS / 1_000)} s: the last started after ${Math.round(lastMs / 1_000)} s, ${Math.round(workMs / PLACES / 1_000)} s are ${JOBS} / ${PLACES} of them; latest handover ${Math.max(...lateMs)} ms in all`,
  );
});
