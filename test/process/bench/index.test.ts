import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ROOT } from "../harness/child.ts";

const run = promisify(execFile);

it("npm run bench:index prints how many rows of the search index each query finds, and how many rows the cron writes when it counts an hour", async () => {
  const env = { ...process.env, BENCH_ROWS: "20000", BENCH_RATES: "1", BENCH_ROUNDS: "0" };
  const { stdout } = await run(process.execPath, ["bench/index.ts"], { cwd: ROOT, env });
  const lines = stdout.matchAll(/^(.+?) +p50 .+? ([\d.]+) rows/gm);
  const rows = Object.fromEntries(Array.from(lines, ([, name, count]) => [name, count]));
  expect(rows).toMatchObject({
    "no filter": "50.0",
    "status=failed": "50.0",
    "status=processing": "50.0",
    "callback=failed": "50.0",
    "host, callback=failed": "4.7",
    account: "16.2",
    "the biggest account, status=failed": "50.0",
    "model that does not exist": "0.0",
    "the biggest account, no such model": "0.0",
    "deep cursor": "49.8",
    "deep cursor, no such model": "0.0",
    "cron: overdue tasks": "500.0",
    "cron: hourly counts": "6.0",
    "consumer: a batch of 100 rows": "100.0",
  });
  expect(stdout).toMatch(/^cron: an hour at 1\/s, 3600 rows: .* [1-9]\d* written/m);
});
