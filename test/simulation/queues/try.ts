import { runSeed } from "./lives.ts";
const from = Number(process.argv[2] ?? 1),
  n = Number(process.argv[3] ?? 100);
const out = console.log;
Error.stackTraceLimit = n === 1 ? 10 : 0;
process.on("unhandledRejection", (e: unknown) => {
  out("UNHANDLED", e);
  process.exit(1);
});
const seen: Record<string, number> = {};
const broken: Record<string, number[]> = {};
let steps = 0;
const t0 = performance.now();
for (let s = from; s < from + n; s++) {
  let r;
  try {
    r = await runSeed(s, n === 1 ? out : null);
  } catch (e) {
    out("seed", s, e);
    throw e;
  }
  steps += r.world.machine.clock.steps;
  for (const o of r.observed) seen[o] = (seen[o] ?? 0) + 1;
  if (r.violation) (broken[r.violation.promise] ??= []).push(s);
  if (r.violation && n === 1) out(r.violation);
}
out(seen);
for (const [k, v] of Object.entries(broken)) out(k, v.length, v.slice(0, 8).join(" "));
out((n / ((performance.now() - t0) / 1000)).toFixed(1), "lives/s", steps / n, "steps");
