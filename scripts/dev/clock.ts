const PERIOD_MS = 60_000;

/** Lets a relay that `wrangler dev` runs do the work of its cron trigger, which nothing else fires there. */
export async function fireCron(origin: string): Promise<void> {
  await fetch(`${origin}/cdn-cgi/handler/scheduled`);
}

/** Fires the cron trigger each minute for as long as this process runs, so that the local overview has numbers. */
export function startClock(origin: string): void {
  // The next minute tries again, and this process ends without waiting for it.
  setInterval(() => void fireCron(origin).catch(() => {}), PERIOD_MS).unref();
}
