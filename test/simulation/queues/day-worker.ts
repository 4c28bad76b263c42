import { parentPort, workerData } from "node:worker_threads";
import { replaceModules } from "./hooks.ts";

replaceModules();
const { runDay } = await import("./day.ts");
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread has none
parentPort?.postMessage(await runDay(Number(workerData)));
