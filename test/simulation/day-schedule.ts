import * as z from "zod";

/** Places of the connection of the day, and jobs that are submitted at once. */
export const PLACES = 5;
export const JOBS = 1_000;
/** Credits that a job costs. */
export const PRICE = 10;

/** A job of the day. Times in milliseconds since the first submission. */
const DayJob = z.object({ startedAt: z.number(), lengthMs: z.number() });
type DayJob = z.infer<typeof DayJob>;

/** What has become of the jobs of the day. */
export type Day = z.infer<typeof Day>;
export const Day = z.object({
  /** The first promise that was broken; null when all have held. */
  violation: z.object({ promise: z.string(), detail: z.string() }).nullable(),
  /** Answers to clients, with the number of each. */
  answers: z.record(z.string(), z.number()),
  /** Calls to the upstream that it has not accepted. */
  refused: z.number(),
  /** Jobs in the order in which they have started. */
  jobs: z.array(DayJob),
  completed: z.number(),
  /** Credits that the accounts have paid together. */
  paid: z.number(),
});

/** Returns when each of these jobs would start if it took the place of another at the moment at which that one ends. */
export function idealStarts(jobs: readonly DayJob[]): readonly number[] {
  const freeAt = Array.from({ length: PLACES }, () => 0);
  return jobs.map(({ lengthMs }) => {
    const startAt = Math.min(...freeAt);
    freeAt[freeAt.indexOf(startAt)] = startAt + lengthMs;
    return startAt;
  });
}

/** Returns the largest number of jobs that were in flight at the same time. */
export function mostInFlight(jobs: readonly DayJob[]): number {
  const isRunning = (job: DayJob, at: number) =>
    job.startedAt <= at && at < job.startedAt + job.lengthMs;
  return Math.max(
    ...jobs.map(({ startedAt }) => jobs.filter((job) => isRunning(job, startedAt)).length),
  );
}
