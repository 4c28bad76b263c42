import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { Client, completedEvent, isSettled, SECRETS, Task } from "../harness/client.ts";
import { type Shortage, StarvedRelay } from "./limited-relay.ts";
import { type Behaviour, Receiver } from "../harness/receiver.ts";

const EACH = 3;
const WAIT_MS = 1000;
/** Attempts of tasks taken before fall due within the shortage, and fail for want of storage. */
const SHORTAGE_MS = 2.5 * WAIT_MS;
const FAILS_ONCE: readonly Behaviour[] = [500, 200].map((status) => ({ kind: "answer", status }));

const VARS = {
  ...SECRETS,
  CALLBACK_SCHEDULE_S: `0,${WAIT_MS / 1000},${WAIT_MS / 1000}`,
  CALLBACK_TIMEOUT_S: "2",
  ALLOW_LOCAL_CALLBACKS: "true",
};
const Registered = z.object({ hook_url: z.string() });
const Refusal = z.object({ code: z.string() });

/** An answer, as far as it says whether the request was carried out; null: there was none. */
export type Answer = {
  readonly status: number;
  readonly code: string | null;
  readonly retryAfter: string | null;
} | null;

/** One request, told apart from others by what it is; the same each time it is sent. */
interface Request {
  readonly what: string;
  readonly taskId: string;
  /** Whether the task is there before the request. */
  readonly isKnown: boolean;
  readonly send: () => Promise<Response>;
}

/** What came of one request that was made while the relay lacked something. */
export interface Told {
  readonly what: string;
  readonly answer: Answer;
  /** The task as it was read before the shortage and after it; null: 404. */
  readonly before: Task | null;
  readonly after: Task | null;
  readonly postsBefore: number;
  readonly postsAfter: number;
  /** What was not taken, again when nothing is lacking any more. */
  readonly repeated: Answer;
}

export interface OverloadReport {
  readonly told: readonly Told[];
  /** All tasks, at the end: an open one only if it was never told to end. */
  readonly tasks: readonly {
    readonly task: Task;
    readonly delivered: number;
    readonly posts: number;
  }[];
}

/** Requests of every kind while storage takes nothing, and the same ones again when it does. */
export async function overloadRun(
  shortage: Shortage,
  recovery: "in place" | "by a restart",
): Promise<OverloadReport> {
  await using receiver = await Receiver.start();
  await using relay = await StarvedRelay.start(VARS);
  const client = new Client(relay);
  const callbackUrl = (id: string) => receiver.at(`/${id}`, ...FAILS_ONCE);
  const requests = await requestsTo(client, callbackUrl);
  const read = async ({ taskId }: Pick<Request, "taskId">): Promise<Task | null> => {
    const { status, json } = await client.ask("GET", `/v1/tasks/${taskId}`);
    return status === 404 ? null : Task.parse(json);
  };
  const posts = ({ taskId }: Pick<Request, "taskId">) => receiver.postsAt(`/${taskId}`).length;

  // A read of a task that is not there would open its files, which are to be opened in the shortage.
  const before = await inTurn(requests, async (each) => (each.isKnown ? read(each) : null));
  const postsBefore = requests.map(posts);
  const carried = await inTurn(Array.from({ length: EACH }), async () => {
    const id = randomUUID();
    return client.finish(callbackUrl(id), id);
  });
  relay.starve(shortage);
  const answers = await inTurn(requests, answerTo);
  await sleep(SHORTAGE_MS);
  const postsAfter = requests.map(posts);
  if (recovery === "in place") relay.feed();
  else await relay.restart();
  const after = await inTurn(requests, read);
  const repeated = await inTurn([...requests.entries()], async ([i, request]) => {
    const answer = answers[i] ?? null;
    return isTaken(answer) ? answer : answerTo(request);
  });

  const ids = [...carried, ...requests.map(({ taskId }) => taskId)];
  const tasks = await Promise.all(ids.map((id) => ended(client, id)));
  const told = requests.map(({ what }, i): Told => ({
    what,
    answer: answers[i] ?? null,
    before: before[i] ?? null,
    after: after[i] ?? null,
    postsBefore: postsBefore[i] ?? 0,
    postsAfter: postsAfter[i] ?? 0,
    repeated: repeated[i] ?? null,
  }));
  return {
    told,
    tasks: tasks.map((task) => {
      const all = receiver.postsAt(`/${task.id}`);
      const delivered = all.filter(({ answeredStatus }) => answeredStatus === 200).length;
      return { task, delivered, posts: all.length };
    }),
  };
}

export function isTaken(answer: Answer): boolean {
  return answer !== null && answer.status < 300;
}

/** `EACH` of every request that changes a task, to tasks of their own. */
async function requestsTo(
  client: Client,
  callbackUrl: (id: string) => string,
): Promise<readonly Request[]> {
  const registration = (id: string) => {
    return { id, model: "m", callback_url: callbackUrl(id), provider: "ark" };
  };
  const registered = async () => {
    const id = randomUUID();
    const { json } = await client.ask("POST", "/v1/tasks", registration(id));
    return { id, hookUrl: Registered.parse(json).hook_url };
  };
  const post = (what: string, taskId: string, path: string, body?: object): Request => {
    const isKnown = what !== "event of a new task" && what !== "registration";
    return { what, taskId, isKnown, send: () => client.send("POST", path, body) };
  };
  const event = (taskId: string) => completedEvent(taskId, callbackUrl(taskId));
  const one = async (): Promise<readonly Request[]> => {
    const [id, other] = [randomUUID(), randomUUID()];
    const [reported, hooked, attached, canceled] = await inTurn([1, 2, 3, 4], registered);
    if (!reported || !hooked || !attached || !canceled) throw new Error("nothing was registered");
    const hook = {
      id: "cgt-1",
      status: "succeeded",
      content: { video_url: "https://a.example/v" },
    };
    const hookPath = new URL(hooked.hookUrl).pathname;
    const job = { provider: "ark", id: "cgt-2" };
    return [
      post("event of a new task", id, "/v1/events", event(id)),
      post("registration", other, "/v1/tasks", registration(other)),
      post("event of a registered task", reported.id, "/v1/events", event(reported.id)),
      post("hook", hooked.id, hookPath, hook),
      post("attachment", attached.id, `/v1/tasks/${attached.id}/upstream`, job),
      post("cancellation", canceled.id, `/v1/tasks/${canceled.id}/cancel`),
    ];
  };
  return (await inTurn(Array.from({ length: EACH }), one)).flat();
}

async function answerTo({ send }: Request): Promise<Answer> {
  let response: Response;
  let text: string;
  try {
    response = await send();
    text = await response.text();
  } catch {
    return null;
  }
  const { status, headers } = response;
  const code = response.ok ? null : Refusal.parse(JSON.parse(text)).code;
  return { status, code, retryAfter: headers.get("Retry-After") };
}

/** The task when nothing more comes of it. */
async function ended(client: Client, id: string): Promise<Task> {
  for (;;) {
    const task = await client.read(id);
    if (task.callback?.status === "waiting" || isSettled(task)) return task;
    await sleep(100);
  }
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
