import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import * as z from "zod";
import { type Client, LOCAL_VARS, OPERATOR_KEY } from "../test/process/harness/client.ts";
import { Workerd } from "../test/process/harness/workerd.ts";
import { FASTEST_DIRECTORY, quantile } from "./figures.ts";
import { table } from "./markdown.ts";

// Measures how long after the end of a task its readers learn it, and counts the requests to the task's object for
// each reader, and writes bench/WATCH.md: `npm run bench:watch`, about four minutes. Options: `--tasks` (watched tasks at a time), `--rounds`.

/** A way in which a reader waits for the end of a task. Resolves when the reader has the result. */
type Wait = (relay: Workerd, id: string) => Promise<void>;

const { values } = parseArgs({
  options: {
    tasks: { type: "string", default: "50" },
    rounds: { type: "string", default: "4" },
  },
});
const Count = z.coerce.number().int().positive();
const [TASKS, ROUNDS] = [Count.parse(values.tasks), Count.parse(values.rounds)];
const PAGE = join(import.meta.dirname, "WATCH.md");

/** Figures of one way to wait. */
interface Measured {
  /** How late each reader had the result, in milliseconds. */
  readonly lateMs: number[];
  /** Number of requests to the objects of the tasks that the readers have caused. */
  objectRequests: number;
}

/** Pauses in milliseconds after the first reads of a reader who asks again and again. */
const PAUSES_MS = [1000, 1000, 2000, 2000, 3000];
const LATER_PAUSE_MS = 5000;
/** Time in milliseconds over which the ends of the tasks are spread, longer than a reader's longest pause. */
const SPREAD_MS = 6000;
/** Time in milliseconds from the beginning of the readers to the first end of a task. */
const QUIET_MS = 9000;
/** Time in milliseconds after which the log has the last request of a round. */
const SETTLE_MS = 500;

const key = { Authorization: `Bearer ${OPERATOR_KEY}` };

const WAITS: Readonly<Record<string, Wait>> = {
  "`?wait=60`, pushed": async ({ url }, id) => {
    const response = await fetch(`${url}/v1/tasks/${id}?wait=60`, { headers: key });
    if (!isEnd(await response.text())) throw new Error(`task ${id} has not ended`);
  },
  "stream, pushed": async ({ url }, id) => {
    const { body } = await fetch(`${url}/v1/tasks/${id}/events`, { headers: key });
    let text = "";
    for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (isEnd(text)) return;
    }
    throw new Error(`the stream of task ${id} ended early`);
  },
  "`GET` after 1, 1, 2, 2, 3 and then every 5 s": async ({ client }, id) => {
    for (let reads = 0; ; reads++) {
      if (isEnd((await client.ask("GET", `/v1/tasks/${id}`)).text)) return;
      await sleep(PAUSES_MS[reads] ?? LATER_PAUSE_MS);
    }
  },
};

const startedAt = new Date();
// The objects of this entry log each request of a reader.
const options = { entry: "watched.ts", vars: LOCAL_VARS, parent: FASTEST_DIRECTORY };
await using relay = await Workerd.start(options);
const results = Object.entries(WAITS).map(([name, wait]) => {
  const measured: Measured = { lateMs: [], objectRequests: 0 };
  return { name, wait, measured };
});
for (let round = 0; round < ROUNDS; round++) {
  for (const { wait, measured } of results) {
    const before = readersRequests();
    measured.lateMs.push(...(await measure(relay, wait)));
    await sleep(SETTLE_MS);
    measured.objectRequests += readersRequests() - before;
  }
}
const written = page();
console.log(written);
writeFileSync(PAGE, written);

/** Ends `TASKS` tasks, each with one reader. @returns how late each reader had the result, in milliseconds. */
async function measure({ client }: Workerd, wait: Wait): Promise<readonly number[]> {
  const ids = await Promise.all(Array.from({ length: TASKS }, () => aTask(client)));
  const learned = ids.map(async (id) => {
    await wait(relay, id);
    return performance.now();
  });
  await sleep(QUIET_MS);
  const ended = ids.map(async (id, index) => {
    await sleep((index * SPREAD_MS) / TASKS);
    const output = { urls: ["https://cdn.example.com/a.mp4"] };
    const sentAt = performance.now();
    const { status } = await client.ask("POST", "/v1/events", { id, status: "completed", output });
    if (status !== 202) throw new Error(`event of task ${id}: ${status}`);
    return sentAt;
  });
  const [learnedAt, sentAt] = [await Promise.all(learned), await Promise.all(ended)];
  return learnedAt.map((at, index) => at - (sentAt[index] ?? 0));
}

/** Returns the number of requests that readers have sent to objects of tasks so far. */
function readersRequests(): number {
  return relay.output.match(/^(?:read|watched) /gm)?.length ?? 0;
}

async function aTask(client: Client): Promise<string> {
  const id = randomUUID();
  const { status } = await client.ask("POST", "/v1/tasks", { id, model: "m" });
  if (status !== 201) throw new Error(`registration of task ${id}: ${status}`);
  return id;
}

/** Tells whether an answer or the text of a stream contains the task with its result. */
function isEnd(text: string): boolean {
  return text.includes('"status":"completed"');
}

function page(): string {
  const rows = results.map(({ name, measured: { lateMs, objectRequests } }) => [
    name,
    ...[0.5, 0.99, 1].map((q) => `${quantile(lateMs, q).toFixed(1)} ms`),
    (objectRequests / lateMs.length).toFixed(1),
  ]);
  return `# Watching a task

How long after the end of a task its readers have the result: from the sending of the event that ends the task to the
reader's receipt, over loopback. This is an upper bound of the lateness, because it contains the way of the event to
the relay and its work before the commit. ${TASKS} tasks at a time with one reader each, ${ROUNDS} rounds of each kind
in turn; the tasks end one after the other within ${SPREAD_MS / 1000} s, after ${QUIET_MS / 1000} s without a change.

Measured on ${startedAt.toISOString().slice(0, 10)} with \`npm run bench:watch\`.

${table(["reader", "p50", "p99", "longest", "requests to the task's object"], rows)}

The requests to the task's object are those of one reader until it has the result. By \`?wait=\` or a stream they are a
read, the WebSocket, and the read after the push, however long the task takes (\`test/worker/watching.test.ts\`). Whoever
asks costs one for each read, here in up to ${(QUIET_MS + SPREAD_MS) / 1000} s.
`;
}
