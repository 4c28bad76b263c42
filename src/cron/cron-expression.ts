/** Cron expression with which each run of the cron trigger does all steps. */
export const ALL_STEPS = "*/10 * * * *";

/**
 * Cron expression with which each run does one step. `npm run setup -- --plan free` sets it, because the Free plan gives
 * a run 10 ms of CPU time, which may not suffice for all steps.
 */
export const STEP_BY_STEP = "*/2 * * * *";
