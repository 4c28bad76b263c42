import pMap from "p-map";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { type Client, isSettled, LOCAL_VARS, Task } from "../harness/client.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";
import { limit, type Shortage, startLimitable } from "./shortage.ts";
import { type Answer, type Request, requestsTo } from "./requests.ts";

const EARLIER_TASKS = 3;
const WAIT_S = 1;
/** Waits before the attempts of a callback; the last two come after the shortage, the first of which is answered with 500. */
const SCHEDULE_S = [0, WAIT_S, 3 * WAIT_S, WAIT_S];
/** Duration of the shortage in milliseconds, so long that attempts of earlier tasks fall due during it. */
const SHORTAGE_MS = 2.5 * WAIT_S * 1000;
const FAILS_ONCE: readonly Behaviour[] = [500, 200].map((status) => ({ kind: "answer", status }));
const VARS = {
  ...LOCAL_VARS,
  CALLBACK_SCHEDULE_S: SCHEDULE_S.join(","),
  CALLBACK_TIMEOUT_S: "2",
};
const SHORTAGES: readonly [string, Shortage, "in place" | "by a restart"][] = [
  ["whose disk is full", { what: "file_size", left: 0 }, "in place"],
  [
    "whose files cannot grow beyond 4,000 bytes, less than a page of SQLite,",
    { what: "file_size", left: 4_000 },
    "in place",
  ],
  [
    "whose files cannot grow beyond 10,000 bytes, a few pages of SQLite,",
    { what: "file_size", left: 10_000 },
    "by a restart",
  ],
  ["that may open no more files", { what: "open_files", left: 0 }, "in place"],
  ["that may open only four more files", { what: "open_files", left: 4 }, "by a restart"],
];

// Only Linux can change the limits of a running process.
it.skipIf(process.platform !== "linux").concurrent.each(SHORTAGES)(
  "a relay %s carries out each request or answers 503, and leaves no request half done",
  async (_, shortage, recovery) => {
    const { answers, faults, unsettled } = await run(shortage, recovery);
    expect(faults).toEqual([]);
    expect(unsettled).toEqual([]);
    expect(answers.some(isUnavailable)).toBe(true);
  },
);

/** Sends requests of every kind during a shortage, and repeats the refused ones after it. */
async function run(shortage: Shortage, recovery: "in place" | "by a restart") {
  await using receiver = await Receiver.start();
  await using relay = await startLimitable(VARS);
  const { client } = relay;
  const callbackUrl = (id: string) => receiver.at(`/${id}`, ...FAILS_ONCE);
  const requests = await requestsTo(client, callbackUrl);
  const read = async ({ taskId }: Request): Promise<Task | null> => {
    const { status, json } = await client.ask("GET", `/v1/tasks/${taskId}`);
    return status === 404 ? null : Task.parse(json);
  };
  const posts = ({ taskId }: Request) => receiver.postsAt(`/${taskId}`).length;

  // A read of an unknown task would open files of its object, which must happen during the shortage.
  const before = await inTurn(requests, async (each) => (each.isKnown ? read(each) : null));
  const postsBefore = requests.map(posts);
  const earlier = await inTurn(Array.from({ length: EARLIER_TASKS }, randomUUID), (id) =>
    client.finish(callbackUrl(id), id),
  );
  const restoreLimit = limit(relay, shortage);
  const answers = await inTurn(requests, ({ send }) => send());
  await sleep(SHORTAGE_MS);
  const postsAfter = requests.map(posts);
  if (recovery === "in place") restoreLimit();
  else await relay.restart();
  const after = await inTurn(requests, read);
  const repeated = await inTurn([...requests.entries()], async ([i, { send }]) => {
    const answer = answers[i] ?? null;
    return isAccepted(answer) ? answer : send();
  });

  const faults = requests.flatMap(({ what }, i) => {
    const [answer = null, again = null] = [answers[i], repeated[i]];
    const isSame = JSON.stringify(after[i]) === JSON.stringify(before[i]);
    const isUnchanged = isSame && postsAfter[i] === postsBefore[i];
    const found: [string, boolean][] = [
      ["wrong", answer !== null && !isAccepted(answer) && !isUnavailable(answer)],
      ["refused, and yet something changed", isUnavailable(answer) && !isUnchanged],
      ["accepted, and yet forgotten", isAccepted(answer) && after[i] === null],
      [`repeated in vain: ${again?.status} ${again?.code}`, !isAccepted(again)],
    ];
    const answered = `${what}, answered ${answer?.status} ${answer?.code}`;
    return found.flatMap(([fault, isPresent]) => (isPresent ? [`${answered}: ${fault}`] : []));
  });
  const ids = [...earlier, ...requests.map(({ taskId }) => taskId)];
  const unsettled = await inTurn(ids, async (id) => {
    const task = await finalTask(client, id);
    const all = receiver.postsAt(`/${id}`);
    const isDelivered = all.some(({ answeredStatus }) => answeredStatus === 200);
    const isOpen = task.status === "pending" || task.status === "processing";
    const isRight = task.callback?.status === "delivered" && isDelivered;
    return isOpen || (isRight && all.length <= SCHEDULE_S.length) ? [] : [task];
  });
  return { answers, faults, unsettled: unsettled.flat() };
}

function isAccepted(answer: Answer): boolean {
  return answer !== null && answer.status < 300;
}

function isUnavailable(answer: Answer): boolean {
  return answer?.status === 503 && answer.code === "unavailable" && Number(answer.retryAfter) > 0;
}

/** Reads the task until it no longer changes. */
async function finalTask(client: Client, id: string): Promise<Task> {
  for (;;) {
    const task = await client.read(id);
    if (task.callback?.status === "waiting" || isSettled(task)) return task;
    await sleep(100);
  }
}

function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  return pMap(items, work, { concurrency: 1 });
}
