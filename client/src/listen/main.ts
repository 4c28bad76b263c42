#!/usr/bin/env node
// Passes callbacks of a relay on to a receiver on this machine. Run by `npm run listen -- --to URL`, and by
// `npx task-relay-client listen --to URL`.
import { Listener } from "./listener.ts";
import { settingsOf, USAGE } from "./settings.ts";

/** Runs the program until a signal stops it. @returns the reason of a failure; null after a stop. */
async function run(): Promise<string | null> {
  if (typeof WebSocket === "undefined") {
    return `Listening needs Node 22 or later, because earlier versions have no WebSocket. This is ${process.version}.`;
  }
  const args = process.argv.slice(2);
  if (args.includes("--help")) {
    console.log(USAGE);
    return null;
  }
  const settings = settingsOf(args, process.env);
  if ("fault" in settings) return `${settings.fault}\n${USAGE}`;
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort());
  return new Listener(settings, (line) => console.log(line)).run(stop.signal);
}

const failure = await run();
if (failure !== null) console.error(failure);
process.exit(failure === null ? 0 : 1);
